//! Kyma: the release, its components and their overrides.
//!
//! A stored document has no value that was marked secret; those are in [`KymaSecrets`], by their
//! place in the document, and are kept encrypted.

use std::collections::BTreeMap;

use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use slipway_kube::violations::{Violations, quoted};

use super::{
    cluster::set,
    version::Version,
    wire::{ComponentConfigurationInput, ConfigEntryInput, ConflictStrategy, KymaConfigInput, KymaProfile},
};
use crate::settings::Settings;

/// The component that connects a runtime.
pub const AGENT_COMPONENT: &str = "compass-runtime-agent";

/// What is shown in the place of a secret value.
pub const MASK: &str = "***";

/// More than any release has; each is a row in an installer's plan.
const COMPONENTS_MAX: usize = 200;

/// What Kyma shall be. Never a secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KymaSpec {
    /// Release.
    pub version: String,
    /// How much it may need.
    pub profile: Option<KymaProfile>,
    /// How overrides meet values that are there already.
    pub conflict_strategy: ConflictStrategy,
    /// Modules on top.
    pub modules: Vec<String>,
    /// Components in order.
    pub components: Vec<ComponentSpec>,
    /// Overrides for all components.
    pub configuration: Vec<EntrySpec>,
}

/// A component.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ComponentSpec {
    /// Name.
    pub component: String,
    /// Namespace.
    pub namespace: String,
    /// Where it comes from, if it is not part of the release.
    pub source_url: Option<String>,
    /// How overrides meet values that are there already; as for all if none.
    pub conflict_strategy: Option<ConflictStrategy>,
    /// Overrides.
    pub configuration: Vec<EntrySpec>,
}

/// An override. Without a value it is secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntrySpec {
    /// Name.
    pub key: String,
    /// Value; none when it is secret.
    pub value: Option<String>,
}

impl EntrySpec {
    /// Its value is kept apart.
    pub fn is_secret(&self) -> bool {
        self.value.is_none()
    }
}

/// The values that are secret, by their place: `<index of the component or "all">/<index>`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KymaSecrets(BTreeMap<String, String>);

impl KymaSecrets {
    /// As it is given to the store; none when there is no secret.
    pub fn seal(&self) -> Option<SecretString> {
        let text = || serde_json::to_string(&self.0).expect("texts are JSON");
        (!self.0.is_empty()).then(|| text().into())
    }

    /// As it came from the store.
    pub fn open(sealed: Option<&SecretString>) -> Result<Self, serde_json::Error> {
        sealed.map_or_else(|| Ok(Self::default()), |sealed| serde_json::from_str(sealed.expose_secret()))
    }

    /// The value of an override: `component` is its index, none for those of all.
    pub fn value<'a>(&'a self, component: Option<usize>, index: usize, entry: &'a EntrySpec) -> Option<&'a str> {
        entry.value.as_deref().or_else(|| self.0.get(&place(component, index)).map(String::as_str))
    }
}

fn place(component: Option<usize>, index: usize) -> String {
    component.map_or_else(|| format!("all/{index}"), |component| format!("{component}/{index}"))
}

/// Reads the settings of Kyma.
pub(super) fn read(
    input: KymaConfigInput,
    at: &str,
    settings: &Settings,
    found: &mut Violations,
) -> (KymaSpec, KymaSecrets) {
    let KymaConfigInput { version, modules, components, configuration, profile, conflict_strategy } = input;
    let mut secrets = KymaSecrets::default();
    if !is_release(&version) {
        let message =
            format!("{} must be a release such as 2.20.5, PR-<number>, main or main-<commit>", quoted(&version));
        found.add(format!("{at}.version"), "V11", message);
    }
    let modules = modules.unwrap_or_default();
    for (index, module) in modules.iter().enumerate() {
        let path = format!("{at}.modules[{index}]");
        found.word(&path, module);
        found.require(!modules[..index].contains(module), path, "modules", "stands there twice");
    }
    let configuration = entries(configuration, None, &format!("{at}.configuration"), &mut secrets, found);
    let components = match components {
        None => lite(settings),
        Some(list) => chosen(list.into_iter().flatten().collect(), at, settings, &mut secrets, found),
    };
    let conflict_strategy = conflict_strategy.unwrap_or(ConflictStrategy::Merge);
    (KymaSpec { version, profile, conflict_strategy, modules, components, configuration }, secrets)
}

/// Kyma Lite: the least that makes a runtime one of Kyma's.
fn lite(settings: &Settings) -> Vec<ComponentSpec> {
    let wanted = |name: &&String| settings.agent.enabled || *name != AGENT_COMPONENT;
    let component = |name: &String| ComponentSpec {
        component: name.clone(),
        namespace: if name == AGENT_COMPONENT { "compass-system" } else { "kyma-system" }.to_owned(),
        source_url: None,
        conflict_strategy: None,
        configuration: Vec::new(),
    };
    settings.defaults.lite_components.iter().filter(wanted).map(component).collect()
}

fn chosen(
    list: Vec<ComponentConfigurationInput>,
    at: &str,
    settings: &Settings,
    secrets: &mut KymaSecrets,
    found: &mut Violations,
) -> Vec<ComponentSpec> {
    let at = format!("{at}.components");
    let has_agent = list.iter().any(|component| component.component == AGENT_COMPONENT);
    if list.is_empty() {
        found.add(at.clone(), "V4", "is an empty list; leave it out for Kyma Lite, or name components");
    } else if settings.agent.enabled && !has_agent {
        found.add(at.clone(), "V4", format!("must contain {AGENT_COMPONENT}, which connects the runtime"));
    }
    found.require(list.len() <= COMPONENTS_MAX, at.clone(), "V4", format!("has more than {COMPONENTS_MAX} entries"));
    let component = |(index, input): (usize, ComponentConfigurationInput)| {
        let at = format!("{at}[{index}]");
        found.word(&format!("{at}.component"), &input.component);
        found.object_name(&format!("{at}.namespace"), &input.namespace);
        let source_url = set(input.source_url);
        if let Some(url) = &source_url {
            let is_plain = url.len() <= 2048 && url.bytes().all(|byte| byte.is_ascii_graphic());
            found.require(
                is_plain && url.starts_with("https://"),
                format!("{at}.sourceURL"),
                "text",
                "must be an address that begins with https://",
            );
        }
        ComponentSpec {
            component: input.component,
            namespace: input.namespace,
            source_url,
            conflict_strategy: input.conflict_strategy,
            configuration: entries(input.configuration, Some(index), &format!("{at}.configuration"), secrets, found),
        }
    };
    list.into_iter().take(COMPONENTS_MAX).enumerate().map(component).collect()
}

fn entries(
    list: Option<Vec<Option<ConfigEntryInput>>>,
    component: Option<usize>,
    at: &str,
    secrets: &mut KymaSecrets,
    found: &mut Violations,
) -> Vec<EntrySpec> {
    let mut entry = |(index, entry): (usize, ConfigEntryInput)| {
        let path = format!("{at}[{index}].key");
        found.require(!entry.key.is_empty(), path.clone(), "text", "is empty");
        found.free_text(&path, &entry.key, 253);
        // Databases and Kubernetes take every other character.
        found.require(!entry.value.contains('\0'), format!("{at}[{index}].value"), "text", "holds a NUL character");
        let value = if entry.secret.unwrap_or(false) {
            secrets.0.insert(place(component, index), entry.value);
            None
        } else {
            Some(entry.value)
        };
        EntrySpec { key: entry.key, value }
    };
    list.unwrap_or_default().into_iter().flatten().enumerate().map(&mut entry).collect()
}

/// A release, or one of the forms that developers use.
fn is_release(text: &str) -> bool {
    let is_commit = |text: &str| (4..=40).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit());
    let is_number = |text: &str| (1..=9).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    text == "main"
        || text.strip_prefix("main-").is_some_and(is_commit)
        || text.strip_prefix("PR-").is_some_and(is_number)
        || text.parse::<Version>().is_ok()
}

/// For upgrades: the same, with its violations.
pub fn upgrade(input: KymaConfigInput, settings: &Settings) -> Result<(KymaSpec, KymaSecrets), Violations> {
    let mut found = Violations::default();
    let read = read(input, "config.kymaConfig", settings, &mut found);
    if found.is_empty() { Ok(read) } else { Err(found) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_and_the_forms_of_developers_are_taken() {
        for good in ["1.8.0", "2.20.5-rc1", "main", "main-1a2b3c4d", "PR-123"] {
            assert!(is_release(good), "{good}");
        }
        for bad in ["", "latest", "PR-", "PR-x", "main-", "main-xyz!", "1.8.0; rm -rf"] {
            assert!(!is_release(bad), "{bad}");
        }
    }

    #[test]
    fn a_secret_value_stands_only_among_the_secrets() {
        let entry = |key: &str, secret| {
            Some(ConfigEntryInput { key: key.to_owned(), value: "hidden".to_owned(), secret: Some(secret) })
        };
        let input = KymaConfigInput {
            version: "2.20.5".to_owned(),
            configuration: Some(vec![entry("a", true), entry("b", false)]),
            components: Some(vec![Some(ComponentConfigurationInput {
                component: AGENT_COMPONENT.to_owned(),
                namespace: "compass-system".to_owned(),
                configuration: Some(vec![entry("c", true)]),
                ..ComponentConfigurationInput::default()
            })]),
            ..KymaConfigInput::default()
        };
        let (spec, secrets) = upgrade(input, &Settings::default()).expect("fine");
        assert_eq!(serde_json::to_string(&spec).expect("JSON").matches("hidden").count(), 1);
        let again = KymaSecrets::open(secrets.seal().as_ref()).expect("sealed");
        assert_eq!(again.value(None, 0, &spec.configuration[0]), Some("hidden"));
        assert_eq!(again.value(Some(0), 0, &spec.components[0].configuration[0]), Some("hidden"));
    }
}
