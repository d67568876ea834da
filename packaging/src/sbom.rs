//! The bill of materials of the program as CycloneDX 1.5 JSON: every package that is linked into it or builds it, with version,
//! licence, hash and dependencies. Made from `cargo metadata` and `Cargo.lock` alone, so the same tree gives the same bytes.
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

/// The bill of materials of the package `name`.
///
/// # Errors
/// A message that names what the metadata lacks.
pub(crate) fn bill(metadata: &Value, lock: &str, name: &str) -> Result<Value, String> {
    let list = |value: &Value, what: &str| -> Result<Vec<Value>, String> {
        value.as_array().cloned().ok_or(format!("the metadata has no {what}"))
    };
    let packages: BTreeMap<String, Value> = list(&metadata["packages"], "packages")?
        .into_iter()
        .map(|package| (text(&package["id"]), package))
        .collect();
    let nodes: BTreeMap<String, Vec<String>> = list(&metadata["resolve"]["nodes"], "resolve")?
        .iter()
        .map(|node| (text(&node["id"]), linked(node)))
        .collect();
    let root = packages
        .iter()
        .find(|(_, package)| package["name"] == name && package["source"].is_null())
        .map(|(id, _)| id.clone())
        .ok_or(format!("no package {name} in this workspace"))?;
    let mut reached = BTreeSet::new();
    let mut waiting = vec![root.clone()];
    while let Some(id) = waiting.pop() {
        if reached.insert(id.clone()) {
            waiting.extend(nodes.get(&id).into_iter().flatten().cloned());
        }
    }
    let named = |id: &String| packages.get(id).map(purl).ok_or(format!("unknown package {id}"));
    let hashes = checksums(lock);
    let mut components = BTreeMap::new();
    let mut dependencies = BTreeMap::new();
    for id in &reached {
        let own = named(id)?;
        let needs = nodes.get(id).into_iter().flatten().map(named);
        let needs: BTreeSet<String> = needs.collect::<Result<_, _>>()?;
        dependencies.insert(own.clone(), json!({"ref": own, "dependsOn": needs}));
        if *id != root {
            let package = &packages[id];
            components.insert(own, component(package, "library", &hashes));
        }
    }
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component(&packages[&root], "application", &hashes)},
        "components": components.into_values().collect::<Vec<_>>(),
        "dependencies": dependencies.into_values().collect::<Vec<_>>(),
    }))
}

/// The packages that a package is linked with or built by, without those that only its tests use.
fn linked(node: &Value) -> Vec<String> {
    let ships = |dep: &&Value| {
        let kinds = dep["dep_kinds"].as_array();
        kinds.is_none_or(|kinds| kinds.iter().any(|kind| kind["kind"] != "dev"))
    };
    let all = node["deps"].as_array().into_iter().flatten();
    all.filter(ships).map(|dep| text(&dep["pkg"])).collect()
}

fn component(package: &Value, kind: &str, hashes: &BTreeMap<(String, String), String>) -> Value {
    let own = purl(package);
    let (name, version) = (text(&package["name"]), text(&package["version"]));
    let mut entry =
        json!({"type": kind, "bom-ref": own, "name": name, "version": version, "purl": own});
    if let Some(licence) = package["license"].as_str() {
        // `MIT/Apache-2.0` is the old form of an SPDX expression with OR.
        let licence = licence.replace(" / ", " OR ").replace('/', " OR ");
        entry["licenses"] = json!([{"expression": licence}]);
    }
    if let Some(description) = package["description"].as_str() {
        entry["description"] = description.split_whitespace().collect::<Vec<_>>().join(" ").into();
    }
    if let Some(hash) = hashes.get(&(name, version)) {
        entry["hashes"] = json!([{"alg": "SHA-256", "content": hash}]);
    }
    let url = package["repository"].as_str();
    if let Some(url) = url.filter(|url| url.starts_with("https://") || url.starts_with("http://")) {
        entry["externalReferences"] = json!([{"type": "vcs", "url": url}]);
    }
    entry
}

/// The package URL.
fn purl(package: &Value) -> String {
    // A version may have build metadata after a plus sign.
    let version = text(&package["version"]).replace('+', "%2B");
    format!("pkg:cargo/{}@{version}", text(&package["name"]))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The hash of each package's archive, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let field = |block: &str, name: &str| {
        let lines = block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = \""));
        lines.and_then(|lines| lines.strip_suffix('"')).map(str::to_owned)
    };
    lock.split("[[package]]")
        .filter_map(|block| {
            let key = (field(block, "name")?, field(block, "version")?);
            Some((key, field(block, "checksum")?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours() -> Value {
        let metadata = crate::metadata::metadata(&[]).unwrap();
        let lock = std::fs::read_to_string(crate::metadata::root().join("Cargo.lock")).unwrap();
        let one = bill(&metadata, &lock, "ibid-cli").unwrap();
        assert_eq!(one, bill(&metadata, &lock, "ibid-cli").unwrap());
        assert!(bill(&metadata, &lock, "nobody").is_err());
        one
    }

    #[test]
    fn the_bill_names_every_package_once_with_licence_hash_and_what_it_needs() {
        let bill = ours();
        assert_eq!(
            (&bill["bomFormat"], &bill["specVersion"]),
            (&json!("CycloneDX"), &json!("1.5"))
        );
        assert_eq!(bill["version"], 1);
        let own = &bill["metadata"]["component"];
        assert_eq!((&own["type"], &own["name"]), (&json!("application"), &json!("ibid-cli")));
        let components = bill["components"].as_array().unwrap();
        assert!(components.len() > 200, "{}", components.len());
        let mut refs: BTreeSet<&str> = [own["bom-ref"].as_str().unwrap()].into();
        for it in components {
            assert_eq!(it["type"], "library", "{it}");
            assert!(refs.insert(it["bom-ref"].as_str().unwrap()), "{it} stands there twice");
            assert_eq!(it["bom-ref"], it["purl"]);
            assert!(it["purl"].as_str().unwrap().starts_with("pkg:cargo/"), "{it}");
            let expression = it["licenses"][0]["expression"].as_str();
            assert!(
                expression
                    .is_some_and(|expression| !expression.is_empty() && !expression.contains('/')),
                "{it}"
            );
            // The crates of this repository come from no registry.
            if it["name"].as_str().is_some_and(|name| name.starts_with("ibid")) {
                continue;
            }
            let hash = it["hashes"][0]["content"].as_str().unwrap_or_default();
            assert!(hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()), "{it}");
        }
        let dependencies = bill["dependencies"].as_array().unwrap();
        let told: BTreeSet<&str> =
            dependencies.iter().map(|dependency| dependency["ref"].as_str().unwrap()).collect();
        assert_eq!(told, refs);
        assert_eq!(told.len(), dependencies.len());
        for needed in
            dependencies.iter().flat_map(|dependency| dependency["dependsOn"].as_array().unwrap())
        {
            assert!(refs.contains(needed.as_str().unwrap()), "{needed} is nowhere");
        }
        let has = |name: &str| components.iter().any(|component| component["name"] == name);
        assert!(has("tokio") && has("axum"));
        assert!(!has("proptest"), "what only tests use is no part of the program");
        assert!(!has("xtask") && !has("evals") && !has("packaging"));
    }

    #[test]
    fn what_is_no_metadata_is_told() {
        assert!(bill(&json!({}), "", "ibid-cli").is_err());
        let gone = json!({"packages": [{"id": "a", "name": "a", "version": "1.0.0+b"}], "resolve": {"nodes": [{"id": "a", "deps": [{"pkg": "b"}]}]}});
        assert!(bill(&gone, "", "a").unwrap_err().contains('b'));
    }
}
