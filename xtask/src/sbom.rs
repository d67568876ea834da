//! What the program is made of, as CycloneDX 1.5 JSON: every package that is linked into it or builds it, with its version,
//! licence, hash and what it depends on. Made of `cargo metadata` and `Cargo.lock` alone, so that the same tree gives the
//! same bytes.
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

/// The bill of materials of the package `name`.
///
/// # Errors
/// What is missing in the metadata, in words.
pub(crate) fn bill(metadata: &Value, lock: &str, name: &str) -> Result<Value, String> {
    let list = |value: &Value, what: &str| -> Result<Vec<Value>, String> {
        value
            .as_array()
            .cloned()
            .ok_or(format!("the metadata has no {what}"))
    };
    let packages: BTreeMap<String, Value> = list(&metadata["packages"], "packages")?
        .into_iter()
        .map(|it| (text(&it["id"]), it))
        .collect();
    let nodes: BTreeMap<String, Vec<String>> = list(&metadata["resolve"]["nodes"], "resolve")?
        .iter()
        .map(|it| (text(&it["id"]), linked(it)))
        .collect();
    let root = packages
        .iter()
        .find(|it| it.1["name"] == name && it.1["source"].is_null())
        .map(|it| it.0.clone())
        .ok_or(format!("there is no package {name} here"))?;
    let mut reached = BTreeSet::new();
    let mut waiting = vec![root.clone()];
    while let Some(id) = waiting.pop() {
        if reached.insert(id.clone()) {
            waiting.extend(nodes.get(&id).into_iter().flatten().cloned());
        }
    }
    let named = |id: &String| {
        packages
            .get(id)
            .map(purl)
            .ok_or(format!("{id} is no package"))
    };
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

/// What a package is linked with or built by; what only its tests use is no part of it.
fn linked(node: &Value) -> Vec<String> {
    let ships = |it: &&Value| {
        let kinds = it["dep_kinds"].as_array();
        kinds.is_none_or(|it| it.iter().any(|it| it["kind"] != "dev"))
    };
    let all = node["deps"].as_array().into_iter().flatten();
    all.filter(ships).map(|it| text(&it["pkg"])).collect()
}

fn component(package: &Value, kind: &str, hashes: &BTreeMap<(String, String), String>) -> Value {
    let own = purl(package);
    let (name, version) = (text(&package["name"]), text(&package["version"]));
    let mut it =
        json!({"type": kind, "bom-ref": own, "name": name, "version": version, "purl": own});
    if let Some(licence) = package["license"].as_str() {
        // The old way to write OR is no expression of SPDX.
        let licence = licence.replace(" / ", " OR ").replace('/', " OR ");
        it["licenses"] = json!([{"expression": licence}]);
    }
    if let Some(said) = package["description"].as_str() {
        it["description"] = said.split_whitespace().collect::<Vec<_>>().join(" ").into();
    }
    if let Some(hash) = hashes.get(&(name, version)) {
        it["hashes"] = json!([{"alg": "SHA-256", "content": hash}]);
    }
    let place = package["repository"].as_str();
    if let Some(place) = place.filter(|it| it.starts_with("https://") || it.starts_with("http://"))
    {
        it["externalReferences"] = json!([{"type": "vcs", "url": place}]);
    }
    it
}

/// The name of a package among those of all ecosystems.
fn purl(package: &Value) -> String {
    // A version may have build metadata behind a plus.
    let version = text(&package["version"]).replace('+', "%2B");
    format!("pkg:cargo/{}@{version}", text(&package["name"]))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The hash of each package's archive, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let field = |block: &str, name: &str| {
        let lines = block
            .lines()
            .find_map(|it| it.strip_prefix(name)?.strip_prefix(" = \""));
        lines.and_then(|it| it.strip_suffix('"')).map(str::to_owned)
    };
    lock.split("[[package]]")
        .filter_map(|it| {
            let key = (field(it, "name")?, field(it, "version")?);
            Some((key, field(it, "checksum")?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours() -> Value {
        let metadata = crate::metadata().unwrap();
        let lock = std::fs::read_to_string(crate::root().join("Cargo.lock")).unwrap();
        let one = bill(&metadata, &lock, "ibid").unwrap();
        assert_eq!(one, bill(&metadata, &lock, "ibid").unwrap());
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
        assert_eq!(
            (&own["type"], &own["name"]),
            (&json!("application"), &json!("ibid"))
        );
        let components = bill["components"].as_array().unwrap();
        assert!(components.len() > 200, "{}", components.len());
        let mut refs: BTreeSet<&str> = [own["bom-ref"].as_str().unwrap()].into();
        for it in components {
            assert_eq!(it["type"], "library", "{it}");
            assert!(
                refs.insert(it["bom-ref"].as_str().unwrap()),
                "{it} stands there twice"
            );
            assert_eq!(it["bom-ref"], it["purl"]);
            assert!(
                it["purl"].as_str().unwrap().starts_with("pkg:cargo/"),
                "{it}"
            );
            let expression = it["licenses"][0]["expression"].as_str();
            assert!(
                expression.is_some_and(|it| !it.is_empty() && !it.contains('/')),
                "{it}"
            );
            let hash = it["hashes"][0]["content"].as_str().unwrap_or_default();
            assert!(
                hash.len() == 64 && hash.bytes().all(|it| it.is_ascii_hexdigit()),
                "{it}"
            );
        }
        let dependencies = bill["dependencies"].as_array().unwrap();
        let told: BTreeSet<&str> = dependencies
            .iter()
            .map(|it| it["ref"].as_str().unwrap())
            .collect();
        assert_eq!(told, refs);
        assert_eq!(told.len(), dependencies.len());
        for needed in dependencies
            .iter()
            .flat_map(|it| it["dependsOn"].as_array().unwrap())
        {
            assert!(
                refs.contains(needed.as_str().unwrap()),
                "{needed} is nowhere"
            );
        }
        let has = |name: &str| components.iter().any(|it| it["name"] == name);
        assert!(has("tokio") && has("axum"));
        assert!(
            !has("proptest"),
            "what only tests use is no part of the program"
        );
        assert!(!has("xtask") && !has("evals"));
    }

    #[test]
    fn what_is_no_metadata_is_told() {
        assert!(bill(&json!({}), "", "ibid").is_err());
        let gone = json!({"packages": [{"id": "a", "name": "a", "version": "1.0.0+b"}], "resolve": {"nodes": [{"id": "a", "deps": [{"pkg": "b"}]}]}});
        assert!(bill(&gone, "", "a").unwrap_err().contains('b'));
    }
}
