//! The landscape every garden starts with: projects, extensions, cloud profiles, Seeds, credentials.
//!
//! One set of files for both ways to run: written straight into an embedded API, or sent over the API
//! of real servers. Files are read in the order of their names, because later objects refer to
//! earlier ones and real servers check.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::value::text;

static FILES: &[(&str, &str)] = &[
    ("10-project.yaml", include_str!("landscape/10-project.yaml")),
    ("20-registrations.yaml", include_str!("landscape/20-registrations.yaml")),
    ("30-cloudprofiles.yaml", include_str!("landscape/30-cloudprofiles.yaml")),
    ("40-seeds.yaml", include_str!("landscape/40-seeds.yaml")),
    ("50-credentials.yaml", include_str!("landscape/50-credentials.yaml")),
];

/// All objects, in the order they are to be created.
pub fn objects() -> Vec<Value> {
    FILES.iter().flat_map(|(file, yaml)| parse(yaml).unwrap_or_else(|error| panic!("{file}: {error}"))).collect()
}

/// A Shoot that this landscape takes and hosts: the least one has to say.
pub fn shoot(called: &str) -> Value {
    json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot",
        "metadata": {"name": called, "namespace": "garden-dev"},
        "spec": {
            "cloudProfile": {"kind": "CloudProfile", "name": "aws"}, "credentialsBindingName": "aws", "region": "eu-central-1",
            "provider": {"type": "aws", "workers": [{
                "name": "pool", "machine": {"type": "m6i.large"}, "minimum": 1, "maximum": 3,
                "volume": {"type": "gp3", "size": "50Gi"}, "zones": ["eu-central-1a"]}]},
            "kubernetes": {"version": "1.34"}, "networking": {"type": "calico", "nodes": "10.250.0.0/16"},
        },
    })
}

/// The objects of a YAML file of several documents.
pub fn parse(yaml: &str) -> Result<Vec<Value>, String> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(yaml).map_err(|error| error.to_string())?;
    let objects = documents.into_iter().filter(|document| !document.is_null());
    Ok(objects.map(encode_secret).collect())
}

/// `stringData` becomes `data`: a store that is written straight does not do it by itself.
fn encode_secret(mut object: Value) -> Value {
    if text(&object, "kind") == "Secret"
        && let Some(Value::Object(plain)) = object.as_object_mut().and_then(|object| object.remove("stringData"))
    {
        for (key, value) in plain {
            object["data"][key] = json!(STANDARD.encode(value.as_str().unwrap_or_default()));
        }
    }
    object
}

/// The plural under which a kind is served.
pub fn plural(kind: &str) -> String {
    let lower = kind.to_lowercase();
    match lower.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None if lower.ends_with('s') => format!("{lower}es"),
        None => format!("{lower}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::garden::value::{list, name, text};

    #[test]
    fn the_landscape_holds_what_the_specification_lists() {
        let objects = objects();
        let all = |kind: &str| objects.iter().filter(|object| text(object, "kind") == kind).collect::<Vec<_>>();
        assert_eq!(all("CloudProfile").len(), 5);
        assert_eq!(all("CredentialsBinding").len(), 5);
        assert!(all("Seed").iter().any(|seed| !list(seed, "spec.taints").is_empty()));
        for profile in all("CloudProfile") {
            let types = list(profile, "spec.machineTypes");
            assert!(types.iter().any(|one| one["usable"] == json!(false)), "{}", name(profile));
            assert!(list(profile, "spec.regions").iter().any(|region| list(region, "zones").is_empty()));
            for class in ["supported", "preview", "deprecated"] {
                let versions = list(profile, "spec.kubernetes.versions");
                assert!(versions.iter().any(|one| text(one, "classification") == class), "{class}");
            }
        }
        let secret = all("Secret")[0];
        assert!(secret.get("stringData").is_none() && secret["data"]["accessKeyID"] == json!("ZG5z"));
    }

    #[test]
    fn plurals_are_those_of_the_api() {
        let plurals: Vec<String> = ["Shoot", "Secret", "ExposureClass", "WorkloadIdentity"].map(plural).into();
        assert_eq!(plurals, ["shoots", "secrets", "exposureclasses", "workloadidentities"]);
    }
}
