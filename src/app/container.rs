//! Whether this runs in a container, where `localhost` is the container and not the machine around it.
use std::path::Path;

use crate::seams::is_local;

/// Whether this process runs in a container, by the marks that Docker, Podman and Kubernetes leave below `root`.
fn inside(root: &Path) -> bool {
    let marked = [".dockerenv", "run/.containerenv"]
        .iter()
        .any(|it| root.join(it).exists());
    let groups = std::fs::read_to_string(root.join("proc/1/cgroup")).unwrap_or_default();
    let words = ["docker", "kubepods", "containerd", "libpod", "/lxc/"];
    marked || words.iter().any(|it| groups.contains(it))
}

/// What to do about a server of one's own, named by `variable`, that nobody answers for at `url`.
pub(super) fn to_reach(variable: &str, url: &str) -> String {
    advice(variable, url, inside(Path::new("/")))
}

fn advice(variable: &str, url: &str, contained: bool) -> String {
    let url = url.trim_end_matches('/');
    if !is_local(url) {
        return format!(
            "see that the server at {url} is up and lets this machine in, or set {variable} to where it is"
        );
    }
    let start = format!("start the server at {url}, or set {variable} to where it is");
    let outside = url::Url::parse(url).ok().and_then(|mut it| {
        it.set_host(Some("host.docker.internal")).ok()?;
        Some(it.to_string().trim_end_matches('/').to_owned())
    });
    match outside.filter(|_| contained) {
        Some(outside) => format!(
            "this is a container, and localhost is the container itself: for a server on the machine around it set {variable}={outside} (Docker on Linux wants --add-host=host.docker.internal:host-gateway), for one in another container its name; else {start}"
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
        assert!(!inside(dir.path()));
        std::fs::create_dir_all(dir.path().join("proc/1")).unwrap();
        std::fs::write(dir.path().join("proc/1/cgroup"), "0::/init.scope\n").unwrap();
        assert!(!inside(dir.path()));
        std::fs::write(
            dir.path().join("proc/1/cgroup"),
            "12:cpu:/docker/0123abcd\n",
        )
        .unwrap();
        assert!(inside(dir.path()));
        std::fs::remove_file(dir.path().join("proc/1/cgroup")).unwrap();
        std::fs::write(dir.path().join(".dockerenv"), "").unwrap();
        assert!(inside(dir.path()));
    }

    #[test]
    fn the_address_to_use_instead_is_spelt_out_and_only_where_it_helps() {
        let told = advice("SEARXNG_URL", "http://localhost:8888/", true);
        assert!(
            told.contains("SEARXNG_URL=http://host.docker.internal:8888 "),
            "{told}"
        );
        assert!(!advice("SEARXNG_URL", "http://localhost:8888", false).contains("docker"));
        assert!(!advice("SEARXNG_URL", "http://searxng:8080", true).contains("docker"));
    }
}
