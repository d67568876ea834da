//! A Homebrew formula that installs the archives of a release.
use std::fmt::Write as _;

use crate::release::{LICENCE, SUMMARY};
use crate::target::TARGETS;

/// The formula for the archives in `sums`, which are the names of files with their SHA-256.
pub(crate) fn formula(
    version: &str,
    base_url: &str,
    repository: &str,
    sums: &[(String, String)],
) -> String {
    let mut out = format!(
        "class Ibid < Formula\n  desc \"Deep research agent whose citations are exact quotes\"\n  homepage \"{repository}\"\n  version \"{version}\"\n  license any_of: [{}]\n\n  # {SUMMARY}.\n  depends_on :linux\n",
        LICENCE.split(" OR ").map(|it| format!("\"{it}\"")).collect::<Vec<_>>().join(", ")
    );
    for target in TARGETS {
        let archive = format!("ibid-{version}-{}.tar.gz", target.triple);
        if let Some((_, sum)) = sums.iter().find(|(name, _)| *name == archive) {
            let _ = write!(
                out,
                "\n  on_{} do\n    url \"{base_url}/{archive}\"\n    sha256 \"{sum}\"\n  end\n",
                target.homebrew
            );
        }
    }
    out + "\n  def install\n    bin.install \"bin/ibid\"\n    prefix.install \"share\"\n  end\n\n  test do\n    assert_match version.to_s, shell_output(\"#{bin}/ibid version --json\")\n  end\nend\n"
}
