//! How long each stage may take, counted from when it is entered. The defaults are those of the
//! reference; installations that are slow raise them.

use std::time::Duration;

use serde::Deserialize;
use slipway_model::time::mins;

macro_rules! deadlines {
    ($($(#[$doc:meta])* $name:ident: $default:expr,)+) => {
        /// Deadlines of the stages, in seconds where they are set.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct Deadlines {
            $($(#[$doc])* #[serde(deserialize_with = "seconds")] pub $name: Duration,)+
        }

        impl Default for Deadlines {
            fn default() -> Self {
                Self { $($name: $default,)+ }
            }
        }
    };
}

deadlines! {
    /// Writing the Runtime resource.
    runtime_resource: mins(10),
    /// Until the cluster has a domain.
    cluster_domain: mins(10),
    /// Until the cluster is there.
    cluster_creation: mins(60),
    /// Until operators and administrators have their rights.
    bindings: mins(5),
    /// Starting an installation or an upgrade of Kyma.
    installation_trigger: mins(20),
    /// Until Kyma is installed.
    installation: mins(60),
    /// Writing down that an upgrade has ended.
    upgrade_record: mins(5),
    /// Until a changed Runtime resource is seen by the manager.
    shoot_refresh: mins(5),
    /// Until a changed cluster is ready.
    shoot_upgrade: mins(30),
    /// Configuring the agent.
    agent_configuration: mins(15),
    /// Until the agent is connected.
    agent_connection: mins(15),
    /// Cleaning up in the cluster before it goes.
    cluster_cleanup: mins(20),
    /// Having Kyma uninstalled.
    uninstall_trigger: mins(5),
    /// Deleting the Runtime resource.
    cluster_deletion_trigger: mins(30),
    /// Until the cluster is gone.
    cluster_deletion: mins(60),
    /// Until the cluster sleeps, or is awake.
    hibernation: mins(60),
}

fn seconds<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    u64::deserialize(deserializer).map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_set_in_seconds_and_the_others_stay() {
        let set: Deadlines = serde_saphyr::from_str("cluster_creation: 7200").expect("deadlines");
        assert_eq!((set.cluster_creation, set.bindings), (mins(120), mins(5)));
        assert!(serde_saphyr::from_str::<Deadlines>("cluster_cretion: 1").is_err());
    }
}
