//! A cloud profile: which versions, images, machines, volumes, regions and zones a landscape offers.

use jiff::Timestamp;
use serde_json::Value;

use super::{
    value::{at, has, list, named, text, texts},
    version::Version,
};

/// The effective specification of a cloud profile, and the name of its root.
#[derive(Debug, Clone)]
pub struct Profile {
    /// Name of the CloudProfile it is, or is derived from.
    pub root: String,
    /// Its `spec`, or the `status.cloudProfileSpec` of a namespaced one.
    pub spec: Value,
}

/// Whether a version that is offered has run out.
pub fn is_expired(version: &Value, now: Timestamp) -> bool {
    text(version, "classification") == "expired"
        || text(version, "expirationDate").parse::<Timestamp>().is_ok_and(|expires| expires < now)
}

/// Whether a version is taken by default: neither expired nor a preview.
pub fn is_default(version: &Value, now: Timestamp) -> bool {
    !is_expired(version, now) && !matches!(text(version, "classification"), "preview" | "unavailable")
}

impl Profile {
    /// The Kubernetes versions.
    pub fn versions(&self) -> &[Value] {
        list(&self.spec, "kubernetes.versions")
    }

    /// The newest version for `x.y` (or `x`, or nothing) that is taken by default.
    pub fn latest_version(&self, wanted: &str, now: Timestamp) -> Option<String> {
        let wanted: Vec<u64> = wanted.split('.').filter_map(|part| part.parse().ok()).collect();
        let fits = |version: &Version| {
            let numbers = [version.major, version.minor];
            wanted.iter().zip(numbers).all(|(wanted, number)| *wanted == number)
        };
        let offered = self.versions().iter().filter(|version| is_default(version, now));
        let parsed = offered.filter_map(|version| text(version, "version").parse::<Version>().ok());
        parsed.filter(fits).max().map(|version| version.to_string())
    }

    /// A machine type.
    pub fn machine_type(&self, name: &str) -> Option<&Value> {
        named(list(&self.spec, "machineTypes"), name)
    }

    /// The architecture of a machine type.
    pub fn architecture(&self, machine_type: &str) -> &str {
        let found = self.machine_type(machine_type).map_or("", |machine| text(machine, "architecture"));
        if found.is_empty() { "amd64" } else { found }
    }

    /// A version of a machine image.
    pub fn image_version(&self, image: &str, version: &str) -> Option<&Value> {
        let image = named(list(&self.spec, "machineImages"), image)?;
        list(image, "versions").iter().find(|one| text(one, "version") == version)
    }

    /// The image a pool gets that names none: the first that runs on the architecture, unless a name
    /// is given, and of it the newest version.
    pub fn default_image(&self, name: &str, architecture: &str, now: Timestamp) -> Option<(String, String)> {
        let runs = |version: &&Value| {
            let architectures = texts(version, "architectures");
            architectures.is_empty() && architecture == "amd64" || architectures.contains(&architecture)
        };
        let images = list(&self.spec, "machineImages").iter();
        let mut images = images.filter(|image| name.is_empty() || text(image, "name") == name);
        let image = images.find(|image| list(image, "versions").iter().any(|version| runs(&version)))?;
        let usable = list(image, "versions").iter().filter(runs).filter(|version| is_default(version, now));
        let newest = usable.filter_map(|version| text(version, "version").parse::<Version>().ok()).max()?;
        Some((text(image, "name").to_owned(), newest.to_string()))
    }

    /// A region.
    pub fn region(&self, name: &str) -> Option<&Value> {
        named(list(&self.spec, "regions"), name)
    }

    /// The names of a region's zones.
    pub fn zones(&self, region: &str) -> Vec<&str> {
        self.region(region)
            .map_or(&[][..], |region| list(region, "zones"))
            .iter()
            .map(|zone| text(zone, "name"))
            .collect()
    }

    /// Whether a type is missing in one of the zones; `what` is `unavailableMachineTypes` or its like.
    pub fn is_unavailable(&self, region: &str, zones: &[&str], what: &str, name: &str) -> bool {
        let region = self.region(region).map_or(&[][..], |region| list(region, "zones"));
        region.iter().any(|zone| zones.contains(&text(zone, "name")) && texts(zone, what).contains(&name))
    }

    /// Whether a machine or volume type may be used; by default it may.
    pub fn is_usable(kind: &Value) -> bool {
        !has(kind, "usable") || at(kind, "usable") == &Value::Bool(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn defaults_are_the_newest_that_are_neither_preview_nor_expired() {
        let now: Timestamp = "2026-06-01T00:00:00Z".parse().expect("time");
        let spec = json!({
            "kubernetes": {"versions": [
                {"version": "1.35.0", "classification": "preview"}, {"version": "1.34.2"}, {"version": "1.34.10"},
                {"version": "1.33.9", "expirationDate": "2026-01-01T00:00:00Z"}, {"version": "1.33.1"}]},
            "machineImages": [
                {"name": "arm-only", "versions": [{"version": "1.0.0", "architectures": ["arm64"]}]},
                {"name": "linux", "versions": [
                    {"version": "2.0.0", "classification": "preview"}, {"version": "1.9.0"}, {"version": "1.10.0"}]}],
        });
        let profile = Profile { root: "p".into(), spec };
        assert_eq!(profile.latest_version("1.34", now).as_deref(), Some("1.34.10"));
        assert_eq!(profile.latest_version("1.33", now).as_deref(), Some("1.33.1"));
        assert_eq!(profile.latest_version("", now).as_deref(), Some("1.34.10"));
        assert_eq!(profile.latest_version("1.35", now), None);
        assert_eq!(profile.default_image("", "amd64", now), Some(("linux".into(), "1.10.0".into())));
        assert_eq!(profile.default_image("", "arm64", now), Some(("arm-only".into(), "1.0.0".into())));
        assert_eq!(profile.default_image("unknown", "amd64", now), None);
    }
}
