//! Whose an object is: decided by marks that name a Runtime's uid, never by a name alone.
//!
//! Names are chosen by people and copied by them. A uid is given once, so a copy of a Runtime, one that was made anew
//! under an old name, and two Runtimes that name one Shoot are told apart, whichever came first.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use slipway_kube::{
    GardenerCluster, Runtime, Shoot,
    access::resource::{GARDENER_CLUSTERS, RUNTIMES},
    annotations,
    gardener_cluster::{SECRET_KEY, secret_name},
    labels,
};

use crate::observe::SecretView;

/// Whose a Shoot is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Owner {
    /// It carries our uid.
    Us,
    /// It carries no uid yet, or a person says that it is ours: to be marked.
    Unmarked,
    /// It is not ours. The sentence says whose, and what to do.
    Other {
        why: String,
        /// It was made for a Runtime of our name: nobody else will ever look after it.
        is_namesake: bool,
    },
}

/// Another Runtime that names the same Shoot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rival {
    pub(crate) name: String,
    pub(crate) uid: Option<String>,
    /// It was there first.
    pub(crate) is_older: bool,
}

/// The label with the Runtime's id, where it says something else than the name.
pub(crate) fn wrong_label(runtime: &Runtime) -> Option<&str> {
    runtime.label(labels::RUNTIME_ID).filter(|id| Some(*id) != runtime.metadata.name.as_deref())
}

/// What a Runtime with a wrong label is told.
pub(crate) fn describe_wrong_label(runtime: &Runtime) -> Option<String> {
    let (wrong, name) = (wrong_label(runtime)?, runtime.metadata.name.as_deref().unwrap_or_default());
    let key = labels::RUNTIME_ID;
    Some(format!(
        "The label {key} is {wrong}, and the Runtime is {name}: nothing is done for it. Set the label to {name}, or \
         delete this Runtime if it is a copy"
    ))
}

/// Whose this Shoot is, asked for this Runtime.
pub(crate) fn of_shoot(runtime: &Runtime, shoot: &Shoot, rivals: &[Rival]) -> Owner {
    let (name, uid) = (runtime.metadata.name.as_deref().unwrap_or_default(), runtime.metadata.uid.as_deref());
    let (mark, id) = (shoot.annotation(annotations::RUNTIME_UID), shoot.runtime_id());
    if mark.is_some() && mark == uid {
        return Owner::Us;
    }
    let (of, key) = (&runtime.spec.shoot.name, annotations::ADOPT_SHOOT);
    let stays = "it is neither changed nor deleted";
    if let Some(id) = id.filter(|id| *id != name) {
        let why = format!("Shoot {of} belongs to Runtime {id}; {stays}. Choose another spec.shoot.name");
        return Owner::Other { why, is_namesake: false };
    }
    let shoot_uid = shoot.metadata.uid.as_deref();
    let lives = rivals.iter().any(|rival| mark.is_some() && rival.uid.as_deref() == mark);
    if shoot_uid.is_some() && runtime.annotation(key) == shoot_uid && !lives {
        return Owner::Unmarked;
    }
    let confirm = format!(
        "If it is this Runtime's all the same, as after a restored backup, confirm it with the annotation {key}: {}; \
         otherwise choose another spec.shoot.name",
        shoot_uid.unwrap_or_default()
    );
    match (mark, id) {
        (Some(other), _) => Owner::Other {
            why: format!("Shoot {of} belongs to another Runtime, of uid {other}; {stays}. {confirm}"),
            is_namesake: id.is_some(),
        },
        (None, Some(_)) => Owner::Unmarked,
        (None, None) => Owner::Other {
            why: format!("Shoot {of} carries no mark of a Runtime; {stays}. {confirm}"),
            is_namesake: false,
        },
    }
}

/// Whether what is marked with a uid, or not at all, may be ours.
pub(crate) fn may_be_ours(metadata: &ObjectMeta, runtime: &Runtime) -> bool {
    let mark = metadata.annotations.as_ref().and_then(|notes| notes.get(annotations::RUNTIME_UID));
    mark.is_none_or(|mark| Some(mark) == runtime.metadata.uid.as_ref())
}

/// The uid of the Runtime that a GardenerCluster says it belongs to.
fn runtime_of(metadata: &ObjectMeta) -> Option<&str> {
    let owners = metadata.owner_references.iter().flatten();
    owners.filter(|owner| owner.kind == RUNTIMES.kind).map(|owner| owner.uid.as_str()).next()
}

/// Whether the GardenerCluster of our name is ours: it names us, or nobody, as those of the reference do.
pub(crate) fn is_our_cluster(cluster: &ObjectMeta, runtime: &Runtime) -> bool {
    runtime_of(cluster).is_none_or(|uid| Some(uid) == runtime.metadata.uid.as_deref())
}

/// Whether a Secret is the kubeconfig of the GardenerCluster of this name: by name, label and owner.
pub(crate) fn is_kubeconfig_of(secret: &ObjectMeta, cluster: &str) -> bool {
    let label = |key: &str| secret.labels.as_ref().and_then(|labels| labels.get(key)).map(String::as_str);
    let is_owner_foreign = secret
        .owner_references
        .iter()
        .flatten()
        .any(|owner| (owner.kind.as_str(), owner.name.as_str()) != (GARDENER_CLUSTERS.kind, cluster));
    secret.name.as_deref() == Some(secret_name(cluster).as_str())
        && label(labels::MANAGED_BY) == Some(labels::MANAGED_BY_US)
        && label(labels::CLUSTER_NAME) == Some(cluster)
        && !is_owner_foreign
}

/// Why this GardenerCluster gets no kubeconfig; none if it does. Whoever may edit GardenerClusters must not thereby come
/// to the clusters of others.
pub(crate) fn refuse_kubeconfig(
    cluster: &GardenerCluster,
    runtime: Option<&Runtime>,
    shoot: &Shoot,
    rivals: &[Rival],
) -> Option<String> {
    let (name, of) = (cluster.metadata.name.as_deref().unwrap_or_default(), &cluster.spec.shoot.name);
    match (runtime, runtime_of(&cluster.metadata)) {
        (Some(runtime), owner) => {
            let uid = runtime.metadata.uid.as_deref();
            if owner.is_some() && owner != uid {
                return Some(format!("it belongs to a Runtime {name} that is gone; delete it, and it is made anew"));
            }
            if runtime.spec.shoot.name != *of {
                let wanted = &runtime.spec.shoot.name;
                return Some(format!("spec.shoot.name is {of}, and Runtime {name} has Shoot {wanted}; set it to that"));
            }
            match of_shoot(runtime, shoot, rivals) {
                Owner::Us | Owner::Unmarked => None,
                Owner::Other { why, .. } => Some(why),
            }
        }
        (None, Some(_)) => Some(format!("its Runtime {name} is gone")),
        (None, None) if shoot.runtime_id() == Some(name) => None,
        (None, None) => {
            let whose = shoot.runtime_id().map_or("is nobody's".to_owned(), |id| format!("belongs to Runtime {id}"));
            Some(format!("Shoot {of} {whose}, and this GardenerCluster is {name}"))
        }
    }
}

/// Why the Secret that this GardenerCluster names is not written; none if it may be.
pub(crate) fn refuse_secret(cluster: &GardenerCluster, there: Option<&SecretView>, namespace: &str) -> Option<String> {
    let (name, secret) = (cluster.metadata.name.as_deref().unwrap_or_default(), &cluster.spec.kubeconfig.secret);
    let wanted = secret_name(name);
    if (&secret.name, secret.namespace.as_str(), secret.key.as_str()) != (&wanted, namespace, SECRET_KEY) {
        return Some(format!(
            "spec.kubeconfig.secret must name the Secret {wanted} in {namespace} with the key {SECRET_KEY}"
        ));
    }
    let foreign = there.filter(|there| !is_kubeconfig_of(&there.metadata, name));
    foreign.map(|_| format!("Secret {wanted} is not ours; it is left as it is. Delete it, or move it out of the way"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn runtime(name: &str, label: &str, uid: &str, adopts: Option<&str>) -> Runtime {
        let text = include_str!("../../../examples/runtime-aws.yaml");
        let mut runtime: Value = serde_saphyr::from_str(text).expect("an example");
        (runtime["metadata"]["name"], runtime["metadata"]["uid"]) = (json!(name), json!(uid));
        runtime["metadata"]["labels"][labels::RUNTIME_ID] = json!(label);
        if let Some(adopts) = adopts {
            runtime["metadata"]["annotations"] = json!({annotations::ADOPT_SHOOT: adopts});
        }
        runtime["spec"]["shoot"]["name"] = json!("shop");
        serde_json::from_value(runtime).expect("a Runtime")
    }

    fn shoot(uid: Option<&str>, id: Option<&str>) -> Shoot {
        let mut notes = json!({});
        for (key, value) in [(annotations::RUNTIME_UID, uid), (annotations::RUNTIME_ID, id)] {
            if let Some(value) = value {
                notes[key] = json!(value);
            }
        }
        serde_json::from_value(json!({"apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot", "spec": {},
            "metadata": {"name": "shop", "uid": "shoot-uid", "annotations": notes}}))
        .expect("a Shoot")
    }

    #[test]
    fn whose_a_shoot_is() {
        let ours = runtime("shop", "shop", "u1", None);
        let adopting = runtime("shop", "shop", "u1", Some("shoot-uid"));
        let wrongly = runtime("shop", "shop", "u1", Some("another"));
        let lives = [Rival { name: "other".to_owned(), uid: Some("u2".to_owned()), is_older: false }];
        let rows: &[(&str, &Runtime, Shoot, &[Rival], &str)] = &[
            ("our uid", &ours, shoot(Some("u1"), Some("shop")), &[], "us"),
            ("our uid, whatever the id", &ours, shoot(Some("u1"), None), &[], "us"),
            ("of the reference", &ours, shoot(None, Some("shop")), &[], "unmarked"),
            ("a copy's", &ours, shoot(None, Some("original")), &[], "other"),
            ("a copy's, confirmed", &adopting, shoot(None, Some("original")), &[], "other"),
            ("another uid", &ours, shoot(Some("u2"), Some("shop")), &[], "namesake"),
            ("another uid, confirmed", &adopting, shoot(Some("u2"), Some("shop")), &[], "unmarked"),
            ("another uid, confirmed, and it lives", &adopting, shoot(Some("u2"), Some("shop")), &lives, "namesake"),
            ("another uid, another Shoot confirmed", &wrongly, shoot(Some("u2"), Some("shop")), &[], "namesake"),
            ("another uid and nothing else", &ours, shoot(Some("u2"), None), &[], "other"),
            ("no mark", &ours, shoot(None, None), &[], "other"),
            ("no mark, confirmed", &adopting, shoot(None, None), &[], "unmarked"),
        ];
        for (what, runtime, shoot, rivals, wanted) in rows {
            let found = match of_shoot(runtime, shoot, rivals) {
                Owner::Us => "us",
                Owner::Unmarked => "unmarked",
                Owner::Other { is_namesake: true, .. } => "namesake",
                Owner::Other { is_namesake: false, .. } => "other",
            };
            assert_eq!(found, *wanted, "{what}");
        }
    }

    #[test]
    fn a_label_that_is_not_the_name_is_told_with_both() {
        assert_eq!(wrong_label(&runtime("shop", "shop", "u1", None)), None);
        let told = describe_wrong_label(&runtime("copy", "shop", "u1", None)).expect("a sentence");
        assert!(told.contains("kyma-project.io/runtime-id is shop") && told.contains("to copy"), "{told}");
    }

    #[test]
    fn a_gardener_cluster_is_bound_to_its_runtime_or_to_a_shoot_of_its_name() {
        let cluster = |name: &str, of: &str, owner: Option<&str>| -> GardenerCluster {
            let owners: Vec<Value> = owner
                .map(|uid| json!({"apiVersion": "x", "kind": "Runtime", "name": name, "uid": uid}))
                .into_iter()
                .collect();
            serde_json::from_value(json!({"apiVersion": "x", "kind": "GardenerCluster",
                "metadata": {"name": name, "ownerReferences": owners},
                "spec": {"shoot": {"name": of},
                    "kubeconfig": {"secret": {"name": secret_name(name), "namespace": "kcp", "key": "config"}}}}))
            .expect("a GardenerCluster")
        };
        let (ours, marked) = (runtime("shop", "shop", "u1", None), shoot(Some("u1"), Some("shop")));
        let rows = [
            (cluster("shop", "shop", Some("u1")), Some(&ours), true),
            (cluster("shop", "shop", None), Some(&ours), true),
            (cluster("shop", "shop", Some("u0")), Some(&ours), false),
            (cluster("shop", "else", Some("u1")), Some(&ours), false),
            (cluster("shop", "shop", None), None, true),
            (cluster("shop", "shop", Some("u1")), None, false),
            (cluster("evil", "shop", None), None, false),
            (cluster("evil", "shop", Some("u1")), None, false),
        ];
        for (place, (cluster, runtime, is_bound)) in rows.iter().enumerate() {
            let refused = refuse_kubeconfig(cluster, *runtime, &marked, &[]);
            assert_eq!(refused.is_none(), *is_bound, "row {place}: {refused:?}");
        }
        let mut other = cluster("shop", "shop", None);
        assert_eq!(refuse_secret(&other, None, "kcp"), None);
        other.spec.kubeconfig.secret.name = "kubeconfig-neighbour".to_owned();
        assert!(refuse_secret(&other, None, "kcp").is_some_and(|why| why.contains("kubeconfig-shop")));
    }
}
