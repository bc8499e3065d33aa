//! Service accounts and their tokens.

use serde_json::{Value, json};

use crate::{
    auth::tokens::ISSUER,
    clock,
    kind::{Ctx, Strategy, Subresource},
    metadata,
    status::{Cause, Status},
};

// Ends of tokens, in seconds: unless asked for, at least, at most.
const DEFAULT: i64 = 3600;
const LEAST: i64 = 600;
const MOST: i64 = 1 << 32;

pub(super) const TOKEN: Subresource =
    Subresource::Call { name: "token", group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" };

#[derive(Debug)]
pub(super) struct ServiceAccounts;

impl Strategy for ServiceAccounts {
    fn call(&self, _: &str, object: &Value, mut body: Value, ctx: &Ctx<'_>) -> Result<Value, Status> {
        let asked = body["spec"]["expirationSeconds"].as_i64().unwrap_or(DEFAULT);
        let wrong = match asked {
            ..LEAST => "may not specify a duration less than 10 minutes",
            LEAST..=MOST => "",
            _ => "may not specify a duration larger than 2^32 seconds",
        };
        if !wrong.is_empty() {
            let cause = Cause::invalid("spec.expirationSeconds", &json!(asked), wrong);
            return Err(Status::invalid("authentication.k8s.io", "TokenRequest", "", vec![cause]));
        }
        let (namespace, name) = (metadata::text(object, "namespace"), metadata::text(object, "name"));
        let audiences = match &body["spec"]["audiences"] {
            Value::Array(some) if !some.is_empty() => json!(some),
            _ => json!([ISSUER]),
        };
        let now = clock::now().as_second();
        let end = now + asked;
        let token = ctx.view.sign(&json!({
            "iss": ISSUER, "aud": audiences, "iat": now, "nbf": now, "exp": end, "jti": clock::uid(),
            "sub": format!("system:serviceaccount:{namespace}:{name}"),
            "kubernetes.io": {
                "namespace": namespace,
                "serviceaccount": { "name": name, "uid": metadata::text(object, "uid") },
            },
        }));
        let ends = jiff::Timestamp::from_second(end).unwrap_or(ctx.now);
        body["metadata"] =
            json!({ "name": name, "namespace": namespace, "creationTimestamp": clock::seconds(ctx.now) });
        body["spec"]["audiences"] = audiences;
        body["spec"]["expirationSeconds"] = json!(asked);
        body["status"] = json!({ "token": token, "expirationTimestamp": clock::seconds(ends) });
        Ok(body)
    }
}
