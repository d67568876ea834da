//! Configuration snippets that connect hosts to the server, for `ibid mcp config`.

/// Hosts: name, location of the settings, and what to add there.
const HOSTS: [(&str, &str, &str); 9] = [
    ("claude-code", "run this", "claude mcp add ibid -- ibid mcp"),
    (
        "claude-desktop",
        "claude_desktop_config.json (Settings, Developer, Edit Config)",
        r#"{"mcpServers": {"ibid": {"command": "ibid", "args": ["mcp"]}}}"#,
    ),
    (
        "codex",
        "~/.codex/config.toml",
        "[mcp_servers.ibid]\ncommand = \"ibid\"\nargs = [\"mcp\"]\ntool_timeout_sec = 120",
    ),
    (
        "vscode",
        ".vscode/mcp.json",
        r#"{"servers": {"ibid": {"type": "stdio", "command": "ibid", "args": ["mcp"]}}}"#,
    ),
    (
        "cursor",
        "~/.cursor/mcp.json",
        r#"{"mcpServers": {"ibid": {"command": "ibid", "args": ["mcp"]}}}"#,
    ),
    (
        "gemini",
        "~/.gemini/settings.json",
        r#"{"mcpServers": {"ibid": {"command": "ibid", "args": ["mcp"]}}}"#,
    ),
    (
        "goose",
        "~/.config/goose/config.yaml",
        "extensions:\n  ibid:\n    name: ibid\n    type: stdio\n    cmd: ibid\n    args: [mcp]\n    timeout: 300\n    enabled: true",
    ),
    (
        "librechat",
        "librechat.yaml, with `ibid serve` running",
        "# Addresses of one's own network are refused there unless they are named.\nmcpSettings:\n  allowedAddresses: [\"127.0.0.1:7700\"]\nmcpServers:\n  ibid:\n    type: streamable-http\n    url: http://127.0.0.1:7700/mcp\n    timeout: 60000",
    ),
    (
        "openwebui",
        "Admin, Integrations, +, type MCP (Streamable HTTP), with `ibid serve` running",
        "http://127.0.0.1:7700/mcp",
    ),
];

/// The names of all hosts.
pub fn names() -> impl Iterator<Item = &'static str> {
    HOSTS.iter().map(|host| host.0)
}

/// The location and the snippet for the host of this name.
pub fn config_for(name: &str) -> Option<(&'static str, &'static str)> {
    HOSTS.iter().find(|host| host.0 == name).map(|row| (row.1, row.2))
}
