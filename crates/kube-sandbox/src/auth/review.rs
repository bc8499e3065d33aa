//! Questions about rights: `kubectl auth can-i`, `auth whoami`, and what other servers ask.
//!
//! Each is a kind that is never stored: a POST is answered with the same object and a filled status.

use serde_json::{Value, json};

use super::{rbac::Rule, tokens};
use crate::{
    kind::{Access, Ctx, Kind, Strategy, User},
    status::{Cause, Status},
};

const AUTHORIZATION: &str = "authorization.k8s.io";
const AUTHENTICATION: &str = "authentication.k8s.io";

/// The kinds.
pub fn kinds() -> Vec<Kind> {
    let question = |group: &str, kind: &str, ask: Ask| {
        let plural = format!("{}s", kind.to_lowercase());
        Kind::new(group, "v1", kind, &plural).strategy(ask).question()
    };
    vec![
        question(AUTHORIZATION, "SelfSubjectAccessReview", Ask::SelfAccess),
        question(AUTHORIZATION, "SelfSubjectRulesReview", Ask::SelfRules),
        question(AUTHORIZATION, "SubjectAccessReview", Ask::Access),
        question(AUTHORIZATION, "LocalSubjectAccessReview", Ask::Access).namespaced(),
        question(AUTHENTICATION, "SelfSubjectReview", Ask::SelfUser),
        question(AUTHENTICATION, "TokenReview", Ask::Token),
    ]
}

#[derive(Debug, Clone, Copy)]
enum Ask {
    SelfAccess,
    SelfRules,
    Access,
    SelfUser,
    Token,
}

impl Strategy for Ask {
    fn call(&self, _: &str, _: &Value, mut body: Value, ctx: &Ctx<'_>) -> Result<Value, Status> {
        let spec = body["spec"].clone();
        body["status"] = match self {
            Self::SelfAccess => access(&spec, ctx.user, ctx)?,
            Self::Access => {
                let groups: Vec<&str> = texts(&spec["groups"]);
                let name = spec["user"].as_str().unwrap_or_default();
                if name.is_empty() && groups.is_empty() {
                    let rule = "at least one of user or group must be specified";
                    let cause = Cause::invalid("spec.user", &json!(""), rule);
                    return Err(ctx.kind.invalid("", vec![cause]));
                }
                let groups = groups.into_iter().map(ToOwned::to_owned).collect();
                access(&spec, &User { name: name.to_owned(), groups, ..User::default() }, ctx)?
            }
            Self::SelfRules => rules(&spec, ctx)?,
            Self::SelfUser => json!({ "userInfo": user_info(ctx.user) }),
            Self::Token => token(&spec, ctx),
        };
        Ok(body)
    }
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn access(spec: &Value, user: &User, ctx: &Ctx<'_>) -> Result<Value, Status> {
    let (resource, path) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    let text = |of: &'_ Value, key: &str| of[key].as_str().unwrap_or_default().to_owned();
    if resource.is_object() == path.is_object() {
        let (field, rule) = if resource.is_object() {
            ("spec.nonResourceAttributes", "cannot be specified in combination with resourceAttributes")
        } else {
            ("spec.resourceAttributes", "exactly one of nonResourceAttributes or resourceAttributes must be specified")
        };
        return Err(ctx.kind.invalid("", vec![Cause::invalid(field, &Value::Null, rule)]));
    }
    let owned: Vec<String> = ["verb", "group", "resource", "subresource", "namespace", "name"]
        .iter()
        .map(|key| text(resource, key))
        .collect();
    let (verb, url) = (text(path, "verb"), text(path, "path"));
    let asked = if path.is_object() {
        Access { verb: &verb, path: &url, ..Access::default() }
    } else {
        let [verb, group, resource, subresource, namespace, name] = &owned[..] else { return Ok(json!({})) };
        Access { verb, group, resource, subresource, namespace, name, path: "" }
    };
    Ok(match ctx.view.allowed(user, &asked) {
        None => json!({ "allowed": false }),
        Some(reason) if reason.is_empty() => json!({ "allowed": true }),
        Some(reason) => json!({ "allowed": true, "reason": reason }),
    })
}

fn rules(spec: &Value, ctx: &Ctx<'_>) -> Result<Value, Status> {
    let Some(namespace) = spec["namespace"].as_str().filter(|namespace| !namespace.is_empty()) else {
        return Err(Status::bad_request("no namespace on request"));
    };
    let all = Rule {
        verbs: vec!["*".into()],
        groups: vec!["*".into()],
        resources: vec!["*".into()],
        names: vec![],
        paths: vec!["*".into()],
    };
    let rules = if ctx.user.is_in("system:masters") { vec![all] } else { ctx.view.rules(ctx.user, namespace) };
    let resources: Vec<Value> = rules
        .iter()
        .filter(|rule| !rule.resources.is_empty())
        .map(|rule| {
            let mut one = json!({ "verbs": rule.verbs, "apiGroups": rule.groups, "resources": rule.resources });
            if !rule.names.is_empty() {
                one["resourceNames"] = json!(rule.names);
            }
            one
        })
        .collect();
    let paths: Vec<Value> = rules
        .iter()
        .filter(|rule| !rule.paths.is_empty())
        .map(|rule| json!({ "verbs": rule.verbs, "nonResourceURLs": rule.paths }))
        .collect();
    Ok(json!({ "resourceRules": resources, "nonResourceRules": paths, "incomplete": false }))
}

fn user_info(user: &User) -> Value {
    let mut info = json!({ "username": user.name, "groups": user.groups });
    if !user.uid.is_empty() {
        info["uid"] = json!(user.uid);
    }
    if !user.extra.is_empty() {
        info["extra"] = user.extra.iter().map(|(key, values)| (key.clone(), json!(values))).collect();
    }
    info
}

fn token(spec: &Value, ctx: &Ctx<'_>) -> Value {
    let token = spec["token"].as_str().unwrap_or_default();
    match ctx.view.authenticate(token) {
        Some(user) => {
            let wanted = texts(&spec["audiences"]);
            let audiences = if wanted.is_empty() { vec![tokens::ISSUER] } else { wanted };
            json!({ "authenticated": true, "user": user_info(&user), "audiences": audiences })
        }
        None => json!({ "user": {}, "error": "invalid bearer token" }),
    }
}

/// The 403 of the real server for this request.
pub fn refusal(user: &User, access: &Access<'_>) -> Status {
    let Access { verb, group, resource, subresource, namespace, name, path } = *access;
    if !path.is_empty() {
        let mut status = Status::forbidden("", "", "", &format!("User {:?} cannot {verb} path {path:?}", user.name));
        status.details = Some(Box::default());
        return status;
    }
    let whole = if subresource.is_empty() { resource.to_owned() } else { format!("{resource}/{subresource}") };
    let place = if namespace.is_empty() {
        "at the cluster scope".to_owned()
    } else {
        format!("in the namespace {namespace:?}")
    };
    let why = format!("User {:?} cannot {verb} resource {whole:?} in API group {group:?} {place}", user.name);
    Status::forbidden(group, resource, name, &why)
}
