//! Detects a container, in which `localhost` is the container and not its host.
use std::path::Path;

use ibid_core::ports::is_loopback_url;

/// Whether this process runs in a container, by the files that Docker, Podman and Kubernetes leave below `root`.
fn is_container(root: &Path) -> bool {
    let marked = [".dockerenv", "run/.containerenv"].iter().any(|it| root.join(it).exists());
    let groups = std::fs::read_to_string(root.join("proc/1/cgroup")).unwrap_or_default();
    let words = ["docker", "kubepods", "containerd", "libpod", "/lxc/"];
    marked || words.iter().any(|word| groups.contains(word))
}

/// The hint for a server of the user's own that does not answer at `url`, the value of `variable`.
pub(super) fn localhost_hint(variable: &str, url: &str) -> String {
    hint_for(variable, url, is_container(Path::new("/")))
}

fn hint_for(variable: &str, url: &str, contained: bool) -> String {
    let url = url.trim_end_matches('/');
    if !is_loopback_url(url) {
        return format!(
            "check that the server at {url} is running and accepts connections from this machine, or set {variable} to its address"
        );
    }
    let start = format!("start the server at {url}, or set {variable} to its address");
    let outside = url::Url::parse(url).ok().and_then(|mut it| {
        it.set_host(Some("host.docker.internal")).ok()?;
        Some(it.to_string().trim_end_matches('/').to_owned())
    });
    match outside.filter(|_| contained) {
        Some(outside) => format!(
            "in a container, localhost is the container itself: for a server on the host set {variable}={outside} (Docker on Linux needs --add-host=host.docker.internal:host-gateway), for one in another container use its name; otherwise {start}"
        ),
        None => start,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_is_known_by_its_marks() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!is_container(dir.path()));
        std::fs::create_dir_all(dir.path().join("proc/1")).unwrap();
        std::fs::write(dir.path().join("proc/1/cgroup"), "0::/init.scope\n").unwrap();
        assert!(!is_container(dir.path()));
        std::fs::write(dir.path().join("proc/1/cgroup"), "12:cpu:/docker/0123abcd\n").unwrap();
        assert!(is_container(dir.path()));
        std::fs::remove_file(dir.path().join("proc/1/cgroup")).unwrap();
        std::fs::write(dir.path().join(".dockerenv"), "").unwrap();
        assert!(is_container(dir.path()));
    }

    #[test]
    fn the_address_to_use_instead_is_spelt_out_and_only_where_it_helps() {
        let hint = hint_for("SEARXNG_URL", "http://localhost:8888/", true);
        assert!(hint.contains("SEARXNG_URL=http://host.docker.internal:8888 "), "{hint}");
        assert!(!hint_for("SEARXNG_URL", "http://localhost:8888", false).contains("docker"));
        assert!(!hint_for("SEARXNG_URL", "http://searxng:8080", true).contains("docker"));
    }
}
