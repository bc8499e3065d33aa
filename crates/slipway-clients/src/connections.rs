//! The outside systems as the configuration sets them up.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use secrecy::SecretString;
use slipway_model::ports::{Clock, Transport};

use crate::{SYSTEMS, base_url::BaseUrl, call::Connection, oauth::ClientCredentials, system::OutsideSystem};

/// What the configuration says of one system. Secrets do not show themselves.
#[derive(Debug, Clone)]
pub struct ConnectionSettings {
    /// Where it is.
    pub url: BaseUrl,
    /// Who we are there.
    pub credentials: Credentials,
    /// The longest a call may take.
    pub timeout: Duration,
    /// How many calls may be under way at once.
    pub in_flight: usize,
}

/// Who we are at a system; which of them, its row says.
#[derive(Debug, Clone)]
pub enum Credentials {
    /// It does not ask.
    None,
    /// By user and password.
    Basic {
        /// Our name.
        user: String,
        /// Our secret.
        password: SecretString,
    },
    /// By a token that does not end.
    Token(SecretString),
    /// By tokens of an OAuth2 endpoint.
    Client(ClientCredentials),
}

impl ConnectionSettings {
    /// With the limits of the table.
    pub fn new(system: &OutsideSystem, url: BaseUrl, credentials: Credentials) -> Self {
        Self { url, credentials, timeout: system.timeout, in_flight: system.in_flight }
    }

    /// The same for the system of a client, with its name.
    pub fn of<C: SystemClient>(url: BaseUrl, credentials: Credentials) -> (&'static str, Self) {
        let row = SYSTEMS.iter().find(|system| system.name == C::NAME);
        (C::NAME, Self::new(row.expect("every client has its row in the table"), url, credentials))
    }
}

/// What the configuration says, by the names of the systems. A system that is not there is not set up.
pub type SettingsBySystem = BTreeMap<&'static str, ConnectionSettings>;

/// A client of one system.
pub trait SystemClient {
    /// The name of its row in the table.
    const NAME: &'static str;

    /// The client over a connection.
    fn over(connection: Connection) -> Self;
}

/// A connection to every system of a table.
pub struct Connections(BTreeMap<&'static str, Connection>);

impl Connections {
    /// Connects the systems of this table; nothing is sent yet.
    pub fn new(
        table: &'static [OutsideSystem],
        settings: &SettingsBySystem,
        transport: &Arc<dyn Transport>,
        clock: &Arc<dyn Clock>,
    ) -> Self {
        let connect = |system: &'static OutsideSystem| {
            (system.name, Connection::new(system, settings.get(system.name), transport.clone(), clock))
        };
        Self(table.iter().map(connect).collect())
    }

    /// The client of a system. Where the configuration does not name it, its calls say so.
    pub fn client<C: SystemClient>(&self) -> C {
        C::over(self.0.get(C::NAME).expect("every client has its row in the table").clone())
    }

    /// The client of a system that the configuration names.
    pub fn find<C: SystemClient>(&self) -> Option<C> {
        self.0.get(C::NAME).filter(|connection| connection.is_set_up()).map(|connection| C::over(connection.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        call::Class,
        hello,
        testing::{Always, StillClock},
    };

    #[tokio::test]
    async fn a_system_that_is_not_set_up_says_so_and_nothing_is_sent() {
        let (wire, clock): (Arc<dyn Transport>, Arc<dyn Clock>) = (Arc::new(Always::silent()), Arc::new(StillClock));
        let none = Connections::new(SYSTEMS, &SettingsBySystem::new(), &wire, &clock);
        assert!(none.find::<hello::Client>().is_none());
        let error = none.client::<hello::Client>().greeting("ann").await.expect_err("not set up");
        assert_eq!(error.class(), &Class::NotSetUp);
        assert!(!error.is_temporary());
        assert_eq!(error.to_string(), "hello is not set up; the configuration has no address of it");
    }
}
