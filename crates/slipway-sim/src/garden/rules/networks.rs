//! C1 to C4: networks.

use kube_sandbox::status::Status;

use super::Case;
use crate::garden::{
    cidr::Cidr,
    problems::Problems,
    value::{at, has, list, number, same, text, texts},
};

const MASK: &str = "spec.kubernetes.kubeControllerManager.nodeCIDRMaskSize";

/// Networks that no Shoot may use, and what they are kept for: the VPN between Shoot and Seed maps there.
const RESERVED: [(&str, &str); 5] = [
    ("240.0.0.0/8", "kube-apiserver"),
    ("241.0.0.0/8", "seed pod network"),
    ("242.0.0.0/8", "shoot node network"),
    ("243.0.0.0/8", "shoot service network"),
    ("244.0.0.0/8", "shoot pod network"),
];

pub(super) fn c1(case: &Case<'_>, problems: &mut Problems) {
    let families = texts(case.new, "spec.networking.ipFamilies");
    let mut seen = Vec::new();
    for (index, family) in families.iter().enumerate() {
        let path = format!("spec.networking.ipFamilies[{index}]");
        if !matches!(*family, "IPv4" | "IPv6") {
            problems.unsupported(path.as_str(), family, &["IPv4", "IPv6"]);
        }
        if seen.contains(family) {
            problems.duplicate(path, *family);
        }
        seen.push(family);
    }
    for field in ["nodes", "pods", "services"] {
        let path = format!("spec.networking.{field}");
        if !has(case.new, &path) || (field != "services" && case.is_workerless()) {
            continue;
        }
        let given = text(case.new, &path);
        match given.parse::<Cidr>() {
            Err(wrong) => problems.invalid(path, given, &wrong),
            Ok(cidr) => {
                let address = cidr.address.to_string();
                match families[..] {
                    ["IPv6"] if cidr.is_v4() => {
                        problems.invalid(path.as_str(), address, "must be a valid IPv6 address")
                    }
                    ["IPv4"] if !cidr.is_v4() => {
                        problems.invalid(path.as_str(), address, "must be a valid IPv4 address")
                    }
                    _ => {}
                }
                if !cidr.is_canonical() {
                    problems.invalid(path, given, "must be valid canonical CIDR");
                }
            }
        }
    }
}

fn networks<'a>(case: &Case<'a>) -> Vec<(String, &'a str, Cidr)> {
    let parsed = ["nodes", "services", "pods"].into_iter().filter_map(|field| {
        let path = format!("spec.networking.{field}");
        let given = text(case.new, &path);
        given.parse::<Cidr>().ok().map(|cidr| (path, given, cidr))
    });
    parsed.collect()
}

pub(super) fn c2(case: &Case<'_>, problems: &mut Problems) -> Result<(), Status> {
    if same(at(case.new, "spec.networking"), at(case.old, "spec.networking")) {
        return Ok(());
    }
    let networks = networks(case);
    let overlap = |one: &str, other: &str| {
        let found = |field: &str| networks.iter().find(|(path, ..)| path.ends_with(field));
        matches!((found(one), found(other)), (Some((.., one)), Some((.., other))) if one.overlaps(other))
    };
    // Which of the two is blamed, and in which order, is the real server's habit.
    for (one, other, blamed) in
        [("pod", "service", "services"), ("pod", "node", "pods"), ("service", "node", "services")]
    {
        if overlap(&format!("{one}s"), &format!("{other}s")) {
            let path = format!("spec.networking.{blamed}");
            let detail = format!("shoot {one} network intersects with shoot {other} network");
            problems.invalid(path.as_str(), text(case.new, &path), &detail);
        }
    }
    Ok(())
}

/// At binding; before it the Seed is not known.
pub(super) fn c3(case: &Case<'_>, problems: &mut Problems) -> Result<(), Status> {
    let seed = "spec.seedName";
    if case.refs.seed.is_null() || same(at(case.new, seed), at(case.old, seed)) {
        return Ok(());
    }
    if texts(case.new, "spec.networking.ipFamilies").contains(&"IPv4") {
        if !case.is_workerless() && !has(case.new, "spec.networking.pods") {
            problems.required("spec.networking.pods", "pods is required");
        }
        if !has(case.new, "spec.networking.services") {
            problems.required("spec.networking.services", "services is required");
        }
    }
    for (path, given, cidr) in networks(case) {
        for (reserved, what) in RESERVED {
            if reserved.parse::<Cidr>().is_ok_and(|reserved| reserved.overlaps(&cidr)) {
                let kind = path.trim_start_matches("spec.networking.").trim_end_matches('s');
                let detail = format!("{kind} network intersects with reserved {what} mapping range ({reserved})");
                problems.invalid(path.as_str(), given, &detail);
            }
        }
    }
    Ok(())
}

fn mask(case: &Case<'_>) -> Option<i64> {
    (has(case.new, MASK) && !case.is_workerless()).then(|| number(case.new, MASK))
}

pub(super) fn c4_range(case: &Case<'_>, problems: &mut Problems) {
    let Some(mask) = mask(case) else { return };
    let families = texts(case.new, "spec.networking.ipFamilies");
    if families == ["IPv6"] && !(64..=124).contains(&mask) {
        let detail = "nodeCIDRMaskSize must be between 64 and 124 for IPv6 single-stack clusters";
        problems.invalid(MASK, mask, detail);
    } else if families == ["IPv4"] && !(16..=28).contains(&mask) {
        problems.invalid(MASK, mask, "nodeCIDRMaskSize must be between 16 and 28");
    }
}

pub(super) fn c4(case: &Case<'_>, problems: &mut Problems) {
    let Some(mask) = mask(case) else { return };
    let families = texts(case.new, "spec.networking.ipFamilies");
    let (bits, default) = if families == ["IPv6"] { (128, 64) } else { (32, 24) };
    let most = |object, path: &str| number(object, path);
    let pools = list(case.new, "spec.provider.workers").iter().map(|worker| most(worker, "kubernetes.kubelet.maxPods"));
    let pods = pools.chain([most(case.new, "spec.kubernetes.kubelet.maxPods")]).max().unwrap_or_default();
    let pods = if pods == 0 { 110 } else { pods };
    let addresses = (1_i128 << u32::try_from((bits - mask).clamp(0, 100)).unwrap_or_default()) - 2;
    if addresses < i128::from(pods) {
        let detail = format!(
            "kubelet or kube-controller-manager configuration incorrect. Please adjust the nodeCIDRMaskSize to support the highest maxPod on any worker pool. The nodeCIDRMaskSize of {mask} (default: {default}) only supports {addresses} IP addresses. The highest maxPod setting is {pods} (default: 110). Please choose a nodeCIDRMaskSize that at least supports {pods} IP addresses"
        );
        problems.invalid(MASK, mask, &detail);
    }
}
