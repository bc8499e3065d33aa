//! Kyma by the Reconciler. The order is rendered the same twice, because the same content is the same
//! version there.

use slipway_clients::reconciler::{
    Client, Cluster, Component, Entry, KymaConfig, Metadata, ReconcilerStatus, RuntimeInput, Status,
};
use slipway_model::runtime_record::RuntimeRecord;

use super::{Error, Order, Standing};
use crate::input::{KymaSecrets, KymaSpec, kyma::EntrySpec, wire::KymaProfile};

/// Where modules go that are asked for by name only.
const MODULES_NAMESPACE: &str = "kyma-system";

pub(super) async fn order(client: &Client, order: &Order<'_>) -> Result<i64, Error> {
    Ok(client.apply(&render(order)).await?.configuration_version)
}

pub(super) async fn standing(client: &Client, record: &RuntimeRecord, version: Option<i64>) -> Result<Standing, Error> {
    let id = record.id.to_string();
    let told = match version {
        Some(version) => client.standing(&id, version).await,
        None => client.latest(&id).await,
    };
    match told {
        Ok(told) => Ok(meaning(&told)),
        Err(error) if error.is_not_found() => Ok(Standing::Unknown),
        Err(error) => Err(error.into()),
    }
}

pub(super) async fn remove(client: &Client, record: &RuntimeRecord) -> Result<(), Error> {
    match client.delete(&record.id.to_string()).await {
        Ok(()) => Ok(()),
        Err(error) if error.is_not_found() => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The table: what each word means for an installation.
fn meaning(told: &ReconcilerStatus) -> Standing {
    let components = || told.failures.iter().map(|failure| failure.component.clone()).collect::<Vec<_>>();
    let reasons = || {
        let texts = told.failures.iter().map(|failure| format!("{}: {}", failure.component, failure.reason));
        texts.collect::<Vec<_>>().join(", ")
    };
    let failed = |message: &str| Standing::Failed { components: components(), message: message.to_owned() };
    match told.status {
        Status::Ready => Standing::Ready,
        Status::ReconcilePending => Standing::Working("Kyma will be installed".to_owned()),
        Status::Reconciling => Standing::Working("Kyma is being installed".to_owned()),
        Status::ReconcileErrorRetryable => {
            Standing::Working(format!("Kyma is being installed, not working yet: {}", reasons()))
        }
        Status::Error => failed(&format!("Kyma cannot be installed: {}", reasons())),
        Status::ReconcileDisabled => failed("an operator has switched the installation off"),
        Status::DeletePending
        | Status::Deleting
        | Status::DeleteErrorRetryable
        | Status::Deleted
        | Status::DeleteError => failed("Kyma is being removed from this cluster"),
    }
}

fn render(order: &Order<'_>) -> Cluster {
    let Order { record, cluster, people, kyma, secrets, kubeconfig } = order;
    let told = |key: &str| cluster.info.label(key).unwrap_or_default().to_owned();
    let profile = kyma.profile.map_or("", |profile| match profile {
        KymaProfile::Evaluation => "Evaluation",
        KymaProfile::Production => "Production",
    });
    Cluster {
        runtime_id: record.id.to_string(),
        runtime_input: RuntimeInput {
            name: cluster.info.name.clone(),
            description: cluster.info.description.clone().unwrap_or_default(),
        },
        kyma_config: KymaConfig {
            version: kyma.version.clone(),
            profile: profile.to_owned(),
            administrators: people.administrators.clone(),
            components: components(kyma, secrets),
        },
        metadata: Metadata {
            global_account_id: record.tenant.to_string(),
            sub_account_id: record.sub_account.as_ref().map(ToString::to_string).unwrap_or_default(),
            service_id: String::new(),
            service_plan_id: told("broker_plan_id"),
            service_plan_name: told("broker_plan_name"),
            shoot_name: cluster.name.clone(),
            instance_id: told("broker_instance_id"),
            region: cluster.region.clone(),
        },
        kubeconfig: (*kubeconfig).clone(),
    }
}

/// The components with the overrides of all before their own, so that their own win; then the modules
/// that are no components already.
fn components(kyma: &KymaSpec, secrets: &KymaSecrets) -> Vec<Component> {
    let entry = |component: Option<usize>| {
        move |(index, entry): (usize, &EntrySpec)| Entry {
            key: entry.key.clone(),
            value: secrets.value(component, index, entry).unwrap_or_default().into(),
            secret: entry.is_secret(),
        }
    };
    let common: Vec<Entry> = kyma.configuration.iter().enumerate().map(entry(None)).collect();
    let component = |(index, component): (usize, &crate::input::kyma::ComponentSpec)| {
        let own = component.configuration.iter().enumerate().map(entry(Some(index)));
        Component {
            component: component.component.clone(),
            namespace: component.namespace.clone(),
            url: component.source_url.clone().unwrap_or_default(),
            version: String::new(),
            configuration: common.iter().cloned().chain(own).collect(),
        }
    };
    let mut all: Vec<Component> = kyma.components.iter().enumerate().map(component).collect();
    for module in &kyma.modules {
        if !all.iter().any(|component| component.component == *module) {
            all.push(Component {
                component: module.clone(),
                namespace: MODULES_NAMESPACE.to_owned(),
                url: String::new(),
                version: String::new(),
                configuration: common.clone(),
            });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_the_reconciler_has_its_meaning() {
        let told = |status| meaning(&ReconcilerStatus { configuration_version: 1, status, failures: vec![] });
        assert_eq!(told(Status::Ready), Standing::Ready);
        for status in [Status::ReconcilePending, Status::Reconciling, Status::ReconcileErrorRetryable] {
            assert!(matches!(told(status), Standing::Working(_)), "{status:?}");
        }
        for status in [
            Status::Error,
            Status::ReconcileDisabled,
            Status::DeletePending,
            Status::Deleting,
            Status::DeleteErrorRetryable,
            Status::Deleted,
            Status::DeleteError,
        ] {
            assert!(matches!(told(status), Standing::Failed { .. }), "{status:?}");
        }
    }
}
