//! What a new Shoot may not be: one row per rule, tried and not stored.

use kube_sandbox::contract::Cx;
use serde_json::{Value, json};

use super::shoots::{annotate, another_pool, path, pool, refusals, refused, remove, set, settled, shoot};

async fn try_to_create(cx: &Cx, _case: &str, edit: fn(&mut Value), code: u16, part: &str) {
    let mut shoot = shoot("shop");
    edit(&mut shoot);
    let path = path(cx, "?dryRun=All");
    refused(settled(|| cx.post(&path, &shoot)).await, code, part);
}

#[rustfmt::skip]
refusals! { try_to_create:
    // Identity and references
    two_hyphens_in_a_row:              |s| set(s, "metadata.name", "a--b"), 422, "metadata.name: Invalid value: \"a--b\": name may not contain two consecutive hyphens";
    a_name_in_capitals:                |s| set(s, "metadata.name", "Shop"), 422, "metadata.name: Invalid value";
    a_name_too_long_with_its_project:  |s| set(s, "metadata.name", "a-name-that-is-far-too-long"), 422, "name: Invalid value";
    an_unknown_cloud_profile:          |s| set(s, "spec.cloudProfile.name", "unknown"), 500, "could not find referenced cloud profile: cloudprofile.core.gardener.cloud \"unknown\" not found";
    an_unknown_kind_of_profile:        |s| set(s, "spec.cloudProfile.kind", "Other"), 500, "could not find referenced cloud profile with kind \"Other\"";
    two_cloud_profiles:                |s| set(s, "spec.cloudProfileName", "gcp"), 500, "new shoot can only specify either cloudProfileName or cloudProfile reference";
    workers_without_credentials:       |s| remove(s, "spec.credentialsBindingName"), 422, "spec.secretBindingName: Required value: must be set when credentialsBindingName is not";
    two_sorts_of_credentials:          |s| set(s, "spec.secretBindingName", "aws"), 422, "spec.secretBindingName: Forbidden: is incompatible with credentialsBindingName";
    unknown_credentials:               |s| set(s, "spec.credentialsBindingName", "unknown"), 403, "credentialsbinding.security.gardener.cloud \"unknown\" not found";
    credentials_of_another_cloud:      |s| set(s, "spec.credentialsBindingName", "gcp"), 403, "spec.provider.type: Invalid value: \"aws\": provider type in shoot must match provider type of referenced CredentialsBinding: \"gcp\"";
    a_profile_of_another_cloud:        |s| set(s, "spec.provider.type", "gcp"), 403, "spec.provider.type: Invalid value: \"gcp\": provider type in shoot must equal provider type of referenced CloudProfile: \"aws\"";
    a_resource_that_is_not_there:      |s| set(s, "spec.resources", json!([{"name": "r", "resourceRef": {"apiVersion": "v1", "kind": "Secret", "name": "none"}}])), 403, "failed to resolve resource reference \"r\": secrets \"none\" not found";
    an_unknown_exposure_class:         |s| set(s, "spec.exposureClassName", "unknown"), 403, "exposureclass.core.gardener.cloud \"unknown\" not found";
    an_unknown_extension:              |s| set(s, "spec.extensions", json!([{"type": "unknown"}])), 403, "given Shoot uses non-registered extension type: spec.extensions[0].type (\"unknown\")";
    an_unknown_network:                |s| set(s, "spec.networking.type", "smoke"), 403, "given Shoot uses non-registered networking type: spec.networking.type (\"smoke\")";
    a_finalizer_of_the_gardenlet:      |s| set(s, "metadata.finalizers", json!(["gardener"])), 422, "metadata.finalizers[0]: Forbidden: finalizer \"gardener\" cannot be added on creation";
    no_region:                         |s| remove(s, "spec.region"), 422, "spec.region: Required value: must specify a region";
    an_unknown_region:                 |s| set(s, "spec.region", "moon-1"), 403, "spec.region: Unsupported value: \"moon-1\"";
    a_seed_that_is_not_there:          |s| set(s, "spec.seedName", "none"), 500, "seed";
    a_seed_whose_taints_are_not_tolerated: |s| set(s, "spec.seedName", "aws-protected"), 403, "forbidden to use a seed whose taints are not tolerated by the shoot";

    // Versions
    an_expired_version:                |s| set(s, "spec.kubernetes.version", "1.32.3"), 403, "spec.kubernetes.version: Unsupported value: \"1.32.3\"";
    a_version_the_profile_lacks:       |s| set(s, "spec.kubernetes.version", "1.29"), 403, "couldn't find a suitable version for 1.29";
    a_pool_newer_than_its_control_plane: |s| pool(s, "kubernetes", json!({"version": "1.35.2"})), 422, "spec.provider.workers[0].kubernetes.version: Forbidden: worker group kubernetes version must not be higher";
    a_failure_tolerance_nobody_offers: |s| set(s, "spec.controlPlane.highAvailability.failureTolerance.type", "rack"), 422, "spec.controlPlane.highAvailability.failureTolerance.type: Unsupported value: \"rack\"";

    // Workers
    a_pool_in_capitals:                |s| pool(s, "name", "Pool"), 422, "spec.provider.workers[0].name: Invalid value";
    a_pool_with_a_long_name:           |s| pool(s, "name", "a-much-too-long-name"), 422, "spec.provider.workers[0].name: Too long: may not be more than 15 bytes";
    two_pools_of_one_name:             |s| another_pool(s)["name"] = json!("pool"), 422, "spec.provider.workers[1].name: Duplicate value: \"pool\"";
    no_machine_type:                   |s| pool(s, "machine.type", ""), 422, "spec.provider.workers[0].machine.type: Required value: must specify a machine type";
    less_than_the_minimum:             |s| pool(s, "minimum", 4), 422, "spec.provider.workers[0].maximum: Forbidden: maximum value must not be less than minimum value";
    a_negative_minimum:                |s| pool(s, "minimum", -1), 422, "spec.provider.workers[0].minimum: Invalid value: -1: minimum value must not be negative";
    neither_surge_nor_unavailable:     |s| pool(s, "maxSurge", 0), 422, "spec.provider.workers[0].maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0";
    more_than_all_unavailable:         |s| pool(s, "maxUnavailable", "150%"), 422, "spec.provider.workers[0].maxUnavailable: Invalid value: \"150%\": must not be greater than 100%";
    a_surge_that_is_no_number:         |s| pool(s, "maxSurge", "much"), 422, "spec.provider.workers[0].maxSurge: Invalid value: \"much\": must be an integer or percentage (e.g '5%')";
    fewer_nodes_than_zones:            |s| pool(s, "zones", json!(["eu-central-1a", "eu-central-1b", "eu-central-1c", "x"])), 422, "spec.provider.workers[0].maximum: Forbidden: maximum node count should be greater";
    nowhere_for_system_components:     |s| pool(s, "systemComponents", json!({"allow": false})), 422, "spec.provider.workers: Forbidden: at least one active";
    a_volume_size_in_another_unit:     |s| pool(s, "volume.size", "50GB"), 422, "spec.provider.workers[0].volume.size: Invalid value: \"50GB\": volume size must match the regex ^(\\d)+Gi$";
    a_data_volume_without_a_volume:    |s| { pool(s, "dataVolumes", json!([{"name": "d", "size": "1Gi"}])); remove(s, "spec.provider.workers.0.volume"); }, 422, "spec.provider.workers[0].volume: Required value";
    a_volume_below_the_minimum:        |s| pool(s, "volume.size", "10Gi"), 403, "spec.provider.workers[0].volume.size: Invalid value: \"10Gi\": size must be >= 20Gi";
    an_unknown_machine_type:           |s| pool(s, "machine.type", "unknown"), 403, "spec.provider.workers[0].machine.type: Unsupported value: \"unknown\"";
    a_machine_type_not_usable:         |s| pool(s, "machine.type", "m4.large"), 403, "machine type \"m4.large\" is unusable, supported types are";
    a_machine_type_not_in_the_zone:    |s| { pool(s, "machine.type", "g4dn.xlarge"); pool(s, "zones", json!(["eu-central-1c"])); }, 403, "is unavailable in at least one zone";
    a_volume_type_not_usable:          |s| pool(s, "volume.type", "gp2"), 403, "volume type \"gp2\" is unusable";
    an_unknown_image_version:          |s| pool(s, "machine.image.version", "9.9.9"), 403, "spec.provider.workers[0].machine.image.version: Unsupported value: \"9.9.9\": supported values: \"gardenlinux:1877.8.0\"";
    an_expired_image_version:          |s| pool(s, "machine.image.version", "1592.3.0"), 403, "spec.provider.workers[0].machine.image.version: Unsupported value: \"1592.3.0\": supported values: \"gardenlinux:1877.8.0\", \"gardenlinux:1877.9.0\", \"gardenlinux:2150.0.0\"";
    an_image_too_old_for_the_kubelet:  |s| { pool(s, "machine.image", json!({"name": "ubuntu", "version": "22.4.20260101"})); set(s, "spec.kubernetes.version", "1.35.2"); }, 403, "does not support kubelet version '1.35.2'";
    an_unknown_image:                  |s| pool(s, "machine.image", json!({"name": "windows"})), 403, "spec.provider.workers[0]: Invalid value: \"windows\": image is not supported";
    an_unknown_zone:                   |s| pool(s, "zones", json!(["mars-1"])), 403, "spec.provider.workers[0].zones[0]: Unsupported value: \"mars-1\"";
    a_zone_twice:                      |s| pool(s, "zones", json!(["eu-central-1a", "eu-central-1a"])), 403, "spec.provider.workers[0].zones[1]: Duplicate value: \"eu-central-1a\"";
    zones_in_a_region_without:         |s| set(s, "spec.region", "ap-northeast-3"), 403, "this region does not support availability zones, please do not configure them";
    more_nodes_than_the_profile_allows: |s| { pool(s, "minimum", 101); pool(s, "maximum", 101); }, 403, "spec.provider.workers: Forbidden: the total minimum node count of all worker pools must not exceed the limit of 100 configured in the CloudProfile";
    an_unknown_effect_of_a_taint:      |s| pool(s, "taints", json!([{"key": "a", "effect": "Sometimes"}])), 422, "spec.provider.workers[0].taints[0].effect: Unsupported value: \"Sometimes\"";
    a_reserved_taint:                  |s| pool(s, "taints", json!([{"key": "node.gardener.cloud/critical-components-not-ready", "effect": "NoSchedule"}])), 422, "taint key is reserved by gardener";
    a_priority_below_all:              |s| pool(s, "priority", -2), 422, "spec.provider.workers[0].priority: Invalid value: -2: can not be less than -1";
    a_bad_label_of_a_pool:             |s| pool(s, "labels", json!({"a b": "c"})), 422, "spec.provider.workers[0].labels: Invalid value: \"a b\"";
    a_bundle_that_is_no_certificate:   |s| pool(s, "caBundle", "no certificate"), 422, "caBundle is not a valid PEM-encoded certificate";
    another_container_runtime:         |s| pool(s, "cri", json!({"name": "docker"})), 422, "spec.provider.workers[0].cri.name: Unsupported value: \"docker\": supported values: \"containerd\"";
    an_unknown_architecture:           |s| pool(s, "machine.architecture", "mips"), 422, "spec.provider.workers[0].machine.architecture: Unsupported value: \"mips\"";
    more_reserved_than_there_is:       |s| pool(s, "kubernetes", json!({"kubelet": {"kubeReserved": {"cpu": "2"}}})), 403, "total reserved CPU (kubeReserved) cannot be more than the Node's CPU capacity '2'";
    a_network_without_workers:         |s| { set(s, "spec.provider.workers", json!([])); remove(s, "spec.credentialsBindingName"); }, 422, "spec.networking.type: Forbidden: this field should not be set for workerless Shoot clusters";

    // Networks
    a_network_with_host_bits:          |s| set(s, "spec.networking.nodes", "10.250.0.1/16"), 422, "spec.networking.nodes: Invalid value: \"10.250.0.1/16\": must be valid canonical CIDR";
    a_network_that_is_none:            |s| set(s, "spec.networking.nodes", "ten"), 422, "spec.networking.nodes: Invalid value: \"ten\": invalid CIDR address: ten";
    an_unknown_ip_family:              |s| set(s, "spec.networking.ipFamilies", json!(["IPv5"])), 422, "spec.networking.ipFamilies[0]: Unsupported value: \"IPv5\"";
    networks_that_overlap:             |s| set(s, "spec.networking.pods", "10.250.128.0/17"), 403, "spec.networking.pods: Invalid value: \"10.250.128.0/17\": shoot pod network intersects with shoot node network";
    a_reserved_network_on_a_seed:      |s| { set(s, "spec.seedName", "aws-eu1"); set(s, "spec.networking.nodes", "243.0.0.0/16"); }, 403, "spec.networking.nodes: Invalid value: \"243.0.0.0/16\": node network intersects with reserved shoot service network mapping range (243.0.0.0/8)";
    a_node_mask_out_of_bounds:         |s| set(s, "spec.kubernetes.kubeControllerManager.nodeCIDRMaskSize", 30), 422, "nodeCIDRMaskSize must be between 16 and 28";
    a_node_mask_too_small_for_its_pods: |s| set(s, "spec.kubernetes.kubeControllerManager.nodeCIDRMaskSize", 26), 422, "only supports 62 IP addresses";

    // The rest
    a_maintenance_window_too_short:    |s| set(s, "spec.maintenance.timeWindow", json!({"begin": "220000+0000", "end": "221000+0000"})), 422, "spec.maintenance.timeWindow: Invalid value: 600000000000: time window must not be smaller than 30m0s";
    a_maintenance_window_of_nonsense:  |s| set(s, "spec.maintenance.timeWindow", json!({"begin": "x", "end": "y"})), 422, "spec.maintenance.timeWindow.begin/end: Invalid value";
    a_schedule_that_is_no_cron:        |s| set(s, "spec.hibernation.schedules", json!([{"start": "every day"}])), 422, "spec.hibernation.schedules[0].start: Invalid value: \"every day\": not a valid cron spec";
    a_schedule_of_nowhere:             |s| set(s, "spec.hibernation.schedules", json!([{"start": "0 1 * * *", "location": "Mars"}])), 422, "spec.hibernation.schedules[0].location: Invalid value: \"Mars\": not a valid location";
    a_schedule_of_nothing:             |s| set(s, "spec.hibernation.schedules", json!([{}])), 422, "spec.hibernation.schedules[0].start/end: Required value";
    an_extension_twice:                |s| set(s, "spec.extensions", json!([{"type": "registry-cache"}, {"type": "registry-cache"}])), 422, "spec.extensions[1].type: Duplicate value: \"registry-cache\"";
    a_resource_without_a_kind:         |s| set(s, "spec.resources", json!([{"name": "a"}])), 422, "spec.resources[0].resourceRef.kind: Required value: must provide a kind";
    an_unknown_purpose:                |s| set(s, "spec.purpose", "fun"), 422, "spec.purpose: Unsupported value: \"fun\": supported values: \"development\", \"evaluation\", \"production\", \"testing\"";
    a_purpose_for_the_garden_alone:    |s| set(s, "spec.purpose", "infrastructure"), 422, "spec.purpose: Unsupported value";
    a_toleration_not_allowed:          |s| set(s, "spec.tolerations", json!([{"key": "anything"}])), 403, "spec.tolerations[0]: Forbidden: only the following tolerations are allowed";
    an_access_restriction_not_offered: |s| set(s, "spec.accessRestrictions", json!([{"name": "mars-only"}])), 403, "spec.accessRestrictions[0]: Unsupported value: \"mars-only\": supported values: \"eu-access-only\"";
    authentication_without_a_name:     |s| set(s, "spec.kubernetes.kubeAPIServer.structuredAuthentication", json!({"configMapName": ""})), 422, "structuredAuthentication.configMapName: Forbidden: must provide a name";
    events_kept_too_long:              |s| set(s, "spec.kubernetes.kubeAPIServer.eventTTL", "25h"), 422, "spec.kubernetes.kubeAPIServer.eventTTL: Invalid value";
    tokens_that_end_too_soon:          |s| set(s, "spec.kubernetes.kubeAPIServer.serviceAccountConfig.maxTokenExpiration", "1h"), 422, "must be at least 720h (30d)";
    an_unknown_proxy_mode:             |s| set(s, "spec.kubernetes.kubeProxy.mode", "Magic"), 422, "spec.kubernetes.kubeProxy.mode: Unsupported value: \"Magic\"";
    addons_of_the_past:                |s| { set(s, "spec.kubernetes.version", "1.35.2"); set(s, "spec.addons.nginxIngress.enabled", false); }, 422, "spec.addons: Forbidden: for Kubernetes versions >= 1.35";
    an_eviction_timeout_of_the_past:   |s| set(s, "spec.kubernetes.kubeControllerManager.podEvictionTimeout", "2m"), 422, "podEvictionTimeout field is no longer supported";
    a_domain_against_the_scheme:       |s| set(s, "spec.dns.domain", "mine.other.shoots.example"), 422, "spec.dns.domain: Invalid value: \"mine.other.shoots.example\": shoot uses a default domain but does not match expected scheme";
    a_dns_provider_without_credentials: |s| set(s, "spec.dns.providers", json!([{"type": "aws-route53"}])), 422, "spec.dns.providers[0].credentialsRef: Required value";
    force_deletion_from_the_start:     |s| annotate(s, "confirmation.gardener.cloud/force-deletion", "true"), 422, "force-deletion annotation cannot be set when Shoot deletionTimestamp is nil";
    an_unknown_operation:              |s| annotate(s, "gardener.cloud/operation", "dance"), 422, "metadata.annotations[gardener.cloud/operation]: Unsupported value: \"dance\"";
    retry_together_with_others:        |s| annotate(s, "gardener.cloud/operation", "retry;reconcile"), 422, "operation 'retry' is not permitted to be run in parallel with other operations";
    a_rotation_before_there_is_anything: |s| annotate(s, "gardener.cloud/operation", "rotate-ca-start"), 422, "cannot start CA rotation if shoot was not yet created successfully";
}
