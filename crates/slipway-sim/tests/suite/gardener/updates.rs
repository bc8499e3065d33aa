//! What a running Shoot may not become: one row per rule, tried and not stored.

use kube_sandbox::contract::{Cx, Json as _};
use serde_json::{Value, json};

use super::shoots::{annotate, path, pool, refusals, refused, remove, running, set};

async fn try_to_update(cx: &Cx, case: &str, edit: fn(&mut Value), code: u16, part: &str) {
    let mut shoot = running(cx, case).await;
    edit(&mut shoot);
    let path = path(cx, &format!("/{}?dryRun=All", shoot.text("/metadata/name")));
    refused(cx.put(&path, &shoot).await, code, part);
}

#[rustfmt::skip]
refusals! { try_to_update:
    a_move_to_another_region:          |s| set(s, "spec.region", "us-east-1"), 422, "spec.region: Invalid value: \"us-east-1\": field is immutable";
    a_move_to_another_network:         |s| set(s, "spec.networking.type", "cilium"), 422, "spec.networking.type: Invalid value: \"cilium\": field is immutable";
    a_change_of_the_pod_network:       |s| set(s, "spec.networking.pods", "100.128.0.0/11"), 422, "spec.networking.pods: Invalid value: \"100.128.0.0/11\": field is immutable";
    a_change_of_the_service_network:   |s| set(s, "spec.networking.services", "100.72.0.0/13"), 422, "spec.networking.services: Invalid value: \"100.72.0.0/13\": field is immutable";
    a_change_of_ip_families:           |s| set(s, "spec.networking.ipFamilies", json!(["IPv6"])), 422, "spec.networking.ipFamilies: Forbidden: unsupported IP family update: oldIPFamilies=[IPv4], newIPFamilies=[IPv6]";
    a_change_of_the_node_mask:         |s| set(s, "spec.kubernetes.kubeControllerManager.nodeCIDRMaskSize", 23), 422, "nodeCIDRMaskSize: Invalid value: 23: field is immutable";
    a_change_of_the_domain:            |s| set(s, "spec.dns.domain", "else.example.org"), 422, "spec.dns.domain: Invalid value: \"else.example.org\": field is immutable";
    credentials_taken_away:            |s| remove(s, "spec.credentialsBindingName"), 422, "spec.credentialsBindingName: Forbidden: the field cannot be unset";
    credentials_of_the_old_sort:       |s| set(s, "spec.secretBindingName", "x"), 422, "spec.secretBindingName: Invalid value: \"x\": field is immutable";
    a_downgrade:                       |s| set(s, "spec.kubernetes.version", "1.33.9"), 422, "spec.kubernetes.version: Forbidden: kubernetes version downgrade is not supported";
    a_skipped_minor:                   |s| set(s, "spec.kubernetes.version", "1.36.0"), 422, "spec.kubernetes.version: Forbidden: kubernetes version upgrade cannot skip a minor version";
    a_downgrade_of_a_pool:             |s| pool(s, "kubernetes", json!({"version": "1.33.9"})), 422, "spec.provider.workers[0].kubernetes.version: Forbidden: kubernetes version downgrade is not supported";
    all_workers_taken_away:            |s| set(s, "spec.provider.workers", json!([])), 422, "spec.provider.workers: Forbidden: cannot switch from a Shoot with workers to a workerless Shoot";
    another_way_to_roll:               |s| pool(s, "updateStrategy", "AutoInPlaceUpdate"), 422, "update strategy cannot be changed from AutoRollingUpdate to AutoInPlaceUpdate/ManualInPlaceUpdate";
    a_move_to_another_seed:            |s| set(s, "spec.seedName", "aws-us1"), 403, "spec.seedName 'aws-eu1' cannot be changed to 'aws-us1' by patching the shoot, please use the shoots/binding subresource";
    a_selector_that_fits_no_more:      |s| set(s, "spec.seedSelector", json!({"matchLabels": {"seed.gardener.cloud/region": "mars"}})), 403, "spec.seedSelector";
    another_scheduler:                 |s| set(s, "spec.schedulerName", "mine"), 422, "spec.schedulerName: Invalid value: \"mine\": field is immutable";
    the_finalizer_taken_away:          |s| remove(s, "metadata.finalizers"), 403, "finalizer \"gardener\" cannot be removed because shoot deletion has not completed successfully yet";
    a_rotation_that_never_began:       |s| annotate(s, "gardener.cloud/operation", "rotate-ca-complete"), 422, "cannot complete CA rotation if .status.credentials.rotation.certificateAuthorities.phase is not 'Prepared'";
    a_rollout_of_an_unknown_pool:      |s| annotate(s, "gardener.cloud/operation", "rollout-workers=none"), 422, "worker pool name none does not exist in .spec.provider.workers[]";
    an_update_without_a_version:       |s| remove(s, "metadata.resourceVersion"), 422, "metadata.resourceVersion: Invalid value: 0: must be specified for an update";
    an_update_of_an_old_version:       |s| { set(s, "metadata.resourceVersion", "1"); set(s, "spec.purpose", "testing"); }, 409, "the object has been modified; please apply your changes to the latest version and try again";
}
