//! What each transformer writes.

use slipway_kube::annotations;

use super::*;

#[test]
fn the_base_is_the_runtimes() {
    let shoot = World::rich().created();
    assert_eq!(shoot["metadata"]["name"], "first");
    assert_eq!(shoot["metadata"]["namespace"], "garden-dev");
    assert_eq!(shoot["spec"]["purpose"], "production");
    assert_eq!(shoot["spec"]["networking"]["nodes"], "10.250.0.0/16");
    assert_eq!(shoot["spec"]["controlPlane"]["highAvailability"]["failureTolerance"]["type"], "zone");
}

#[test]
fn annotations_and_labels_say_whose_it_is() {
    let world = World::rich();
    let shoot = world.created();
    let noted = &shoot["metadata"]["annotations"];
    assert_eq!(noted[annotations::RUNTIME_ID], world.runtime.label(slipway_kube::labels::RUNTIME_ID).expect("a label"));
    assert_eq!(noted[annotations::RUNTIME_GENERATION], "3");
    assert_eq!(noted[annotations::LICENCE_TYPE], "PARTNER");
    assert_eq!(noted[annotations::CLEANUP_WEBHOOKS], "60");
    assert_eq!(noted[annotations::INPUT_HASH], input_hash(&world.input(None)));
    let account = world.runtime.label(slipway_kube::labels::GLOBAL_ACCOUNT_ID).expect("a label");
    assert_eq!(shoot["metadata"]["labels"]["account"], account);
    assert!(World::least("aws").created()["metadata"]["annotations"].get(annotations::LICENCE_TYPE).is_none());
}

#[test]
fn the_hash_covers_inputs_and_not_the_shoot() {
    let world = World::rich();
    let hash = input_hash(&world.input(None));
    assert_eq!(hash.len(), 64);
    let living = living(&world.created());
    assert_eq!(input_hash(&world.input(Some(&living))), hash);
    type Edit = fn(&mut World);
    let edits: &[(&str, Edit)] = &[
        ("spec", |world| world.edit(|spec| spec["shoot"]["purpose"] = json!("testing"))),
        ("account", |world| {
            drop(
                world
                    .runtime
                    .metadata
                    .labels
                    .as_mut()
                    .expect("labels")
                    .insert(slipway_kube::labels::GLOBAL_ACCOUNT_ID.to_owned(), "moved".to_owned()),
            )
        }),
        ("annotation", |world| {
            world.runtime.metadata.annotations =
                Some([(annotations::EXPERIMENTAL_AUDIT_POLICY.to_owned(), "true".to_owned())].into())
        }),
        ("config", |world| world.config.converter.machine_image.default_version = "1.2.3".to_owned()),
        ("switch", |world| world.config.switches.network_restriction = false),
        ("audit", |world| world.audit = None),
        ("window", |world| world.window = None),
        ("acl", |world| world.acl.operators.clear()),
        ("secrets", |world| world.secrets.clear()),
    ];
    for (what, edit) in edits {
        let mut changed = World::rich();
        edit(&mut changed);
        assert_ne!(input_hash(&changed.input(None)), hash, "{what}");
    }
    let mut same = World::rich();
    same.runtime.metadata.generation = Some(99);
    same.runtime.metadata.labels.as_mut().expect("labels").insert("other".to_owned(), "x".to_owned());
    same.config.cluster.default_shared_ias_tenant.client_id = "other".to_owned();
    assert_eq!(input_hash(&same.input(None)), hash, "what no Shoot is made from does not count");
}

#[test]
fn seeds_are_chosen_by_region_only_if_asked_and_stay_chosen() {
    let selector = json!({ "matchLabels": { "seed.gardener.cloud/region": "region-1" } });
    let mut world = World::rich();
    let shoot = world.created();
    assert_eq!(shoot["spec"]["seedSelector"], selector);
    world.edit(|spec| spec["shoot"]["enforceSeedLocation"] = json!(false));
    assert!(world.created()["spec"].get("seedSelector").is_none());
    assert_eq!(world.patched(&living(&shoot)).value()["spec"]["seedSelector"], selector);
}

#[test]
fn cloud_profile_and_exposure_of_each_cloud() {
    for (provider, profile, exposure) in [
        ("aws", "aws", Value::Null),
        ("azure", "az", Value::Null),
        ("gcp", "gcp", Value::Null),
        ("openstack", "converged-cloud-kyma", json!("converged-cloud-internet")),
        ("alicloud", "alicloud", Value::Null),
        ("gdch", "cat", Value::Null),
    ] {
        let spec = &World::least(provider).created()["spec"];
        assert_eq!(spec["cloudProfile"], json!({ "kind": "CloudProfile", "name": profile }));
        assert_eq!(spec["exposureClassName"], exposure);
        assert_eq!(spec["provider"]["type"], json!(provider));
    }
    let mut world = World::least("gdch");
    world.config.converter.provider.clouds.insert("gdch".to_owned(), json!({ "cloudProfileName": "own" }));
    assert_eq!(world.created()["spec"]["cloudProfile"]["name"], "own");
}

#[test]
fn eu_access_is_restricted_where_the_region_promises_it_and_others_restrictions_stay() {
    let mut world = World::rich();
    let mut shoot = living(&world.created());
    assert_eq!(shoot["spec"]["accessRestrictions"][0]["name"], "eu-access-only");
    let other = json!({ "name": "of-others" });
    shoot["spec"]["accessRestrictions"].as_array_mut().expect("a list").insert(0, other.clone());
    let restrictions = world.patched(&shoot).value()["spec"]["accessRestrictions"].clone();
    assert_eq!((&restrictions[0], restrictions.as_array().map(Vec::len)), (&other, Some(2)));
    world.edit(|spec| spec["shoot"]["platformRegion"] = json!("cf-us10"));
    assert!(world.created()["spec"].get("accessRestrictions").is_none());
    world.config.converter.eu_access.platform_regions = vec!["cf-us10".to_owned()];
    assert_eq!(world.created()["spec"]["accessRestrictions"][0]["name"], "eu-access-only");
}

#[test]
fn features_tokens_and_ip_families_come_from_the_configuration() {
    let shoot = World::rich().created();
    let kubernetes = &shoot["spec"]["kubernetes"];
    assert_eq!(kubernetes["kubeAPIServer"]["featureGates"], json!({ "A": true }));
    assert_eq!(kubernetes["kubeAPIServer"]["runtimeConfig"], json!({ "api/all": true }));
    assert_eq!(kubernetes["kubelet"]["featureGates"], json!({ "B": false }));
    let account = &kubernetes["kubeAPIServer"]["serviceAccountConfig"];
    assert_eq!(*account, json!({ "extendTokenExpiration": false, "maxTokenExpiration": "1000h0m0s" }));
    assert_eq!(shoot["spec"]["networking"]["ipFamilies"], json!(["IPv4", "IPv6"]));
    let least = World::least("aws").created();
    assert!(least["spec"]["kubernetes"].get("kubelet").is_none());
    assert!(least["spec"]["networking"].get("ipFamilies").is_none());
}

#[test]
fn token_life_is_kept_within_what_gardener_takes() {
    for (configured, life) in [("", "720h0m0s"), ("1h", "720h0m0s"), ("9999h", "2160h0m0s"), ("800h", "800h0m0s")] {
        let mut world = World::least("aws");
        world.config.converter.kubernetes.kube_api_server.max_token_expiration = configured.to_owned();
        let account = world.created()["spec"]["kubernetes"]["kubeAPIServer"]["serviceAccountConfig"].clone();
        assert_eq!(account["maxTokenExpiration"], life, "{configured}");
    }
}

#[test]
fn what_only_creation_sets_is_written_back_whatever_is_configured_now() {
    let mut world = World::rich();
    let shoot = living(&world.created());
    world.config.converter.tolerations.clear();
    world.config.converter.kubernetes.kube_api_server.max_token_expiration = "720h".to_owned();
    world.config.converter.networking.enable_dual_stack_ip = false;
    let next = world.patched(&shoot).into_value();
    for path in
        ["/spec/tolerations", "/spec/kubernetes/kubeAPIServer/serviceAccountConfig", "/spec/networking/ipFamilies"]
    {
        assert_eq!(next.pointer(path), shoot.pointer(path), "{path}");
        assert!(next.pointer(path).is_some(), "{path}");
    }
}

#[test]
fn dual_stack_needs_runtime_configuration_and_cloud() {
    for (asked, allowed, provider, is_there) in [
        (true, true, "aws", true),
        (true, true, "gcp", true),
        (false, true, "aws", false),
        (true, false, "aws", false),
        (true, true, "azure", false),
    ] {
        let mut world = World::least(provider);
        world.config.converter.networking.enable_dual_stack_ip = allowed;
        world.edit(|spec| spec["shoot"]["networking"]["dualStack"] = json!(asked));
        assert_eq!(world.created()["spec"]["networking"].get("ipFamilies").is_some(), is_there, "{provider}");
    }
}

#[test]
fn dns_is_ours_where_configured_and_gardeners_where_it_began_so() {
    let world = World::rich();
    let shoot = world.created();
    assert_eq!(
        shoot["spec"]["dns"],
        json!({
            "domain": "first.clusters.example",
            "providers": [{
                "primary": true, "type": "aws-route53", "domains": { "include": ["first.clusters.example"] },
                "credentialsRef": { "apiVersion": "v1", "kind": "Secret", "name": "route53" },
            }],
        })
    );
    let least = World::least("aws");
    assert!(least.created()["spec"].get("dns").is_none());
    let of_gardener = living(&least.created());
    let mut now_external = World::rich();
    now_external.runtime = least.runtime.clone();
    let dns = now_external.patched(&of_gardener).value()["spec"]["dns"].clone();
    assert_eq!(dns, json!({ "domain": "first.dev.shoots.example" }));
}

#[test]
fn the_version_never_goes_down() {
    for (asked, running, sent, noted) in [
        ("", "1.34.5", "1.34.5", false),
        ("", "1.33.9", "1.34", false),
        ("1.35.1", "1.34.5", "1.35.1", false),
        ("1.33.9", "1.34.5", "1.34.5", true),
        ("1.34", "1.34.5", "1.34.5", false),
        ("latest", "1.34.5", "latest", false),
    ] {
        let mut world = World::least("gcp");
        let mut shoot = living(&world.created());
        shoot["spec"]["kubernetes"]["version"] = json!(running);
        world.edit(|spec| spec["shoot"]["kubernetes"]["version"] = json!(asked));
        let next = world.patched(&shoot);
        assert_eq!(next.value()["spec"]["kubernetes"]["version"], sent, "{asked} {running}");
        assert_eq!(!next.notes().is_empty(), noted, "{asked} {running}");
    }
    assert_eq!(World::least("gcp").created()["spec"]["kubernetes"]["version"], "1.34");
}

#[test]
fn the_window_is_for_production_and_a_given_one_stays() {
    let mut world = World::rich();
    let shoot = world.created();
    let window = json!({ "begin": "200000+0000", "end": "220000+0000" });
    assert_eq!(shoot["spec"]["maintenance"]["timeWindow"], window);
    assert_eq!(
        shoot["spec"]["maintenance"]["autoUpdate"],
        json!({ "kubernetesVersion": false, "machineImageVersion": false })
    );
    world.window = None;
    assert_eq!(world.patched(&living(&shoot)).value()["spec"]["maintenance"]["timeWindow"], window);
    let mut trial = World::rich();
    trial.edit(|spec| spec["shoot"]["purpose"] = json!("evaluation"));
    assert!(trial.created()["spec"]["maintenance"].get("timeWindow").is_none());
}

#[test]
fn the_audit_log_has_its_policy_its_secret_and_its_tenant() {
    let mut world = World::rich();
    let shoot = world.created();
    let policy = "/spec/kubernetes/kubeAPIServer/auditConfig/auditPolicy/configMapRef/name";
    assert_eq!(shoot.pointer(policy), Some(&json!("policy")));
    let resource = entry(&shoot["spec"]["resources"], "name", "auditlog-credentials");
    assert_eq!(resource["resourceRef"], json!({ "apiVersion": "v1", "kind": "Secret", "name": "audit-secret" }));
    let extension = entry(&shoot["spec"]["extensions"], "type", "shoot-auditlog-service");
    assert_eq!(extension["providerConfig"]["tenantID"], "tenant");
    assert_eq!(extension["providerConfig"]["secretReferenceName"], "auditlog-credentials");
    world.runtime.metadata.annotations =
        Some([(annotations::EXPERIMENTAL_AUDIT_POLICY.to_owned(), "TRUE".to_owned())].into());
    assert_eq!(world.created().pointer(policy), Some(&json!("experimental-audit-policy")));
    world.audit = None;
    let next = world.patched(&living(&shoot)).into_value();
    assert_eq!(next.pointer(policy), Some(&json!("policy")), "without data it stays as it is");
    assert_eq!(next["spec"]["resources"][0], shoot["spec"]["resources"][0]);
}

#[test]
fn the_binding_is_of_one_kind() {
    let mut world = World::least("aws");
    assert_eq!(world.created()["spec"]["credentialsBindingName"], "binding");
    world.config.converter.gardener.enable_credential_binding = false;
    let spec = &world.created()["spec"];
    assert_eq!((spec["secretBindingName"].as_str(), spec.get("credentialsBindingName")), (Some("binding"), None));
}

#[test]
fn extensions_of_a_new_cluster_stand_in_their_order() {
    let types = |world: &World| -> Vec<String> {
        let list = world.created()["spec"]["extensions"].as_array().expect("a list").clone();
        list.iter().map(|one| one["type"].as_str().expect("a type").to_owned()).collect()
    };
    assert_eq!(
        types(&World::least("gcp")),
        ["shoot-networking-filter", "shoot-cert-service", "shoot-dns-service", "shoot-oidc-service"]
    );
    let mut rich = World::rich();
    assert_eq!(types(&rich)[4..], ["shoot-auditlog-service", "acl", "shoot-nvidia-openshell"], "no registry cache yet");
    rich.config.switches.network_restriction = false;
    assert_eq!(types(&rich)[0], "shoot-cert-service");
}

#[test]
fn what_each_extension_holds() {
    let extensions = World::rich().created()["spec"]["extensions"].clone();
    let of = |name: &str| entry(&extensions, "type", name).clone();
    assert_eq!(of("shoot-networking-filter")["disabled"], json!(false));
    assert_eq!(
        of("shoot-networking-filter")["providerConfig"],
        json!({ "egressFilter": { "blackholingEnabled": true } })
    );
    assert_eq!(of("shoot-cert-service")["providerConfig"]["shootIssuers"], json!({ "enabled": true }));
    assert_eq!(
        of("shoot-dns-service")["providerConfig"]["providers"],
        json!([{
            "domains": { "include": ["first.clusters.example"] }, "type": "aws-route53",
            "credentials": "shoot-dns-service-route53",
        }])
    );
    assert_eq!(
        of("acl")["providerConfig"]["rule"],
        json!({ "action": "ALLOW", "cidrs": ["3.3.3.0/24", "1.1.1.0/24", "2.2.2.2/32"], "type": "remote_ip" })
    );
    let plain = World::least("aws").created()["spec"]["extensions"].clone();
    assert_eq!(
        *entry(&plain, "type", "shoot-networking-filter"),
        json!({ "type": "shoot-networking-filter", "disabled": true })
    );
    assert!(entry(&plain, "type", "shoot-dns-service")["providerConfig"].get("providers").is_none());
}

#[test]
fn a_living_shoots_extensions_change_in_place_and_others_stay() {
    let mut world = World::rich();
    let mut shoot = living(&world.created());
    let of_others = json!({ "type": "of-others", "providerConfig": { "x": 1 } });
    let list = shoot["spec"]["extensions"].as_array_mut().expect("a list");
    list.insert(0, of_others.clone());
    list[2]["providerConfig"]["changed"] = json!("by hand");
    world.edit(|spec| {
        spec["shoot"]["enableNvidiaOpenshell"] = json!(false);
        spec["shoot"]["kubernetes"]["kubeAPIServer"]["acl"]["allowedCIDRs"] = json!([]);
        spec["security"]["networking"]["filter"]["egress"]["enabled"] = json!(false);
    });
    let next = world.patched(&shoot).into_value();
    let extensions = &next["spec"]["extensions"];
    let types =
        |list: &Value| list.as_array().expect("a list").iter().map(|one| one["type"].clone()).collect::<Vec<_>>();
    assert_eq!(types(extensions)[..8], types(&shoot["spec"]["extensions"])[..]);
    assert_eq!(types(extensions)[8], "registry-cache");
    assert_eq!(extensions[0], of_others);
    assert_eq!(extensions[2], shoot["spec"]["extensions"][2], "the certificates' entry is left alone");
    assert_eq!(
        *entry(extensions, "type", "shoot-networking-filter"),
        json!({ "type": "shoot-networking-filter", "disabled": true })
    );
    for off in ["acl", "shoot-nvidia-openshell"] {
        assert_eq!(entry(extensions, "type", off)["disabled"], json!(true), "{off}");
    }
}

#[test]
fn registry_caches_come_with_their_secrets_and_go_without_a_trace() {
    let mut world = World::rich();
    let shoot = living(&world.created());
    let next = world.patched(&shoot).into_value();
    let caches = entry(&next["spec"]["extensions"], "type", "registry-cache")["providerConfig"]["caches"].clone();
    assert_eq!(
        caches,
        json!([{ "upstream": "docker.io", "secretReferenceName": "reg-cache-1" }, { "upstream": "quay.io" }])
    );
    assert_eq!(entry(&next["spec"]["resources"], "name", "reg-cache-1")["resourceRef"]["name"], "reg-cache-1");
    let mut with_caches = living(&next);
    with_caches["spec"]["resources"].as_array_mut().expect("a list").push(json!({ "name": "of-others" }));
    world.secrets.clear();
    world.edit(|spec| spec["imageRegistryCache"] = json!([]));
    let last = world.patched(&with_caches).into_value();
    assert_eq!(*entry(&last["spec"]["extensions"], "type", "registry-cache"), Value::Null);
    let names: Vec<_> =
        last["spec"]["resources"].as_array().expect("a list").iter().map(|one| one["name"].clone()).collect();
    assert_eq!(names, ["auditlog-credentials", "of-others"]);
}

#[test]
fn a_dns_extension_without_providers_is_left_alone() {
    let mut world = World::least("aws");
    let shoot = living(&world.created());
    world.config = World::rich().config;
    let next = world.patched(&shoot).into_value();
    let of = |shoot: &Value| entry(&shoot["spec"]["extensions"], "type", "shoot-dns-service").clone();
    assert_eq!(of(&next), of(&shoot));
}

#[test]
fn the_operators_login_is_the_runtimes_or_the_configured_one() {
    let mut world = World::least("aws");
    let of = |world: &World| {
        let (name, text) = structured_auth_config(&world.runtime, &world.config).expect("made");
        assert_eq!(name, "structured-auth-config-first");
        serde_saphyr::from_str::<Value>(&text).expect("YAML")
    };
    assert_eq!(
        of(&world),
        json!({
            "apiVersion": "apiserver.config.k8s.io/v1beta1", "kind": "AuthenticationConfiguration",
            "jwt": [{
                "issuer": { "url": "https://issuer.example", "audiences": ["client"] },
                "claimMappings": {
                    "username": { "claim": "sub", "prefix": "" }, "groups": { "claim": "groups", "prefix": "" },
                },
            }],
        })
    );
    world.config.converter.kubernetes.dash_prefix_is_none = false;
    assert_eq!(of(&world)["jwt"][0]["claimMappings"]["username"]["prefix"], "-");
    world.edit(|spec| {
        spec["shoot"]["kubernetes"]["kubeAPIServer"] = json!({ "oidcConfig": {
            "issuerURL": "https://own.example", "clientID": "own", "usernamePrefix": "own:", "requiredClaims": { "a": "b" },
        } });
    });
    let jwt = &of(&world)["jwt"][0];
    assert_eq!(jwt["issuer"], json!({ "url": "https://own.example", "audiences": ["own"] }));
    assert_eq!(jwt["claimMappings"], json!({ "username": { "claim": "sub", "prefix": "own:" } }));
    assert_eq!(jwt["claimValidationRules"], json!([{ "claim": "a", "requiredValue": "b" }]));
    world.edit(|spec| spec["shoot"]["kubernetes"]["kubeAPIServer"]["oidcConfig"]["clientID"] = json!(""));
    assert_eq!(of(&world)["jwt"][0]["issuer"]["audiences"], json!(["client"]), "half a login is none");
    let shoot = world.created();
    let reference = &shoot["spec"]["kubernetes"]["kubeAPIServer"]["structuredAuthentication"];
    assert_eq!(*reference, json!({ "configMapName": "structured-auth-config-first" }));
}

#[test]
fn a_control_plane_keeps_its_high_availability() {
    let mut world = World::rich();
    let shoot = living(&world.created());
    world.edit(|spec| drop(spec["shoot"].as_object_mut().expect("an object").remove("controlPlane")));
    let next = world.patched(&shoot);
    assert_eq!(next.value()["spec"]["controlPlane"], shoot["spec"]["controlPlane"]);
    assert_eq!(next.notes()[0].path, "spec.shoot.controlPlane");
}
