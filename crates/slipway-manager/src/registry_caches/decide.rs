//! Which caches of image registries a cluster gets: what is asked for inside it, checked before Gardener sees it.
//!
//! Whoever may write into a cluster could otherwise have its whole Shoot refused, and with it every other change
//! of its owner. What is wrong is left out, or left as it was, and told where it was asked for.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use slipway_kube::runtime::{GarbageCollection, ImageRegistryCache, RegistryCacheConfig, RegistryCacheVolume};
use slipway_model::time::hours;

use crate::go_duration;

/// More than this many caches are a mistake: each is a volume and a workload in the cluster.
pub(super) const MOST: usize = 50;
/// The longest text of a customer that is quoted.
const QUOTED: usize = 80;
/// The user of Google's registries, whose password is a JSON object with these fields and no others.
const GOOGLE: &str = "_json_key";
const GOOGLE_FIELDS: [&str; 11] = [
    "type",
    "project_id",
    "client_email",
    "universe_domain",
    "auth_uri",
    "auth_provider_x509_cert_url",
    "client_x509_cert_url",
    "client_id",
    "private_key_id",
    "private_key",
    "token_uri",
];

/// Credentials for a registry, in Base64 as Secrets have them. They are carried, and never shown.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Credentials(pub(super) BTreeMap<String, String>);

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Credentials(…)")
    }
}

/// One wish, as it stands in the cluster.
#[derive(Debug, Clone)]
pub(super) struct Wish {
    pub(super) name: String,
    pub(super) namespace: String,
    pub(super) uid: String,
    /// Since when it is there, as RFC 3339, which sorts as text.
    pub(super) created: String,
    /// What is wished for; or why it cannot be read.
    pub(super) config: Result<RegistryCacheConfig, String>,
    /// The content of the Secret that it names, if there is one.
    pub(super) credentials: Option<Credentials>,
}

/// What becomes of wishes.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Decision {
    /// The caches of the cluster, by namespace and name.
    pub(super) wanted: Vec<ImageRegistryCache>,
    /// Wishes that are not met, by identity, and why.
    pub(super) refused: BTreeMap<String, String>,
}

/// The oldest first: of two who want the same, the first one has it.
pub(super) fn sort_by_age(wishes: &mut [Wish]) {
    let key = |wish: &Wish| (wish.created.clone(), wish.namespace.clone(), wish.name.clone());
    wishes.sort_by_key(key);
}

/// What becomes of these wishes, given the caches there are. Wishes come by age.
pub(super) fn decide(wishes: &[Wish], present: &[ImageRegistryCache]) -> Decision {
    let mut all = Decision::default();
    let mut upstreams = BTreeSet::new();
    for (place, wish) in wishes.iter().enumerate() {
        let upstream = wish.config.as_ref().map(|config| config.upstream.as_str()).unwrap_or_default();
        // Gardener knows a cache by its upstream.
        let before = present.iter().find(|cache| cache.config.upstream == upstream);
        let judged = if place >= MOST {
            Err(format!("a cluster has at most {MOST} registry caches"))
        } else {
            judge(wish, before.map(|cache| &cache.config), &upstreams)
        };
        let cache = match judged {
            Ok(config) => {
                let (name, namespace) = (wish.name.clone(), wish.namespace.clone());
                Some(ImageRegistryCache { name, namespace, uid: wish.uid.clone(), config })
            }
            Err(why) => {
                all.refused.insert(wish.uid.clone(), why);
                let own = present.iter().find(|cache| cache.uid == wish.uid).or(before);
                own.filter(|cache| !upstreams.contains(&cache.config.upstream)).cloned()
            }
        };
        if let Some(cache) = cache {
            upstreams.insert(cache.config.upstream.clone());
            all.wanted.push(cache);
        }
    }
    sort(&mut all.wanted);
    all
}

/// The same where only a part of the wishes was read: nobody knows who asks for the other caches, so they stay.
pub(super) fn decide_from_part(wishes: &[Wish], present: &[ImageRegistryCache]) -> Decision {
    let mut all = decide(wishes, present);
    let is_unread = |cache: &&ImageRegistryCache| {
        wishes.iter().all(|wish| wish.uid != cache.uid)
            && all.wanted.iter().all(|other| other.config.upstream != cache.config.upstream)
    };
    let unread: Vec<ImageRegistryCache> = present.iter().filter(is_unread).cloned().collect();
    all.wanted.extend(unread);
    sort(&mut all.wanted);
    all
}

fn sort(caches: &mut [ImageRegistryCache]) {
    caches.sort_by(|one, other| (&one.namespace, &one.name).cmp(&(&other.namespace, &other.name)));
}

/// What the wish becomes: as Gardener takes it, or why it would not.
fn judge(
    wish: &Wish,
    before: Option<&RegistryCacheConfig>,
    upstreams: &BTreeSet<String>,
) -> Result<RegistryCacheConfig, String> {
    let mut config = wish.config.clone()?;
    if let Some(volume) = &mut config.volume {
        // As the API would fill it in.
        volume.size.get_or_insert_with(|| DEFAULT_SIZE.to_owned());
    }
    // Without `..`: a new field must be checked here.
    let RegistryCacheConfig { upstream, remote_url, secret_reference_name, proxy, http: _, volume, garbage_collection } =
        &config;
    if !is_host(upstream) {
        let quoted = quote(upstream);
        return Err(format!("spec.upstream is {quoted}, but must be a host such as docker.io or my.example:5000"));
    }
    if upstreams.contains(upstream) {
        return Err(format!("spec.upstream: {upstream} has a cache already, asked for by another resource"));
    }
    let proxies = proxy
        .iter()
        .flat_map(|proxy| [("spec.proxy.httpProxy", &proxy.http_proxy), ("spec.proxy.httpsProxy", &proxy.https_proxy)]);
    for (path, url) in proxies.chain([("spec.remoteURL", remote_url)]) {
        if url.as_deref().is_some_and(|url| !is_url(url)) {
            // Not quoted: people put passwords into such addresses.
            return Err(format!("{path} must be http:// or https://, a host, perhaps a port, and nothing else"));
        }
    }
    if let Some(RegistryCacheVolume { size, storage_class_name }) = volume {
        if let Some(size) = size.as_deref().filter(|size| parse_amount(size).is_none()) {
            return Err(format!("spec.volume.size is {}, but must be an amount such as 10Gi", quote(size)));
        }
        if storage_class_name.as_deref().is_some_and(|name| !is_name(name)) {
            return Err("spec.volume.storageClassName must be the name of a storage class".to_owned());
        }
    }
    let Some(ttl) = parse_life(garbage_collection.as_ref()) else {
        return Err("spec.garbageCollection.ttl must be a duration such as 168h, or 0s for never".to_owned());
    };
    if let Some(before) = before {
        let anew = "delete the resource, wait until its cache is gone from the Runtime, and create it anew";
        if measure(before.volume.as_ref()) != measure(volume.as_ref()) {
            return Err(format!("spec.volume cannot be changed; {anew}"));
        }
        if !ttl.is_zero() && parse_life(before.garbage_collection.as_ref()) == Some(Duration::ZERO) {
            return Err(format!(
                "spec.garbageCollection.ttl: collection that was switched off cannot be switched on; {anew}"
            ));
        }
    }
    if let Some(name) = secret_reference_name {
        let wrong = |what: &str| format!("spec.secretReferenceName: {what}");
        if !is_name(name) {
            return Err(wrong("must be the name of a Secret"));
        }
        match &wish.credentials {
            None => return Err(wrong(&format!("there is no Secret {name} in namespace {}", wish.namespace))),
            Some(credentials) => {
                check_credentials(credentials).map_err(|what| wrong(&format!("Secret {name} {what}")))?
            }
        }
    }
    Ok(config)
}

/// Whether Gardener would take these. Never says what is in them.
fn check_credentials(Credentials(data): &Credentials) -> Result<(), &'static str> {
    let decoded = |key: &str| data.get(key).and_then(|value| STANDARD.decode(value).ok());
    let (Some(username), Some(password), 2) = (decoded("username"), decoded("password"), data.len()) else {
        return Err("must have username and password, and nothing else");
    };
    if username.is_empty() || String::from_utf8_lossy(&username).contains(char::is_whitespace) {
        return Err("must have a username without spaces and line ends");
    }
    if String::from_utf8_lossy(&password).trim().is_empty() {
        return Err("must have a password");
    }
    if username == GOOGLE.as_bytes() {
        let account: Option<HashMap<String, String>> = serde_json::from_slice(&password).ok();
        let is_right = account.is_some_and(|it| it.keys().all(|field| GOOGLE_FIELDS.contains(&field.as_str())));
        if !is_right {
            return Err("must have the JSON key of a Google service account as password, for the user _json_key");
        }
    }
    Ok(())
}

/// A text of a customer, short and in quotes.
fn quote(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// After which time images are forgotten; none if it is no duration.
fn parse_life(collection: Option<&GarbageCollection>) -> Option<Duration> {
    collection.map_or(Some(hours(168)), |it| go_duration::parse(&it.ttl))
}

const DEFAULT_SIZE: &str = "10Gi";

fn measure(volume: Option<&RegistryCacheVolume>) -> (Option<f64>, Option<&str>) {
    let size = volume.and_then(|volume| volume.size.as_deref()).unwrap_or(DEFAULT_SIZE);
    (parse_amount(size), volume.and_then(|volume| volume.storage_class_name.as_deref()))
}

/// A name, as most kinds take it: labels of small letters, digits and `-`, with dots between.
pub(super) fn is_name(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(is_inner) && !label.starts_with('-') && !label.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(is_label)
}

/// A host, and perhaps a port.
fn is_host(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return is_name(text) };
    let is_port = port.bytes().all(|byte| byte.is_ascii_digit()) && !port.starts_with('0');
    is_name(host) && is_port && port.parse::<u16>().is_ok()
}

fn is_url(text: &str) -> bool {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    host.is_some_and(|host| is_host(host.strip_suffix('/').unwrap_or(host)))
}

/// A positive amount, as Kubernetes writes them.
fn parse_amount(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (powers, base) = match unit.strip_suffix('i') {
        Some(unit) => (["K", "M", "G", "T", "P", "E"].iter().position(|it| *it == unit)? + 1, 1024.0_f64),
        None => (["", "k", "M", "G", "T", "P", "E"].iter().position(|it| *it == unit)?, 1000.0),
    };
    let amount = number.parse::<f64>().ok()? * base.powi(i32::try_from(powers).ok()?);
    (amount > 0.0).then_some(amount)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn wish(name: &str, config: Value) -> Wish {
        Wish {
            name: name.to_owned(),
            namespace: "shop".to_owned(),
            uid: format!("uid-{name}"),
            created: "2026-11-01T00:00:00Z".to_owned(),
            config: serde_json::from_value(config).map_err(|error| error.to_string()),
            credentials: None,
        }
    }

    fn with(mut wish: Wish, keys: &[(&str, &str)]) -> Wish {
        let encoded = keys.iter().map(|(key, value)| ((*key).to_owned(), STANDARD.encode(value)));
        wish.credentials = Some(Credentials(encoded.collect()));
        wish
    }

    #[test]
    fn what_is_right_is_wanted_and_what_is_wrong_is_named() {
        let named = json!({"upstream": "x.io", "secretReferenceName": "s"});
        let secret = |keys: &[(&str, &str)]| with(wish("a", named.clone()), keys);
        let login = |username: &str, password: &str| secret(&[("username", username), ("password", password)]);
        for (wish, wrong) in [
            (wish("a", json!({"upstream": "docker.io"})), ""),
            (wish("a", json!({"upstream": "my.example:5000", "remoteURL": "http://my.example:5000"})), ""),
            (wish("a", json!({"upstream": "x.io", "volume": {}, "garbageCollection": {}})), ""),
            (wish("a", json!({"upstream": "x.io", "volume": {"size": "1.5Ti"}})), ""),
            (wish("a", json!({"upstream": "x.io", "proxy": {"httpProxy": "http://proxy.example:3128/"}})), ""),
            (login("anna", "a secret"), ""),
            (login(GOOGLE, r#"{"type": "service_account", "private_key": "x"}"#), ""),
            (wish("a", json!({})), "upstream"),
            (wish("a", json!({"upstream": ""})), "spec.upstream"),
            (wish("a", json!({"upstream": "https://docker.io"})), "spec.upstream"),
            (wish("a", json!({"upstream": "docker.io/library"})), "spec.upstream"),
            (wish("a", json!({"upstream": "x.io:0"})), "spec.upstream"),
            (wish("a", json!({"upstream": "x.io:+80"})), "spec.upstream"),
            (wish("a", json!({"upstream": "x.io:05000"})), "spec.upstream"),
            (wish("a", json!({"upstream": "x.io:99999"})), "spec.upstream"),
            (wish("a", json!({"upstream": "Docker.io"})), "spec.upstream"),
            (wish("a", json!({"upstream": "x.io", "remoteURL": "ftp://x.io"})), "spec.remoteURL"),
            (wish("a", json!({"upstream": "x.io", "proxy": {"httpsProxy": "x.io"}})), "spec.proxy.httpsProxy"),
            (wish("a", json!({"upstream": "x.io", "volume": {"size": "0Gi"}})), "spec.volume.size"),
            (wish("a", json!({"upstream": "x.io", "volume": {"size": "ten"}})), "spec.volume.size"),
            (wish("a", json!({"upstream": "x.io", "volume": {"storageClassName": "My Disk"}})), "storageClassName"),
            (wish("a", json!({"upstream": "x.io", "secretReferenceName": ""})), "the name of a Secret"),
            (wish("a", json!({"upstream": "x.io", "secretReferenceName": "../.."})), "the name of a Secret"),
            (wish("a", json!({"upstream": "x.io", "secretReferenceName": "s?watch=true"})), "the name of a Secret"),
            (
                wish("a", json!({"upstream": "x.io", "garbageCollection": {"ttl": "soon"}})),
                "spec.garbageCollection.ttl",
            ),
            (wish("a", json!({"upstream": "x.io", "secretReferenceName": "s"})), "no Secret s in namespace shop"),
            (secret(&[("username", "anna")]), "username and password"),
            (secret(&[("username", "a"), ("password", "b"), ("more", "c")]), "nothing else"),
            (login("anna\n", "x"), "without spaces"),
            (login("", "x"), "without spaces"),
            (login("anna", " \n"), "a password"),
            (login(GOOGLE, "x"), "JSON key"),
            (login(GOOGLE, r#"{"type": "x", "more": "y"}"#), "JSON key"),
        ] {
            let told = format!("{wish:?}");
            let all = decide(&[wish], &[]);
            if wrong.is_empty() {
                assert_eq!((all.wanted.len(), all.refused.len()), (1, 0), "{told}: {all:?}");
            } else {
                assert!(all.wanted.is_empty() && all.refused["uid-a"].contains(wrong), "{told}: {all:?}");
            }
        }
    }

    #[test]
    fn of_two_with_one_upstream_the_older_has_it() {
        let (mut young, old) = (wish("a", json!({"upstream": "x.io"})), wish("b", json!({"upstream": "x.io"})));
        young.created = "2026-11-02T00:00:00Z".to_owned();
        let mut wishes = [young, old];
        sort_by_age(&mut wishes);
        let all = decide(&wishes, &[]);
        assert_eq!(all.wanted.iter().map(|cache| cache.name.as_str()).collect::<Vec<_>>(), ["b"]);
        assert!(all.refused["uid-a"].contains("already"), "{all:?}");
    }

    #[test]
    fn what_cannot_be_changed_stays_as_it_was() {
        let config = |extra: Value| {
            let mut config = json!({"upstream": "x.io", "volume": {"size": "1Gi"}, "garbageCollection": {"ttl": "0s"}});
            config.as_object_mut().expect("object").extend(extra.as_object().expect("object").clone());
            config
        };
        let present = decide(&[wish("a", config(json!({})))], &[]).wanted;
        let refused = |name: &str, change: Value, wrong: &str| {
            let all = decide(&[wish(name, config(change))], &present);
            assert_eq!(all.wanted, present);
            assert!(all.refused[&format!("uid-{name}")].contains(wrong), "{all:?}");
        };
        refused("a", json!({"volume": {"size": "30Gi"}}), "spec.volume");
        refused("a", json!({"volume": {"size": "1Gi", "storageClassName": "fast"}}), "spec.volume");
        refused("a", json!({"garbageCollection": {"ttl": "1ns"}}), "spec.garbageCollection.ttl");
        refused("a", json!({"upstream": "!"}), "spec.upstream");
        // Made anew before Gardener has forgotten the old one.
        refused("b", json!({"volume": {"size": "30Gi"}}), "spec.volume");
        for change in [json!({"upstream": "y.io", "volume": {"size": "30Gi"}}), json!({"volume": {"size": "1024Mi"}})] {
            assert_eq!(decide(&[wish("a", config(change))], &present).refused, BTreeMap::new());
        }
        assert_eq!(decide(&[], &present), Decision::default(), "what nobody asks for any more goes");
        let others = [wish("c", json!({"upstream": "z.io"}))];
        let upstreams = |all: Decision| all.wanted.into_iter().map(|it| it.config.upstream).collect::<Vec<_>>();
        assert_eq!(upstreams(decide_from_part(&others, &present)), ["x.io", "z.io"], "unless somebody may still ask");
        assert_eq!(upstreams(decide(&others, &present)), ["z.io"]);
    }

    #[test]
    fn two_who_change_places_stay_where_they_are() {
        let both = |first: &str, second: &str| {
            let sized = |upstream: &str, size: &str| json!({"upstream": upstream, "volume": {"size": size}});
            [wish("a", sized(first, "1Gi")), wish("b", sized(second, "2Gi"))]
        };
        let present = decide(&both("x.io", "y.io"), &[]).wanted;
        let all = decide(&both("y.io", "x.io"), &present);
        assert_eq!((&all.wanted, all.refused.len()), (&present, 2));
    }

    #[test]
    fn there_is_an_end_to_wishes_and_texts_and_credentials_are_not_shown() {
        let many: Vec<Wish> =
            (0..60).map(|it| wish(&format!("c{it:02}"), json!({"upstream": format!("r{it}.io")}))).collect();
        let all = decide(&many, &[]);
        assert_eq!((all.wanted.len(), all.refused.len()), (MOST, 10));
        let (long, proxy) = ("!".repeat(1_000), json!({"httpProxy": "http://anna:hunter2@proxy.example"}));
        for config in [json!({"upstream": long}), json!({"upstream": "x.io", "proxy": proxy})] {
            let told = decide(&[wish("a", config)], &[]).refused["uid-a"].clone();
            assert!(told.len() < 300 && !told.contains("hunter2"), "{told}");
        }
        let secret = with(wish("a", json!({"upstream": "x.io"})), &[("password", "hunter2")]);
        assert!(!format!("{secret:?}").contains(&STANDARD.encode("hunter2")));
    }

    #[test]
    fn what_the_api_fills_in_is_filled_in_here() {
        let all = decide(&[wish("a", json!({"upstream": "x.io", "volume": {"size": null}}))], &[]);
        assert_eq!(all.wanted[0].config.volume.as_ref().and_then(|it| it.size.as_deref()), Some(DEFAULT_SIZE));
    }
}
