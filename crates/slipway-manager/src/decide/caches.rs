//! Which caches of image registries a cluster gets: what is asked for inside it, checked before Gardener sees it.
//!
//! Whoever may write into a cluster could otherwise have its whole Shoot refused, and with it every other change
//! of its owner. What is wrong is left out, or left as it was, and told where it was asked for.

use std::collections::{BTreeMap, BTreeSet};

use slipway_kube::runtime::{GarbageCollection, ImageRegistryCache, RegistryCacheConfig, RegistryCacheVolume};

use crate::go_duration;

/// More than this many caches are a mistake: each is a volume and a workload in the cluster.
pub const MOST: usize = 50;
/// What a Secret with credentials has, and nothing else.
const KEYS: [&str; 2] = ["username", "password"];

/// Credentials for a registry, in Base64 as Secrets have them. They are carried, and never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials(pub BTreeMap<String, String>);

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Credentials(…)")
    }
}

/// One wish, as it stands in the cluster.
#[derive(Debug, Clone)]
pub struct Wish {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Its identity.
    pub uid: String,
    /// Since when it is there, as RFC 3339, which sorts as text.
    pub created: String,
    /// What is wished for; or why it cannot be read.
    pub config: Result<RegistryCacheConfig, String>,
    /// The content of the Secret that it names, if there is one.
    pub credentials: Option<Credentials>,
}

/// What becomes of wishes.
#[derive(Debug, Default, PartialEq)]
pub struct Caches {
    /// The caches of the cluster, by namespace and name.
    pub wanted: Vec<ImageRegistryCache>,
    /// Wishes that are not met, by identity, and why.
    pub refused: BTreeMap<String, String>,
}

/// The oldest first: of two who want the same, the first one has it.
pub fn by_age(wishes: &mut [Wish]) {
    let key = |wish: &Wish| (wish.created.clone(), wish.namespace.clone(), wish.name.clone());
    wishes.sort_by_key(key);
}

/// What becomes of these wishes, given the caches there are. Wishes come by age.
pub fn caches(wishes: &[Wish], present: &[ImageRegistryCache]) -> Caches {
    let mut all = Caches::default();
    let mut upstreams = BTreeSet::new();
    for (place, wish) in wishes.iter().enumerate() {
        let before = present.iter().find(|cache| cache.uid == wish.uid);
        let judged = if place >= MOST {
            Err(format!("a cluster has at most {MOST} registry caches"))
        } else {
            judge(wish, before.map(|cache| &cache.config), &upstreams)
        };
        let config = match judged {
            Ok(config) => Some(config.clone()),
            Err(why) => {
                all.refused.insert(wish.uid.clone(), why);
                before.filter(|cache| !upstreams.contains(&cache.config.upstream)).map(|cache| cache.config.clone())
            }
        };
        if let Some(config) = config {
            upstreams.insert(config.upstream.clone());
            let (name, namespace) = (wish.name.clone(), wish.namespace.clone());
            all.wanted.push(ImageRegistryCache { name, namespace, uid: wish.uid.clone(), config });
        }
    }
    all.wanted.sort_by(|one, other| (&one.namespace, &one.name).cmp(&(&other.namespace, &other.name)));
    all
}

fn judge<'a>(
    wish: &'a Wish,
    before: Option<&RegistryCacheConfig>,
    upstreams: &BTreeSet<String>,
) -> Result<&'a RegistryCacheConfig, String> {
    let config = wish.config.as_ref().map_err(Clone::clone)?;
    // Without `..`: a new field must be checked here.
    let RegistryCacheConfig { upstream, remote_url, secret_reference_name, proxy, http: _, volume, garbage_collection } =
        config;
    if !is_host(upstream) {
        return Err(format!("spec.upstream is {upstream:?}, but must be a host such as docker.io or my.example:5000"));
    }
    if upstreams.contains(upstream) {
        return Err(format!("spec.upstream: {upstream} has a cache already, asked for by another resource"));
    }
    let proxies = proxy
        .iter()
        .flat_map(|proxy| [("spec.proxy.httpProxy", &proxy.http_proxy), ("spec.proxy.httpsProxy", &proxy.https_proxy)]);
    for (path, url) in proxies.chain([("spec.remoteURL", remote_url)]) {
        if let Some(url) = url.as_deref().filter(|url| !is_url(url)) {
            return Err(format!("{path} is {url:?}, but must be http:// or https://, a host, and perhaps a port"));
        }
    }
    if let Some(size) = volume.as_ref().and_then(|volume| volume.size.as_deref()).filter(|size| !is_size(size)) {
        return Err(format!("spec.volume.size is {size:?}, but must be an amount such as 10Gi"));
    }
    let ttl = life(garbage_collection.as_ref());
    let Some(ttl) = ttl else {
        return Err("spec.garbageCollection.ttl must be a duration such as 168h, or 0s for never".to_owned());
    };
    if let Some(before) = before {
        if room(before.volume.as_ref()) != room(volume.as_ref()) {
            return Err("spec.volume cannot be changed; delete the resource and create it anew".to_owned());
        }
        if ttl > 0 && life(before.garbage_collection.as_ref()) == Some(0) {
            return Err("spec.garbageCollection.ttl: collection that was switched off cannot be switched on; \
                        delete the resource and create it anew"
                .to_owned());
        }
    }
    match (secret_reference_name, &wish.credentials) {
        (None, _) => Ok(config),
        (Some(name), None) => {
            Err(format!("spec.secretReferenceName: there is no Secret {name} in namespace {}", wish.namespace))
        }
        (Some(name), Some(Credentials(data))) => {
            let is_whole =
                data.len() == KEYS.len() && KEYS.iter().all(|key| data.get(*key).is_some_and(|it| !it.is_empty()));
            if is_whole {
                return Ok(config);
            }
            Err(format!("spec.secretReferenceName: Secret {name} must have username and password, and nothing else"))
        }
    }
}

/// Seconds after which images are forgotten; none if it is no duration.
fn life(collection: Option<&GarbageCollection>) -> Option<u64> {
    collection.map_or(Some(7 * 24 * 3600), |it| go_duration::parse(&it.ttl).map(|it| it.as_secs()))
}

fn room(volume: Option<&RegistryCacheVolume>) -> (&str, Option<&str>) {
    let size = volume.and_then(|volume| volume.size.as_deref()).unwrap_or("10Gi");
    (size, volume.and_then(|volume| volume.storage_class_name.as_deref()))
}

/// A host, and perhaps a port.
fn is_host(text: &str) -> bool {
    let (host, port) = text.rsplit_once(':').map_or((text, None), |(host, port)| (host, Some(port)));
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    host.len() <= 253
        && host.split('.').all(is_label)
        && port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0))
}

fn is_url(text: &str) -> bool {
    text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")).is_some_and(is_host)
}

/// A positive amount, as Kubernetes writes them.
fn is_size(text: &str) -> bool {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    number.parse::<f64>().is_ok_and(|number| number > 0.0)
        && ["", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].contains(&unit)
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

    fn with(mut wish: Wish, keys: &[&str]) -> Wish {
        wish.credentials = Some(Credentials(keys.iter().map(|key| ((*key).to_owned(), "eA==".to_owned())).collect()));
        wish
    }

    #[test]
    fn what_is_right_is_wanted_and_what_is_wrong_is_named() {
        let secret = |keys: &[&str]| with(wish("a", json!({"upstream": "x.io", "secretReferenceName": "s"})), keys);
        for (wish, wrong) in [
            (wish("a", json!({"upstream": "docker.io"})), ""),
            (wish("a", json!({"upstream": "my.example:5000", "remoteURL": "http://my.example:5000"})), ""),
            (wish("a", json!({"upstream": "x.io", "volume": {}, "garbageCollection": {}})), ""),
            (wish("a", json!({"upstream": "x.io", "volume": {"size": "1.5Ti"}})), ""),
            (secret(&["username", "password"]), ""),
            (wish("a", json!({})), "upstream"),
            (wish("a", json!({"upstream": ""})), "spec.upstream"),
            (wish("a", json!({"upstream": "https://docker.io"})), "spec.upstream"),
            (wish("a", json!({"upstream": "docker.io/library"})), "spec.upstream"),
            (wish("a", json!({"upstream": "x.io:0"})), "spec.upstream"),
            (wish("a", json!({"upstream": "x.io", "remoteURL": "ftp://x.io"})), "spec.remoteURL"),
            (wish("a", json!({"upstream": "x.io", "proxy": {"httpsProxy": "x.io"}})), "spec.proxy.httpsProxy"),
            (wish("a", json!({"upstream": "x.io", "volume": {"size": "0Gi"}})), "spec.volume.size"),
            (wish("a", json!({"upstream": "x.io", "volume": {"size": "ten"}})), "spec.volume.size"),
            (
                wish("a", json!({"upstream": "x.io", "garbageCollection": {"ttl": "soon"}})),
                "spec.garbageCollection.ttl",
            ),
            (wish("a", json!({"upstream": "x.io", "secretReferenceName": "s"})), "no Secret s in namespace shop"),
            (secret(&["username"]), "username and password"),
            (secret(&["username", "password", "more"]), "nothing else"),
        ] {
            let told = format!("{wish:?}");
            let all = caches(&[wish], &[]);
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
        by_age(&mut wishes);
        let all = caches(&wishes, &[]);
        assert_eq!(all.wanted.iter().map(|cache| cache.name.as_str()).collect::<Vec<_>>(), ["b"]);
        assert!(all.refused["uid-a"].contains("already"), "{all:?}");
    }

    #[test]
    fn what_cannot_be_changed_stays_as_it_was() {
        let config = |extra: Value| {
            let mut config =
                json!({"upstream": "x.io", "volume": {"size": "20Gi"}, "garbageCollection": {"ttl": "0s"}});
            config.as_object_mut().expect("object").extend(extra.as_object().expect("object").clone());
            config
        };
        let present = caches(&[wish("a", config(json!({})))], &[]).wanted;
        for (change, wrong) in [
            (json!({"volume": {"size": "30Gi"}}), "spec.volume"),
            (json!({"volume": {"size": "20Gi", "storageClassName": "fast"}}), "spec.volume"),
            (json!({"garbageCollection": {"ttl": "1h"}}), "spec.garbageCollection.ttl"),
            (json!({"upstream": "!"}), "spec.upstream"),
        ] {
            let all = caches(&[wish("a", config(change))], &present);
            assert_eq!(all.wanted, present);
            assert!(all.refused["uid-a"].contains(wrong), "{all:?}");
        }
        let other = caches(&[wish("a", config(json!({"upstream": "y.io"})))], &present);
        assert_eq!((other.wanted[0].config.upstream.as_str(), other.refused.len()), ("y.io", 0));
    }

    #[test]
    fn there_is_an_end_to_wishes_and_credentials_are_not_shown() {
        let many: Vec<Wish> =
            (0..60).map(|it| wish(&format!("c{it:02}"), json!({"upstream": format!("r{it}.io")}))).collect();
        let all = caches(&many, &[]);
        assert_eq!((all.wanted.len(), all.refused.len()), (MOST, 10));
        assert!(!format!("{:?}", with(wish("a", json!({"upstream": "x.io"})), &["username"])).contains("eA=="));
    }
}
