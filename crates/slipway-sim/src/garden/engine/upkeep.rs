//! What Gardener does by itself: sleep on schedule, maintenance in the window.

use jiff::{Timestamp, tz::TimeZone};
use serde_json::{Value, json};

use crate::garden::{
    cron::Cron,
    profile::{Profile, is_expired},
    shoot::{MAINTENANCE_OPERATION, NEEDS_RETRY},
    value::{annotation, is_true, list, text},
    version::Version,
    window::Window,
};

/// A scheduled sleep or awakening.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alarm {
    /// When.
    pub at: Timestamp,
    /// To sleep, or awake.
    pub sleep: bool,
}

/// The next one after a moment.
pub fn next_alarm(shoot: &Value, after: Timestamp) -> Option<Alarm> {
    let mut next: Option<Alarm> = None;
    for schedule in list(shoot, "spec.hibernation.schedules") {
        let zone = match text(schedule, "location") {
            "" => TimeZone::UTC,
            zone => TimeZone::get(zone).unwrap_or(TimeZone::UTC),
        };
        for (field, sleep) in [("start", true), ("end", false)] {
            let at = text(schedule, field).parse::<Cron>().ok().and_then(|cron| cron.next_after(after, &zone));
            if let Some(at) = at.filter(|at| next.is_none_or(|next| *at < next.at)) {
                next = Some(Alarm { at, sleep });
            }
        }
    }
    next
}

/// The maintenance window.
pub fn window(shoot: &Value) -> Option<Window> {
    let given = "spec.maintenance.timeWindow";
    Window::parse(text(shoot, &format!("{given}.begin")), text(shoot, &format!("{given}.end"))).ok()
}

/// What maintenance changes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Maintenance {
    /// Merge patch of the Shoot; null if nothing changes.
    pub patch: Value,
    /// What is told in the status.
    pub description: String,
}

/// What maintenance does to a Shoot: newer patch versions and images where it is allowed or where the
/// present ones have expired, a minor version when it must, and the operations kept for the window.
pub fn maintain(shoot: &Value, profile: &Profile, now: Timestamp) -> Maintenance {
    let mut told = Vec::new();
    let mut spec = json!({});
    let version = text(shoot, "spec.kubernetes.version");
    if let Some(newer) = newer_version(shoot, profile, now) {
        told.push(format!("Control Plane: Updated Kubernetes version from {version:?} to {newer:?}."));
        spec["kubernetes"]["version"] = json!(newer);
    }
    let mut workers = list(shoot, "spec.provider.workers").to_vec();
    let mut rolled = false;
    for worker in &mut workers {
        if let Some(newer) = newer_image(shoot, worker, profile, now) {
            let (pool, image) = (text(worker, "name").to_owned(), text(worker, "machine.image.name").to_owned());
            let old = text(worker, "machine.image.version").to_owned();
            told.push(format!("Worker pool {pool:?}: Updated machine image {image:?} from {old:?} to {newer:?}."));
            worker["machine"]["image"]["version"] = json!(newer);
            rolled = true;
        }
    }
    if rolled {
        spec["provider"]["workers"] = json!(workers);
    }
    let mut annotations = json!({});
    let kept = annotation(shoot, MAINTENANCE_OPERATION);
    if !kept.is_empty() {
        annotations[crate::garden::shoot::OPERATION] = json!(kept);
        annotations[MAINTENANCE_OPERATION] = Value::Null;
        told.push(format!("Operation {kept:?} was started."));
    } else if annotation(shoot, NEEDS_RETRY) == "true" && text(shoot, "status.lastOperation.state") == "Failed" {
        annotations[crate::garden::shoot::OPERATION] = json!("retry");
        annotations[NEEDS_RETRY] = Value::Null;
    }
    let mut patch = json!({});
    if spec.as_object().is_some_and(|spec| !spec.is_empty()) {
        patch["spec"] = spec;
    }
    if annotations.as_object().is_some_and(|annotations| !annotations.is_empty()) {
        patch["metadata"]["annotations"] = annotations;
    }
    let patch = if patch.as_object().is_some_and(serde_json::Map::is_empty) { Value::Null } else { patch };
    let description = if told.is_empty() { "Maintenance was performed.".to_owned() } else { told.join(" ") };
    Maintenance { patch, description }
}

fn newer_version(shoot: &Value, profile: &Profile, now: Timestamp) -> Option<String> {
    let present = text(shoot, "spec.kubernetes.version").parse::<Version>().ok()?;
    let offered = profile.versions().iter().find(|one| text(one, "version") == present.to_string());
    let expired = offered.is_none_or(|one| is_expired(one, now));
    if !is_true(shoot, "spec.maintenance.autoUpdate.kubernetesVersion") && !expired {
        return None;
    }
    let latest = |wanted: String| {
        profile.latest_version(&wanted, now).filter(|found| found.parse::<Version>().is_ok_and(|found| found > present))
    };
    let patch = latest(format!("{}.{}", present.major, present.minor));
    // A minor version is raised only when the present one has run out and its line has no other.
    patch.or_else(|| if expired { latest(format!("{}.{}", present.major, present.minor + 1)) } else { None })
}

fn newer_image(shoot: &Value, worker: &Value, profile: &Profile, now: Timestamp) -> Option<String> {
    let (image, version) = (text(worker, "machine.image.name"), text(worker, "machine.image.version"));
    let expired = profile.image_version(image, version).is_none_or(|one| is_expired(one, now));
    if !is_true(shoot, "spec.maintenance.autoUpdate.machineImageVersion") && !expired {
        return None;
    }
    let present = version.parse::<Version>().ok()?;
    let (_, newest) = profile.default_image(image, text(worker, "machine.architecture"), now)?;
    newest.parse::<Version>().is_ok_and(|newest| newest > present).then_some(newest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::garden::landscape;

    fn profile() -> Profile {
        let objects = landscape::objects();
        let found =
            objects.iter().find(|one| text(one, "kind") == "CloudProfile" && text(one, "metadata.name") == "aws");
        Profile { root: "aws".into(), spec: found.expect("profile")["spec"].clone() }
    }

    fn shoot(version: &str, image: &str, auto: bool) -> Value {
        json!({"spec": {"kubernetes": {"version": version},
            "maintenance": {"autoUpdate": {"kubernetesVersion": auto, "machineImageVersion": auto}},
            "provider": {"workers": [{"name": "a", "machine": {"architecture": "amd64", "image": {"name": "gardenlinux", "version": image}}}]}}})
    }

    #[test]
    fn maintenance_raises_what_it_may_and_what_it_must() {
        let now: Timestamp = "2026-06-01T00:00:00Z".parse().expect("time");
        let maintained = |version, image, auto| maintain(&shoot(version, image, auto), &profile(), now);
        assert_eq!(maintained("1.34.5", "1877.9.0", true).patch, Value::Null, "all is new");
        assert_eq!(maintained("1.34.4", "1877.9.0", true).patch["spec"]["kubernetes"]["version"], "1.34.5");
        assert_eq!(maintained("1.34.4", "1877.9.0", false).patch, Value::Null, "not allowed, not needed");
        let image = maintained("1.34.5", "1592.3.0", false);
        assert_eq!(image.patch["spec"]["provider"]["workers"][0]["machine"]["image"]["version"], "1877.9.0", "expired");
        assert!(image.description.contains("from \"1592.3.0\" to \"1877.9.0\""));
        let later: Timestamp = "2099-01-01T00:00:00Z".parse().expect("time");
        let forced = maintain(&shoot("1.32.12", "1877.9.0", false), &profile(), later);
        assert_eq!(forced.patch["spec"]["kubernetes"]["version"], "1.33.9", "the line has run out");
    }

    #[test]
    fn the_next_alarm_is_the_earliest_of_all_schedules() {
        let after: Timestamp = "2026-01-05T10:00:00Z".parse().expect("time");
        let shoot = json!({"spec": {"hibernation": {"schedules": [{"start": "0 20 * * *", "end": "0 6 * * *"}, {"end": "0 12 * * *"}]}}});
        let next = next_alarm(&shoot, after).expect("alarm");
        assert_eq!((next.at.to_string().as_str(), next.sleep), ("2026-01-05T12:00:00Z", false));
        assert_eq!(next_alarm(&json!({}), after), None);
    }
}
