//! Logins of the customer: one object each in the customer's cluster, where its authenticator reads them.

use slipway_kube::conditions::{Reason, Status, Type};
use slipway_model::ports::BoxFuture;

use crate::{
    observe::Observation,
    outcome::{Outcome, Said},
    pass::Pass,
    runtime::Step,
    skr::{self, oidc},
};

/// Brings them up to date.
pub struct OidcStep;

impl Step for OidcStep {
    fn applies(&self, seen: &Observation) -> bool {
        skr::is_due(seen)
    }

    fn run<'a>(&'a self, pass: &'a mut Pass) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let (of, reason) = (Type::OidcAndConfigMapConfigured, Reason::OidcAndConfigMapsConfigured);
            let mut text = "OIDC and provisioning info are configured".to_owned();
            let has_service = pass.seen.shoot.as_ref().is_some_and(|shoot| shoot.has_extension("shoot-oidc-service"));
            if has_service {
                let wanted = oidc::wanted(&pass.seen.runtime, &pass.shared.blueprints.shared_tenant());
                if !wanted.problems.is_empty() {
                    text = format!("{text}; passed over: {}", wanted.problems.join("; "));
                }
                let done = skr::within(pass, async |skr, _| oidc::align(&skr, &wanted.objects).await).await;
                if let Err(error) = done {
                    let (reason, what) = (Reason::OidcConfigurationErr, "OIDC cannot be configured");
                    return skr::trouble(error, of, reason, Status::Unknown, what);
                }
            }
            pass.report.say(Said::new(of, Status::True, reason, text));
            Outcome::Done
        })
    }
}
