//! The failure matrix of every process of the provisioner, with both installers.

use std::sync::Arc;

use futures::FutureExt as _;
use slipway_engine::{
    Process, Registry, Row,
    matrix::{GivesUp, World, matrix},
};
use slipway_model::{
    NewOperation, Operation, OperationId, OperationState,
    ports::{Clock, Runtimes as _, Storage, Transport},
    runtime_record::KymaUpgradeState,
};
use slipway_provisioner::{Data, OperationKind, Provisioner, Systems, registry};

use crate::landscape::{By, CONTROL_PLANE, Ground, Landscape, NAMESPACE};

/// Steps that are skipped when what they need is away for good. All others fail the operation.
const SKIPPED: &[&str] = &["Cleanup_Cluster", "Trigger_Kyma_Uninstall"];

impl World for Landscape {
    type Domain = Provisioner;

    fn store(&self) -> Arc<dyn Storage> {
        self.shared.store.clone()
    }

    fn registry(&self) -> Registry<Provisioner> {
        registry().expect("all tables are right")
    }

    fn wire(&self) -> Arc<dyn Transport> {
        Landscape::wire(self)
    }

    fn systems(&self, wire: Arc<dyn Transport>) -> Systems {
        Landscape::systems(self, wire)
    }

    fn operation(&self, process: &Process<Provisioner>, id: OperationId) -> NewOperation {
        let new = NewOperation { process: process.key.clone(), ..Landscape::operation(self, id, process.budget) };
        self.accept(&new);
        new
    }

    fn gives_up(&self, row: &Row<Provisioner>) -> GivesUp {
        if SKIPPED.contains(&row.step.name()) { GivesUp::BySkipping } else { GivesUp::ByFailing }
    }

    /// Errors that healed stay on record, and only those differ.
    fn comparable(&self, operation: &Operation) -> String {
        let mut data: Data = operation.fields.data.to().expect("data");
        data.errors.clear();
        // A version that the installer draws may be another one after a repeat.
        data.installation = data.installation.map(|_| 0);
        format!("{data:?}")
    }

    fn check(&self, operation: &Operation) -> Result<(), String> {
        let shared = &self.shared;
        let (director, reconciler) = (&shared.sim.director, &shared.sim.reconciler);
        if let Some(complaint) = director.complaints().first().or(reconciler.complaints().first()) {
            return Err(format!("a simulator complains: {complaint}"));
        }
        let id = shared.id.to_string();
        let registered = director.runtimes();
        let cluster = shared.ground.server.cluster(CONTROL_PLANE).expect("a cluster");
        let runtime = cluster.get("infrastructuremanager.kyma-project.io", "runtimes", NAMESPACE, &id);
        let succeeded = operation.state == OperationState::Succeeded;
        let record = shared.store.runtime(shared.id).now_or_never().expect("at once").expect("stored").expect("known");
        let data: Data = operation.fields.data.to().expect("data");
        let wrong = |what: &str| Err(what.to_owned());
        match shared.kind {
            OperationKind::Deprovision | OperationKind::DeprovisionNoInstall if succeeded => {
                if !registered.is_empty() || runtime.is_some() || record.is_live() {
                    return wrong("something is left of the runtime");
                }
                if director.connections().iter().any(|connection| connection.runtime_id == id) {
                    return wrong("a connection is left");
                }
            }
            _ if registered.len() != 1 || registered[0].id != id => {
                return wrong("the registration is not the one that was");
            }
            OperationKind::Deprovision | OperationKind::DeprovisionNoInstall => {}
            _ if succeeded && (runtime.is_none() || !record.is_live()) => return wrong("the runtime is gone"),
            OperationKind::Provision if succeeded => {
                if registered[0].condition != "CONNECTED" || director.connections().len() != 1 {
                    return wrong("the agent is not connected");
                }
                if data.seed.as_deref() != Some("seed-1")
                    || registered[0].labels["gardenerClusterDomain"] != "c-1.example.com"
                {
                    return wrong("seed or domain are missing");
                }
            }
            OperationKind::ReconnectRuntime if succeeded && director.connections().len() != 1 => {
                return wrong("the agent is not connected once");
            }
            OperationKind::Upgrade => {
                let upgrade = shared.store.kyma_upgrade(operation.id).now_or_never().expect("at once").expect("stored");
                let wanted = if succeeded { KymaUpgradeState::Succeeded } else { KymaUpgradeState::Failed };
                if upgrade.map(|upgrade| upgrade.state) != Some(wanted) {
                    return wrong("the record of the upgrade is not closed as it should be");
                }
            }
            _ => {}
        }
        if !succeeded && registered.first().is_some_and(|runtime| runtime.condition != "FAILED") {
            // The Director cannot be told when it is the Director that is away.
            let skipped = operation.fields.skipped_steps.iter().any(|step| step == "Report_Failure");
            if !skipped {
                return wrong("the Director was not told of the failure");
            }
        }
        if data.errors.len() > 20 {
            return wrong("too many errors are kept");
        }
        Ok(())
    }
}

async fn survives(kind: OperationKind, by: By) {
    let ground = Ground::new().await;
    let make = |clock: Arc<dyn Clock>| ground.landscape(clock, kind, by).in_a_hurry();
    // Every version: operations that began on an old one must survive as well.
    for key in registry().expect("all tables are right").keys().iter().filter(|key| key.name == kind.process_name()) {
        let report = matrix(make, key).await;
        println!("{report}");
        report.assert_sound();
    }
}

macro_rules! matrices {
    ($($name:ident: $kind:ident by $by:ident,)+) => {
        $(#[tokio::test(start_paused = true)]
        async fn $name() {
            survives(OperationKind::$kind, By::$by).await;
        })+
    };
}

matrices! {
    a_provisioning_survives_every_fault: Provision by Reconciler,
    a_provisioning_by_the_lifecycle_manager_survives_every_fault: Provision by LifecycleManager,
    a_provisioning_without_kyma_survives_every_fault: ProvisionNoInstall by Reconciler,
    an_upgrade_survives_every_fault: Upgrade by Reconciler,
    an_upgrade_by_the_lifecycle_manager_survives_every_fault: Upgrade by LifecycleManager,
    a_change_of_the_cluster_survives_every_fault: UpgradeShoot by Reconciler,
    a_deprovisioning_survives_every_fault: Deprovision by Reconciler,
    a_deprovisioning_by_the_lifecycle_manager_survives_every_fault: Deprovision by LifecycleManager,
    a_deprovisioning_without_kyma_survives_every_fault: DeprovisionNoInstall by Reconciler,
    a_reconnection_survives_every_fault: ReconnectRuntime by Reconciler,
    a_hibernation_survives_every_fault: Hibernate by Reconciler,
    a_wake_up_survives_every_fault: WakeUp by Reconciler,
}
