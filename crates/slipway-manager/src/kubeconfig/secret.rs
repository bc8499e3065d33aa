//! The Secret with a kubeconfig.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};
use slipway_kube::{GardenerCluster, Shoot, access::resource::GARDENER_CLUSTERS, annotations, labels};
use slipway_model::time::Timestamp;

use super::rotation::Present;
use crate::observe::{SecretView, hash};

/// A kubeconfig as Gardener hands it out.
#[derive(Deserialize)]
pub(crate) struct Issued {
    status: Option<IssuedStatus>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct IssuedStatus {
    /// Base64.
    #[serde(default)]
    kubeconfig: String,
    #[serde(default)]
    expiration_timestamp: String,
}

impl Issued {
    /// The kubeconfig (base64) and when it expires; none if either is missing.
    pub(crate) fn take(self) -> Option<(String, Timestamp)> {
        let status = self.status?;
        let expires = status.expiration_timestamp.parse().ok()?;
        (!status.kubeconfig.is_empty()).then_some((status.kubeconfig, expires))
    }
}

/// The labels it should have.
pub(crate) fn build_labels(cluster: &GardenerCluster) -> BTreeMap<String, String> {
    let mut marks = cluster.metadata.labels.clone().unwrap_or_default();
    marks.insert(labels::MANAGED_BY.to_owned(), labels::MANAGED_BY_US.to_owned());
    marks.insert(labels::CLUSTER_NAME.to_owned(), cluster.metadata.name.clone().unwrap_or_default());
    marks
}

/// The whole Secret: content, labels, times and owner in one write, so that no reader sees half of it.
pub(crate) fn build_document(
    cluster: &GardenerCluster,
    shoot: &Shoot,
    kubeconfig: &str,
    issued: Timestamp,
    expires: Timestamp,
) -> Value {
    let secret = &cluster.spec.kubeconfig.secret;
    json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {
            "name": secret.name, "namespace": secret.namespace, "labels": build_labels(cluster),
            "annotations": {
                annotations::LAST_SYNC: format_time(issued), annotations::EXPIRES_AT: format_time(expires),
                annotations::ISSUED_FOR: issued_for(shoot),
            },
            "ownerReferences": [{
                "apiVersion": GARDENER_CLUSTERS.api_version(), "kind": GARDENER_CLUSTERS.kind,
                "name": cluster.metadata.name, "uid": cluster.metadata.uid,
            }],
        },
        "data": {secret.key.as_str(): kubeconfig},
    })
}

/// What a kubeconfig of this Shoot holds good for: this cluster at this address, with these authorities.
pub(crate) fn issued_for(shoot: &Shoot) -> String {
    let status = shoot.status.as_ref();
    let addresses = status.map(|status| status.advertised_addresses.as_slice()).unwrap_or_default();
    // Kubeconfigs have this one; others come and go.
    let address = addresses.iter().find(|address| address.name == "external").or(addresses.first());
    let authorities = status.and_then(|status| status.credentials.as_ref()?.rotation.certificate_authorities.as_ref());
    let times = authorities.map(|it| (&it.last_initiation_time, &it.last_completion_time));
    hash(json!([shoot.metadata.uid, address.map(|address| &address.url), times]).to_string().as_bytes())
}

/// Whether the kubeconfig in this Secret is of another cluster than this: one that was there before, or at another address.
/// Who did not write down what it was issued for is believed until its time is over.
pub(crate) fn is_of_another(secret: &SecretView, shoot: &Shoot) -> bool {
    secret.annotation(annotations::ISSUED_FOR).is_some_and(|noted| noted != issued_for(shoot))
}

/// What is known of the kubeconfig in this Secret; none if there is no kubeconfig in it.
pub(crate) fn read_present(secret: Option<&SecretView>, key: &str) -> Option<Present> {
    let secret = secret?;
    secret.hash(key)?;
    let time = |key: &str| secret.annotation(key).and_then(|text| text.parse().ok());
    Some(Present { issued: time(annotations::LAST_SYNC), expires: time(annotations::EXPIRES_AT) })
}

/// RFC 3339 in UTC, whole seconds.
fn format_time(time: Timestamp) -> String {
    crate::status::to_kubernetes(time).0.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
