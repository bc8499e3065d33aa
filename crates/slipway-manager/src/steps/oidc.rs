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
            if skr::takes_logins(&pass.seen) {
                let wanted = oidc::wanted(&pass.seen.runtime, &pass.shared.blueprints.shared_tenant());
                if !wanted.problems.is_empty() {
                    text = format!("{text}; passed over: {}", wanted.problems.join("; "));
                }
                if let Err(error) = skr::prepare(pass).await.oidc {
                    let (reason, what) = (Reason::OidcConfigurationErr, "OIDC cannot be configured");
                    return skr::trouble(error, of, reason, Status::Unknown, what);
                }
            }
            pass.report.say(Said::new(of, Status::True, reason, text));
            Outcome::Done
        })
    }
}
