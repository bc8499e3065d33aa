//! Registrations in the Director that are made before a runtime is stored.
//!
//! An intent is written down before the Director is asked, and marked with the same transaction that
//! stores the runtime. Whatever dies in between leaves an open intent, and [`sweep`] takes its
//! registration back: no orphan stays in the Director. Each registration carries the intent's key as a
//! label, so that it is found although its answer was lost.

use std::time::Duration;

use serde_json::Value;
use slipway_clients::{call::Class as CallClass, chain, director};
use slipway_model::{
    Component, Reason, Timestamp,
    ports::{Clock, Runtimes},
    runtime_record::{DirectorIntent, IntentState, RuntimeId, Tenant},
    time::secs,
};

use crate::{
    errors::{ApiError, Class},
    input::RuntimeInfo,
};

/// The label that names the intent; the Director takes letters, digits and underscores.
pub const INTENT_LABEL: &str = "slipway_intent";

/// As often and as far apart as the reference; no pause after the last.
const TRIES: u32 = 3;
const PAUSE: Duration = secs(5);

/// A mutation must be answered within 30 s: three tries and two pauses of 5 s leave 5 s for the rest.
const CALL_MAX: Duration = secs(5);

/// The Director and what goes with it.
#[derive(Clone, Copy)]
pub struct Registrar<'a> {
    /// The client.
    pub director: &'a director::Client,
    /// Where intents are kept.
    pub runtimes: &'a dyn Runtimes,
    /// Time.
    pub clock: &'a dyn Clock,
}

impl Registrar<'_> {
    /// Registers a runtime under an intent; answers the Director's id.
    pub async fn register(
        &self,
        key: &str,
        tenant: &Tenant,
        info: &RuntimeInfo,
        now: Timestamp,
    ) -> Result<String, ApiError> {
        self.runtimes.plan_intent(key, tenant, &info.name, now).await?;
        let mut labels = info.labels.clone();
        labels.insert(INTENT_LABEL.to_owned(), Value::from(key));
        let input = director::RuntimeInput {
            name: info.name.clone(),
            description: info.description.clone(),
            labels,
            status_condition: None,
        };
        let id = match self.ask(key, tenant, &input).await {
            Ok(id) => id,
            Err(error) => {
                // Perhaps it was registered after all; the sweeper looks for it.
                self.runtimes.abandon_intent(key).await?;
                return Err(api_error(&error));
            }
        };
        let intent = self.runtimes.registered(key, &id).await?;
        match intent.state {
            IntentState::Registered => Ok(id),
            _ => {
                self.take_back(key).await;
                let message = "the registration took too long and was taken back; try again";
                Err(ApiError::new(Class::Overloaded, Reason::ProvisionerInternal, message))
            }
        }
    }

    async fn ask(&self, key: &str, tenant: &Tenant, input: &director::RuntimeInput) -> Result<String, director::Error> {
        let mut tries = 1;
        let mut unknown = false;
        loop {
            // After a lost answer it may be there already, and a second one would be an orphan.
            let found = if unknown { self.find(tenant, key).await } else { Ok(None) };
            let answer = match found {
                Ok(Some(id)) => return Ok(id),
                Ok(None) => self.in_time(self.director.register(tenant.as_str(), input)).await,
                Err(error) => Err(error),
            };
            match answer {
                Err(error) if error.is_temporary() && tries < TRIES => {
                    unknown |= error.is_effect_unknown();
                    tracing::warn!(error = %chain(&error), tries, "a registration did not succeed; trying again");
                    tries += 1;
                    self.clock.sleep(PAUSE).await;
                }
                answer => return answer,
            }
        }
    }

    /// Refused unless the tenant has a registration of this id: everything later is done in its name.
    pub async fn check_registered(&self, tenant: &Tenant, id: RuntimeId) -> Result<(), ApiError> {
        let found = self.in_time(self.director.runtime(tenant.as_str(), &id.to_string())).await;
        found.map(drop).map_err(|error| match error {
            director::Error::NotFound => {
                let message = format!("the Director has no runtime {id} of this tenant; register it first");
                ApiError::field("id", "V14", message).about(id)
            }
            other => api_error(&other).about(id),
        })
    }

    async fn find(&self, tenant: &Tenant, key: &str) -> Result<Option<String>, director::Error> {
        let found = self.in_time(self.director.find(tenant.as_str(), INTENT_LABEL, key)).await?;
        Ok(found.into_iter().next())
    }

    async fn in_time<T>(&self, call: impl Future<Output = Result<T, director::Error>>) -> Result<T, director::Error> {
        tokio::select! {
            biased;
            answer = call => answer,
            // The effect is unknown then, as after any lost answer.
            () = self.clock.sleep(CALL_MAX) => Err(self.director.late()),
        }
    }

    /// Takes a registration back, unless its runtime is stored. One try: the sweeper makes the others.
    pub async fn take_back(&self, key: &str) {
        match self.runtimes.abandon_intent(key).await {
            Ok(Some(intent)) => self.unregister(&intent).await,
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, key, "an intent cannot be given up; the sweeper will"),
        }
    }

    async fn unregister(&self, intent: &DirectorIntent) {
        let id = match &intent.director_id {
            Some(id) => Ok(Some(id.clone())),
            None => self.find(&intent.tenant, &intent.key).await,
        };
        let gone = match id {
            Ok(Some(id)) => self.in_time(self.director.unregister(intent.tenant.as_str(), &id)).await,
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        match gone {
            // A tenant that is gone as a whole took its runtimes with it.
            Ok(()) | Err(director::Error::NotFound | director::Error::Tenant(_)) => {
                if let Err(error) = self.runtimes.unregistered(&intent.key).await {
                    tracing::warn!(%error, key = intent.key, "an intent cannot be closed; the sweeper will");
                }
            }
            Err(error) => {
                tracing::warn!(error = %chain(&error), key = intent.key, "a registration cannot be taken back yet");
            }
        }
    }

    /// One round of the sweeper: takes back what was planned before `before` and never committed.
    /// Answers how many it looked at.
    pub async fn sweep(&self, before: Timestamp, limit: usize) -> usize {
        let open = match self.runtimes.open_intents(before, limit).await {
            Ok(open) => open,
            Err(error) => {
                tracing::warn!(%error, "open intents cannot be listed");
                return 0;
            }
        };
        for intent in &open {
            self.take_back(&intent.key).await;
        }
        open.len()
    }
}

/// The table: what an error of the Director is for our client.
pub fn api_error(error: &director::Error) -> ApiError {
    use director::Error;
    let (class, blamed) = match error {
        Error::NotFound | Error::NotUnique(_) | Error::Refused(_) | Error::Tenant(_) => {
            (Class::BadRequest, Component::CompassDirector)
        }
        Error::Denied(_) => (Class::BadGateway, Component::CompassDirector),
        Error::Troubled(_) => (Class::Internal, Component::CompassDirector),
        Error::OtherRuntime => (Class::Internal, Component::CompassDirectorClient),
        Error::Call(call) => match call.class() {
            CallClass::NotFound | CallClass::Conflict(_) | CallClass::Refused(_) | CallClass::TooLong { .. } => {
                (Class::BadRequest, Component::CompassDirector)
            }
            CallClass::Denied(_) => (Class::BadGateway, Component::CompassDirector),
            CallClass::NoToken(error) if !error.is_temporary() => (Class::BadGateway, Component::TokenIssuer),
            CallClass::NoToken(_) => (Class::External, Component::TokenIssuer),
            CallClass::Busy(_) => (Class::External, Component::CompassDirector),
            CallClass::Garbled(_) | CallClass::Unreachable(_) => (Class::External, Component::CompassDirectorClient),
            CallClass::NotSetUp => (Class::Internal, Component::CompassDirectorClient),
        },
    };
    let cause = if matches!(error, Error::Tenant(_)) { ", cause: tenant" } else { "" };
    ApiError::new(class, error.reason(), format!("the runtime cannot be registered, {error}{cause}")).blaming(blamed)
}

#[cfg(test)]
mod tests {
    use slipway_clients::{SYSTEMS, SystemClient as _, call};
    use slipway_model::ports::TransportError;

    use super::*;

    #[test]
    fn every_error_of_the_director_has_its_class() {
        use director::Error;
        let word = || "Word".to_owned();
        let row = SYSTEMS.iter().find(|system| system.name == director::Client::NAME).expect("a row");
        let call = |class| Error::Call(call::Error::new(row, class));
        let silence = TransportError::NoAnswer { system: "director", problem: "x".to_owned() };
        for (error, code, blamed) in [
            (Error::NotFound, 400, Component::CompassDirector),
            (Error::NotUnique(word()), 400, Component::CompassDirector),
            (Error::Refused(word()), 400, Component::CompassDirector),
            (Error::Tenant(word()), 400, Component::CompassDirector),
            (Error::Denied(word()), 502, Component::CompassDirector),
            (Error::Troubled(word()), 500, Component::CompassDirector),
            (Error::OtherRuntime, 500, Component::CompassDirectorClient),
            (call(CallClass::Garbled("x")), 501, Component::CompassDirectorClient),
            (call(CallClass::Unreachable(silence)), 501, Component::CompassDirectorClient),
        ] {
            let said = api_error(&error);
            assert_eq!((said.class.code(), said.component), (code, blamed), "{error}");
            assert_eq!(said.reason, error.reason());
        }
        assert!(api_error(&Error::Tenant(word())).message.contains("tenant"));
    }
}
