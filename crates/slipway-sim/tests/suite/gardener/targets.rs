//! The two gardens that the cases run on.

use kube_sandbox::contract::{self, Embedded, Logins, Target};
use serde_json::Value;
use slipway_sim::{
    garden::{Driver, Garden, Options, landscape},
    real,
};

/// The project that the landscape brings along.
const HOME: &str = "garden-dev";

/// A real garden, and the engine of the simulator that plays its gardenlets.
struct Real {
    garden: real::Garden,
    _driver: Driver,
}

/// Our own garden in a cluster of the embedded API.
struct Simulated {
    cluster: Embedded,
    _garden: Garden,
}

/// A real gardener-apiserver with the landscape of the simulator, if the machine has one.
pub(super) async fn gardener_apiserver() -> Option<Target> {
    let garden = match (real::Garden::start(&landscape::objects()).await, real::Mode::from_env()) {
        (Ok(garden), _) => garden,
        (Err(error @ real::Error::Off), _) | (Err(error @ real::Error::NotBuilt), real::Mode::Auto) => {
            contract::say(&format!("SKIPPED: {error}; no case ran on a real server"));
            return None;
        }
        (Err(error), _) => panic!("{error}: {:?}", std::error::Error::source(&error)),
    };
    let options = Options { landscape: false, ..Options::default() };
    let driver = Driver::start(garden.kubeconfig(), options).await.expect("a driver");
    Some(Target {
        name: format!("gardener-apiserver {}", garden.version().trim_start_matches('v')),
        kubectl: garden.front().binaries().path("kubectl"),
        home: Some(HOME.to_owned()),
        logins: Box::new(Real { garden, _driver: driver }),
    })
}

/// Our own garden, with the landscape that the real one gets too.
pub(super) async fn simulator() -> Target {
    let cluster = Embedded::start("garden").await;
    let garden = Garden::on(cluster.server().clone(), Options::default()).await.expect("a garden");
    Target {
        name: "simulator".to_owned(),
        kubectl: contract::kubectl(),
        home: Some(HOME.to_owned()),
        logins: Box::new(Simulated { cluster, _garden: garden }),
    }
}

/// Both let users in as the server they stand on does.
macro_rules! log_in_at {
    ($garden:ty, |$self:ident| $server:expr) => {
        impl Logins for $garden {
            fn admin(&$self) -> String {
                $server.admin()
            }

            fn user(&$self, name: &str, groups: &[&str]) -> String {
                $server.user(name, groups)
            }

            fn stranger(&$self) -> String {
                $server.stranger()
            }

            fn token(&$self, token: &str) -> String {
                $server.token(token)
            }

            fn sign_token(&$self, claims: &Value) -> String {
                Logins::sign_token($server, claims)
            }
        }
    };
}

log_in_at!(Real, |self| self.garden.front());
log_in_at!(Simulated, |self| &self.cluster);
