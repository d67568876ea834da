//! What an operator configures about an MCP server.
use ibid_core::ports::MCP_PREFIX;
use ibid_core::{Error, ErrorKind, Result};

/// Maximum number of characters of a name.
const NAME_CHARS: usize = 32;

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpEndpoint {
    /// A program that speaks MCP over stdin and stdout.
    Command {
        /// The program: a path, or a name on the search path.
        program: String,
        /// Its arguments.
        args: Vec<String>,
        /// The environment variables that it gets besides `PATH`, `HOME` and `LANG`, with their values.
        env: Vec<(String, String)>,
    },
    /// A server that speaks MCP over streamable HTTP.
    Url {
        /// Its address.
        url: String,
        /// The bearer token, if it needs one.
        token: Option<String>,
    },
}

/// An MCP server that an operator configured as a source.
#[derive(Clone, PartialEq, Eq)]
pub struct McpSourceConfig {
    /// The name, as in `mcp:NAME` and `mcp://NAME/ID`: small letters, digits and hyphens.
    pub name: String,
    /// How it is reached.
    pub endpoint: McpEndpoint,
    /// The tool that searches; `None` for `search`.
    pub search_tool: Option<String>,
    /// The tool that returns a document; `None` for `fetch`, if the server has it.
    pub fetch_tool: Option<String>,
}

impl std::fmt::Debug for McpSourceConfig {
    /// Without the endpoint, which may contain keys.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "McpSourceConfig({})", self.name)
    }
}

impl McpSourceConfig {
    /// The name of the engine: `mcp:NAME`.
    pub fn engine_name(&self) -> String {
        format!("{MCP_PREFIX}{}", self.name)
    }
}

/// Checks the name of a source. A name has no dot, so that `mcp://NAME` never reads as the address of a site.
///
/// # Errors
/// `Usage` for a name with other characters than small letters, digits and hyphens, or of more than 32.
pub fn source_name(name: &str) -> Result<&str> {
    let is_valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let starts_well = name.starts_with(|c: char| c.is_ascii_lowercase());
    if starts_well && name.len() <= NAME_CHARS && name.chars().all(is_valid) {
        return Ok(name);
    }
    Err(Error::new(ErrorKind::Usage, format!("invalid name of an MCP source: {name:?}")).with_hint(
        format!(
            "begin with a letter and use small letters, digits and hyphens, at most {NAME_CHARS}"
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_never_reads_as_a_site() {
        assert_eq!(source_name("team-docs2").unwrap(), "team-docs2");
        for bad in ["nature.com", "", "Docs", "a/b", "-a", "1", &"a".repeat(33)] {
            assert_eq!(source_name(bad).unwrap_err().kind(), ErrorKind::Usage, "{bad}");
        }
    }
}
