//! Who calls, and what they may do.
//!
//! The listener checks bearer tokens itself, always: the reference left that to the network around
//! it, and whoever came past that could take over any runtime. A token is signed by an issuer we know;
//! its scopes, or those an operator gave its identity, say what it may do, and its tenants, or those an operator gave
//! its identity, for whom: what a header says is a wish until [`Caller::act_for`] has granted it. Whether a runtime is
//! that tenant's is decided in [`Caller::tenancy`].

mod issuer;
mod keys;
mod local_issuer;
mod token;

use std::{collections::BTreeSet, ops::Deref, sync::Arc};

use http::{HeaderMap, header};
use slipway_model::{
    Reason, Timestamp,
    ports::{Clock, Reassignment},
    runtime_record::{RuntimeRecord, Tenant},
};

use crate::{
    errors::{ApiError, Class},
    settings::{Settings, TenantPolicy},
};

pub use issuer::{Issuer, TENANT_CLAIM};
pub use keys::{KeySet, Keys};
pub use local_issuer::{LocalIssuer, NoKey};

/// What a caller may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// See runtimes and operations.
    Read,
    /// Change them.
    Write,
    /// See kubeconfigs and secret overrides.
    SecretsRead,
    /// Remove stored data.
    Admin,
}

impl Scope {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::SecretsRead, Self::Admin];

    /// The word in a token.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "runtime:read",
            Self::Write => "runtime:write",
            Self::SecretsRead => "runtime:secrets:read",
            Self::Admin => "runtime:admin",
        }
    }
}

/// An authenticated caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Who, for the record.
    pub identity: String,
    scopes: Vec<Scope>,
    tenants: Tenants,
    trusted: bool,
    /// When the token ends.
    pub(crate) expires: Timestamp,
}

/// What stands for every tenant, in a token and in the settings.
pub const EVERY_TENANT: &str = "*";

/// The tenants that a caller may act for. Who has none may act for none.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Tenants {
    All,
    Only(BTreeSet<String>),
}

/// A tenant that the caller was found to act for; nothing else leads to a runtime.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActingTenant(Tenant);

impl Deref for ActingTenant {
    type Target = Tenant;

    fn deref(&self) -> &Tenant {
        &self.0
    }
}

/// Whether a caller may act on a runtime under the tenant it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tenancy {
    /// It is the runtime's own.
    Same,
    /// A trusted caller says that the runtime has moved; a mutation stores it.
    Moved(Reassignment),
}

impl Caller {
    /// Whether it may.
    pub fn may(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope)
    }

    /// Refused unless it may.
    pub fn require(&self, scope: Scope) -> Result<(), ApiError> {
        if self.may(scope) {
            return Ok(());
        }
        let message = format!("{} lacks the scope {}", self.identity, scope.as_str());
        Err(ApiError::new(Class::Forbidden, Reason::Forbidden, message))
    }

    /// The tenant that a header names, if the caller may act for it.
    pub fn act_for(&self, tenant: Tenant) -> Result<ActingTenant, ApiError> {
        let may = match &self.tenants {
            Tenants::All => true,
            Tenants::Only(tenants) => tenants.contains(tenant.as_str()),
        };
        if may {
            return Ok(ActingTenant(tenant));
        }
        let message = format!(
            "{} may not act for the tenant that the header tenant names, {tenant}; name a tenant of the token, or have \
             the operator bind this one to the identity under settings.tenants",
            self.identity
        );
        Err(ApiError::new(Class::Forbidden, Reason::TenantMismatch, message))
    }

    /// Whether it may act on a runtime under this tenant. Customers move subaccounts between global
    /// accounts, so a plain refusal would lock them out; a plain rewrite would let anybody take over.
    pub fn tenancy(
        &self,
        runtime: &RuntimeRecord,
        tenant: &ActingTenant,
        policy: TenantPolicy,
    ) -> Result<Tenancy, ApiError> {
        if runtime.tenant == **tenant {
            return Ok(Tenancy::Same);
        }
        match policy {
            TenantPolicy::ReassignTrusted if self.trusted => {
                Ok(Tenancy::Moved(Reassignment { old: runtime.tenant.clone(), new: tenant.0.clone() }))
            }
            TenantPolicy::ReassignTrusted | TenantPolicy::Strict => {
                let message = "the runtime belongs to another tenant than the header tenant names";
                Err(ApiError::new(Class::Forbidden, Reason::TenantMismatch, message).about(runtime.id))
            }
        }
    }
}

/// Checks tokens.
#[derive(Clone)]
pub struct Gate {
    issuers: Arc<[Issuer]>,
    clock: Arc<dyn Clock>,
}

impl Gate {
    /// Takes tokens of these issuers.
    pub fn new(issuers: Vec<Issuer>, clock: Arc<dyn Clock>) -> Self {
        Self { issuers: issuers.into(), clock }
    }

    /// Who sends these headers.
    pub async fn caller(&self, headers: &HeaderMap, settings: &Settings) -> Result<Caller, ApiError> {
        let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        self.caller_with(given, settings).await
    }

    /// Who gives this value of the header `Authorization`.
    pub async fn caller_with(&self, authorization: Option<&str>, settings: &Settings) -> Result<Caller, ApiError> {
        let bearer = authorization.and_then(|value| value.split_once(' '));
        let bearer = bearer.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, token)| token.trim());
        let token =
            bearer.ok_or_else(|| unauthenticated("a token is needed; send it as Authorization: Bearer <token>"))?;
        let Identified { identity, scopes, tenants, expires } = self.identify(token).await.map_err(|problem| {
            tracing::info!(%problem, "a token was refused");
            unauthenticated("the token is not accepted; it may be expired, or for somebody else")
        })?;
        let granted = settings.scopes.get(&identity).into_iter().flatten();
        let spelled: Vec<&str> = scopes.iter().chain(granted).map(String::as_str).collect();
        let scopes = Scope::ALL.into_iter().filter(|scope| spelled.contains(&scope.as_str())).collect();
        let trusted = settings.trusted_callers.contains(&identity);
        let bound = settings.tenants.get(&identity).into_iter().flatten().cloned();
        let tenants: BTreeSet<String> = tenants.into_iter().chain(bound).collect();
        let tenants = match trusted || tenants.contains(EVERY_TENANT) {
            true => Tenants::All,
            false => Tenants::Only(tenants),
        };
        Ok(Caller { identity, scopes, tenants, trusted, expires })
    }

    async fn identify(&self, text: &str) -> Result<Identified, token::Problem> {
        let token = token::Token::parse(text)?;
        let issuer = self.issuers.iter().find(|issuer| issuer.name == token.claims.iss);
        let issuer = issuer.ok_or(token::Problem::Issuer)?;
        let is_signed = issuer.keys.verify(&token).await;
        let expires = token::check(&token, is_signed, &issuer.audience, self.clock.wall())?;
        Ok(Identified {
            identity: issuer.identity(&token.claims.sub),
            scopes: token.claims.scopes(),
            tenants: token.claims.texts(&issuer.tenant_claim),
            expires,
        })
    }
}

/// What a good token says.
struct Identified {
    identity: String,
    scopes: Vec<String>,
    tenants: Vec<String>,
    expires: Timestamp,
}

fn unauthenticated(message: &str) -> ApiError {
    ApiError::new(Class::Forbidden, Reason::Unauthenticated, message)
}

#[cfg(test)]
mod tests;
