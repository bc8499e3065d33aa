//! Roles and bindings: well-formed, and nobody gives away more than they have.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::cells;
use crate::{
    auth::rbac::Rule,
    kind::{Access, Column, Ctx, Strategy},
    metadata,
    status::{Cause, Status},
};

const GROUP: &str = "rbac.authorization.k8s.io";

#[derive(Debug)]
pub(super) struct Roles;

#[derive(Debug)]
pub(super) struct Bindings;

impl Roles {
    fn check(object: &Value, ctx: &Ctx<'_>) -> Result<(), Status> {
        let mut causes = Vec::new();
        for (index, rule) in object["rules"].as_array().into_iter().flatten().enumerate() {
            let field = |name: &str| format!("rules[{index}].{name}");
            let rule = Rule::parse(rule);
            if rule.verbs.is_empty() {
                causes.push(Cause::required(field("verbs"), "verbs must contain at least one value"));
            }
            if !rule.paths.is_empty() {
                if ctx.kind.namespaced {
                    let detail = "namespaced rules cannot apply to non-resource URLs";
                    causes.push(Cause::invalid(field("nonResourceURLs"), &json!(rule.paths), detail));
                }
                continue;
            }
            if rule.groups.is_empty() {
                let detail = "resource rules must supply at least one api group";
                causes.push(Cause::required(field("apiGroups"), detail));
            }
            if rule.resources.is_empty() {
                let detail = "resource rules must supply at least one resource";
                causes.push(Cause::required(field("resources"), detail));
            }
        }
        let name = metadata::text(object, "name");
        Status::unless_valid(GROUP, &ctx.kind.kind, name, causes)?;
        let may = ctx.may(&access(ctx, "escalate", &ctx.kind.plural, name));
        if may { Ok(()) } else { refuse_escalation(&Rule::all(object), name, ctx) }
    }
}

fn access<'a>(ctx: &'a Ctx<'_>, verb: &'a str, resource: &'a str, name: &'a str) -> Access<'a> {
    Access { verb, group: GROUP, resource, namespace: ctx.namespace, name, ..Access::default() }
}

/// Refuses rules the user does not have.
fn refuse_escalation(rules: &[Rule], name: &str, ctx: &Ctx<'_>) -> Result<(), Status> {
    let own = ctx.view.rules(ctx.user, ctx.namespace);
    if ctx.user.is_in("system:masters") {
        return Ok(());
    }
    let missing: Vec<String> = rules.iter().filter(|rule| !is_held(rule, &own)).map(show).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let quoted = |list: &[String]| list.iter().map(|one| format!("{one:?}")).collect::<Vec<_>>().join(" ");
    let why = format!(
        "user {:?} (groups=[{}]) is attempting to grant RBAC permissions not currently held:\n{}",
        ctx.user.name,
        quoted(&ctx.user.groups),
        missing.join("\n")
    );
    Err(Status::forbidden(GROUP, &ctx.kind.plural, name, &why))
}

fn is_held(rule: &Rule, own: &[Rule]) -> bool {
    let any = vec![String::new()];
    let names = if rule.names.is_empty() { &any } else { &rule.names };
    rule.verbs.iter().all(|verb| {
        let path = |path: &String| own.iter().any(|own| own.covers(&Access { verb, path, ..Access::default() }));
        let resource = |group: &String, whole: &String, name: &String| {
            let (resource, subresource) = whole.split_once('/').unwrap_or((whole, ""));
            own.iter().any(|own| own.covers(&Access { verb, group, resource, subresource, name, ..Access::default() }))
        };
        rule.paths.iter().all(path)
            && rule
                .groups
                .iter()
                .all(|group| rule.resources.iter().all(|whole| names.iter().all(|name| resource(group, whole, name))))
    })
}

fn show(rule: &Rule) -> String {
    let part = |name: &str, list: &[String]| {
        let quoted: Vec<String> = list.iter().map(|one| format!("{one:?}")).collect();
        (!list.is_empty()).then(|| format!("{name}:[{}]", quoted.join(" ")))
    };
    let parts = [
        part("APIGroups", &rule.groups),
        part("Resources", &rule.resources),
        part("ResourceNames", &rule.names),
        part("NonResourceURLs", &rule.paths),
        part("Verbs", &rule.verbs),
    ];
    format!("{{{}}}", parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

impl Strategy for Roles {
    fn create(&self, object: &mut Value, ctx: &Ctx<'_>) -> Result<(), Status> {
        Self::check(object, ctx)
    }

    fn update(&self, new: &mut Value, old: &Value, ctx: &Ctx<'_>) -> Result<(), Status> {
        if new.get("rules") == old.get("rules") { Ok(()) } else { Self::check(new, ctx) }
    }
}

impl Bindings {
    fn settle(object: &mut Value, ctx: &Ctx<'_>) -> Result<(), Status> {
        if object["roleRef"]["apiGroup"].as_str().is_none_or(str::is_empty) {
            object["roleRef"]["apiGroup"] = json!(GROUP);
        }
        let mut causes = Vec::new();
        let role = object["roleRef"].clone();
        let kinds: &[&str] = if ctx.kind.namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
        if !kinds.contains(&role["kind"].as_str().unwrap_or_default()) {
            causes.push(Cause::not_supported("roleRef.kind", &role["kind"], kinds));
        }
        if role["name"].as_str().is_none_or(str::is_empty) {
            causes.push(Cause::required("roleRef.name", ""));
        }
        for (index, subject) in object["subjects"].as_array_mut().into_iter().flatten().enumerate() {
            let kind = subject["kind"].as_str().unwrap_or_default().to_owned();
            let field = |name: &str| format!("subjects[{index}].{name}");
            if ["User", "Group"].contains(&kind.as_str()) {
                if subject["apiGroup"].as_str().is_none_or(str::is_empty) {
                    subject["apiGroup"] = json!(GROUP);
                }
            } else if kind == "ServiceAccount" {
                if subject["namespace"].as_str().is_none_or(str::is_empty) {
                    causes.push(Cause::required(field("namespace"), ""));
                }
            } else {
                let known = ["ServiceAccount", "User", "Group"];
                causes.push(Cause::not_supported(field("kind"), &json!(kind), &known));
            }
            if subject["name"].as_str().is_none_or(str::is_empty) {
                causes.push(Cause::required(field("name"), ""));
            }
        }
        let name = metadata::text(object, "name").to_owned();
        Status::unless_valid(GROUP, &ctx.kind.kind, &name, causes)?;
        let plural = if role["kind"] == "ClusterRole" { "clusterroles" } else { "roles" };
        let role_name = role["name"].as_str().unwrap_or_default();
        if ctx.may(&access(ctx, "bind", plural, role_name)) {
            return Ok(());
        }
        match ctx.view.get(GROUP, plural, ctx.namespace, role_name) {
            Some(role) => refuse_escalation(&Rule::all(&role), &name, ctx),
            None => Err(Status::not_found(GROUP, plural, role_name)),
        }
    }
}

impl Strategy for Bindings {
    fn create(&self, object: &mut Value, ctx: &Ctx<'_>) -> Result<(), Status> {
        Self::settle(object, ctx)
    }

    fn update(&self, new: &mut Value, old: &Value, ctx: &Ctx<'_>) -> Result<(), Status> {
        Self::settle(new, ctx)?;
        if new["roleRef"] == old["roleRef"] {
            return Ok(());
        }
        // The real server prints its internal type here, whose fields have other names.
        let role = &new["roleRef"];
        let shown = json!({ "APIGroup": role["apiGroup"], "Kind": role["kind"], "Name": role["name"] });
        let cause = Cause::invalid("roleRef", &shown, "cannot change roleRef");
        Err(ctx.kind.invalid(metadata::text(new, "name"), vec![cause]))
    }
}

/// Columns of both bindings.
pub(super) fn columns() -> Vec<Column> {
    vec![
        Column::of("Role", "string", role),
        Column::of("Age", "string", cells::age),
        Column::of("Users", "string", |object, _| subjects(object, "User")).wide(),
        Column::of("Groups", "string", |object, _| subjects(object, "Group")).wide(),
        Column::of("ServiceAccounts", "string", |object, _| subjects(object, "ServiceAccount")).wide(),
    ]
}

fn role(object: &Value, _: Timestamp) -> Value {
    let text = |key: &str| object["roleRef"][key].as_str().unwrap_or_default();
    json!(format!("{}/{}", text("kind"), text("name")))
}

fn subjects(object: &Value, kind: &str) -> Value {
    let names = object["subjects"].as_array().into_iter().flatten().filter(|one| one["kind"] == kind);
    let names: Vec<String> = names
        .map(|one| match (one["name"].as_str().unwrap_or_default(), one["namespace"].as_str()) {
            (name, Some(namespace)) => format!("{namespace}/{name}"),
            (name, None) => name.to_owned(),
        })
        .collect();
    json!(names.join(", "))
}
