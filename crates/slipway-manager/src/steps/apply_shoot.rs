//! Creating and changing the Shoot: one server-side apply with one field manager, of exactly the fields we own.
//!
//! The same write for both, so there is one ownership entry from the start, and what is no longer rendered
//! disappears by itself. A repeat writes the same document, which changes nothing. What Gardener refuses for
//! good is remembered, so that its sentence is told and the garden is not asked again for every event.

use serde_json::{Value, json};
use slipway_kube::{
    Shoot,
    access::{
        self, Ask, Class, Exactly, Priority,
        resource::{RUNTIMES, SHOOTS},
    },
    annotations,
    conditions::{Reason, Status, Type},
};
use slipway_model::time::secs;

use crate::{
    decide::Apply,
    outcome::{ConditionUpdate, Outcome},
    owner::Owner,
    ownership,
    pass::Pass,
    runtime::Step,
    steps::slim,
};

pub(crate) struct ApplyShoot;

impl Step for ApplyShoot {
    async fn run(&self, pass: &mut Pass) -> Outcome {
        match pass.apply.clone() {
            Apply::Nothing | Apply::Suspended => Outcome::Done,
            Apply::Echo => Outcome::wait("the first news of the Shoot", secs(15)),
            Apply::Foreign(why) => fail(Reason::GardenerErr, why),
            Apply::Terminating => {
                let text = "Shoot is being deleted by somebody else; it is made anew when it is gone";
                pass.report.set(ConditionUpdate::new(Type::Provisioned, Status::Unknown, Reason::Processing, text));
                Outcome::wait("the end of the Shoot", secs(300))
            }
            Apply::Refused(condition) => Outcome::Fail { condition },
            Apply::Create => create(pass).await,
            Apply::Patch => patch(pass, Why::Asked).await,
            Apply::Adopt => patch(pass, Why::Unmarked).await,
            Apply::Compare => patch(pass, Why::Changed).await,
        }
    }
}

fn fail(reason: Reason, message: String) -> Outcome {
    Outcome::Fail { condition: ConditionUpdate::new(Type::Provisioned, Status::False, reason, message) }
}

fn render(pass: &mut Pass, existing: Option<&Value>) -> Result<Value, Outcome> {
    let wrong = |error: crate::render::RenderError| {
        fail(Reason::ConversionErr, format!("Runtime conversion error: {}: {}", error.path, error.message))
    };
    let seen = &pass.seen;
    let rendered = pass.shared.blueprints.render(&seen.runtime, &seen.registry_caches.secrets, existing);
    let (mut document, notes) = rendered.map_err(wrong)?;
    pass.remember(|memory| memory.notes = Some(notes.clone()));
    document["metadata"]["annotations"][annotations::INPUT_HASH] = json!(pass.seen.input_hash);
    Ok(document)
}

async fn create(pass: &mut Pass) -> Outcome {
    let document = match render(pass, None) {
        Ok(document) => document,
        Err(outcome) => return outcome,
    };
    pass.report.set(ConditionUpdate::new(Type::Provisioned, Status::Unknown, Reason::Pending, "Shoot is pending"));
    match send(pass, document).await {
        Ok(_) => Outcome::Done,
        Err(error) => fail_by_class(pass, error, Reason::GardenerErr, Status::False, "Gardener API create error"),
    }
}

/// Why an existing Shoot is looked at.
#[derive(PartialEq, Clone, Copy)]
enum Why {
    /// What is asked for has changed, or somebody insists.
    Asked,
    /// It was made by the reference; most likely it is as it should be.
    Unmarked,
    /// Somebody else has changed it; most likely Gardener in its maintenance, and nothing of ours.
    Changed,
}

async fn patch(pass: &mut Pass, why: Why) -> Outcome {
    let (garden, namespace) = (pass.shared.garden.clone(), pass.shared.settings.garden_namespace.clone());
    let name = pass.seen.runtime.spec.shoot.name.clone();
    let priority = if why == Why::Changed { Priority::Background } else { Priority::Change };
    let found: Result<Option<Value>, _> = garden.find(Ask::get(&SHOOTS, &namespace, &name).priority(priority)).await;
    let existing = match found {
        Ok(Some(existing)) => existing,
        Ok(None) => {
            // The cache is behind: it is gone.
            pass.seen.shoot = None;
            return create(pass).await;
        }
        Err(error) => {
            return Outcome::from_error(error, Type::Provisioned, Reason::GardenerErr, "Gardener API read error");
        }
    };
    // The cache may be behind here too, and this is the last moment to see whose it is.
    match serde_json::from_value::<Shoot>(existing.clone()) {
        Ok(shoot) => pass.seen.shoot = Some(slim(shoot)),
        Err(error) => tracing::debug!(%error, "the Shoot has an unknown shape"),
    }
    if let Some(why) = pass.seen.foreign() {
        return fail(Reason::GardenerErr, why);
    }
    let document = match render(pass, Some(&existing)) {
        Ok(document) => document,
        Err(outcome) => return outcome,
    };
    let before = existing["metadata"]["generation"].as_i64().unwrap_or(0);
    let mut put_back = None;
    match (why, ownership::difference(&existing, &document)) {
        (Why::Unmarked, None) => return mark(pass, &name).await,
        (Why::Changed, None) => {
            pass.remember(|memory| memory.shoot.note_aligned(before));
            return Outcome::Done;
        }
        (Why::Changed, Some(path)) => {
            tracing::warn!(path, "somebody else changed the Shoot");
            put_back = Some(path);
        }
        _ => {}
    }
    if let Some(operations) = ownership::take_over(&existing, &pass.shared.settings.shoot_manager) {
        match garden.send_as::<Shoot>(Ask::operations(&SHOOTS, &namespace, &name, operations)).await {
            Ok(taken) => pass.seen.shoot = Some(slim(taken)),
            Err(error) => {
                let what = "Gardener API ownership error";
                return fail_by_class(pass, error, Reason::ProcessingErr, Status::Unknown, what);
            }
        }
    }
    let mut sent = send(pass, document.clone()).await;
    if let Err(error) = &sent
        && (!error.is_temporary() || error.is_forbidden())
        && let Some(operations) = ownership::move_binding(&existing, &document)
    {
        tracing::info!(%error, "the Shoot is moved to its CredentialsBinding first");
        sent = match garden.send_as::<Shoot>(Ask::operations(&SHOOTS, &namespace, &name, operations)).await {
            Ok(moved) => {
                pass.seen.shoot = Some(slim(moved));
                send(pass, document).await
            }
            Err(error) => Err(error),
        };
    }
    // A try that may be made again is made again soon, and does not count.
    let counts = sent.as_ref().err().is_none_or(|error| error.class == Class::Permanent);
    if put_back.is_some() && counts {
        let now = pass.shared.clock.monotonic();
        pass.remember(|memory| memory.shoot.begin_put_back(now));
    }
    match sent {
        Ok(generation) => {
            pass.remember(|memory| memory.shoot.note_put_back(put_back.as_deref()));
            let (status, text) = if generation == before {
                (Status::True, "Shoot patched without changes")
            } else {
                (Status::Unknown, "Shoot is pending for update after patch")
            };
            pass.report.set(ConditionUpdate::new(Type::Provisioned, status, Reason::Processing, text));
            remove_force(pass).await
        }
        Err(error) => {
            fail_by_class(pass, error, Reason::ProcessingErr, Status::Unknown, "Gardener API shoot patch error")
        }
    }
}

/// The Shoot is as we would render it: only the marks are written.
async fn mark(pass: &mut Pass, name: &str) -> Outcome {
    let marks = json!({annotations::INPUT_HASH: pass.seen.input_hash,
        annotations::RUNTIME_ID: pass.seen.name(), annotations::RUNTIME_UID: pass.seen.runtime.metadata.uid});
    let change = json!({"metadata": {"annotations": marks}});
    let namespace = pass.shared.settings.garden_namespace.clone();
    let ask = Ask::merge(&SHOOTS, &namespace, name, &present(pass), change).priority(Priority::Background);
    match pass.shared.garden.send_as::<Shoot>(ask).await {
        Ok(shoot) => {
            note_applied(pass, shoot);
            Outcome::Done
        }
        Err(error) => {
            fail_by_class(pass, error, Reason::ProcessingErr, Status::Unknown, "Gardener API shoot patch error")
        }
    }
}

/// Sends the document; answers the Shoot's generation.
async fn send(pass: &mut Pass, document: Value) -> Result<i64, access::Error> {
    let settings = &pass.shared.settings;
    let name = &pass.seen.runtime.spec.shoot.name;
    let mut ask = Ask::apply(&SHOOTS, &settings.garden_namespace, name, &settings.shoot_manager, document);
    if pass.seen.shoot.is_some() {
        ask = ask.only_if(&present(pass));
    }
    let shoot = pass.shared.garden.send_as::<Shoot>(ask).await?;
    Ok(note_applied(pass, shoot))
}

/// The Shoot that was looked at. One that is not marked yet must not have changed since: somebody else may have marked it.
fn present(pass: &Pass) -> Exactly {
    let metadata = pass.seen.shoot.as_ref().map(|shoot| &shoot.metadata);
    let is_marked = pass.seen.owner() == Some(Owner::Us);
    metadata.map(if is_marked { Exactly::this } else { Exactly::unchanged }).unwrap_or_default()
}

fn note_applied(pass: &mut Pass, shoot: Shoot) -> i64 {
    let generation = shoot.metadata.generation.unwrap_or(0);
    let (hash, now) = (pass.seen.input_hash.clone().unwrap_or_default(), pass.shared.clock.monotonic());
    pass.remember(|memory| {
        memory.shoot.note_applied(&hash, generation, now);
        memory.alignment.note_applied(now);
        memory.troubles.failed.end();
    });
    pass.seen.shoot = Some(slim(shoot));
    generation
}

fn fail_by_class(pass: &mut Pass, error: access::Error, reason: Reason, trying: Status, what: &str) -> Outcome {
    if !error.is_temporary() {
        let condition = ConditionUpdate::new(Type::Provisioned, Status::False, reason, format!("{what}: {error}"));
        let (hash, now) = (pass.seen.input_hash.clone().unwrap_or_default(), pass.shared.clock.monotonic());
        pass.remember(|memory| memory.shoot.note_refused(&hash, &condition, now));
        return Outcome::Fail { condition };
    }
    // While it is tried again an update is `Processing`; only the end of trying is an error of it.
    let reason = if trying == Status::Unknown { Reason::Processing } else { reason };
    Outcome::from_error_with(error, Type::Provisioned, reason, trying, what)
}

/// The wish to apply whatever the hash is met: only that key is removed.
async fn remove_force(pass: &mut Pass) -> Outcome {
    if !pass.seen.is_forced() {
        return Outcome::Done;
    }
    let change = json!({"metadata": {"annotations": {annotations::FORCE_PATCH: null}}});
    let only = Exactly::this(&pass.seen.runtime.metadata);
    let ask = Ask::merge(&RUNTIMES, &pass.shared.settings.namespace, pass.seen.name(), &only, change);
    match pass.shared.kcp.tell(ask).await {
        Ok(()) => Outcome::Done,
        Err(error) => Outcome::from_error_with(
            error,
            Type::Provisioned,
            Reason::Processing,
            Status::Unknown,
            "The force annotation cannot be removed",
        ),
    }
}
