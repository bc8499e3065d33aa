//! Requests about objects: verb by verb.

use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, Method, Response, header};
use serde_json::{Value, json};

use super::{
    answers, body, listing,
    media::{self, Answer, Shape},
    options,
    path::{Query, Target},
    table::{self, Include},
    watching,
};
use crate::{
    cluster::Cluster,
    delete::Deleted,
    kind::{Kind, QUESTION, Subresource, User},
    metadata,
    patching::Patch,
    status::{Cause, Details, Status},
    write::{Call, How, Written},
};

/// A request about objects.
pub struct ObjectRequest<'a> {
    /// Where.
    pub cluster: &'a Cluster,
    /// Who.
    pub user: &'a User,
    /// What.
    pub target: &'a Target,
    /// How.
    pub method: &'a Method,
    /// Further wishes.
    pub query: &'a Query,
    /// Media types and the like.
    pub headers: &'a HeaderMap,
}

/// What a method does to a target, as the authorizer calls it.
pub fn verb(method: &Method, target: &Target, query: &Query) -> &'static str {
    let one = !target.name.is_empty();
    match *method {
        Method::GET | Method::HEAD if query.is("watch") || target.watch => "watch",
        Method::GET | Method::HEAD => {
            if one {
                "get"
            } else {
                "list"
            }
        }
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE => {
            if one {
                "delete"
            } else {
                "deletecollection"
            }
        }
        _ => "",
    }
}

impl ObjectRequest<'_> {
    /// Answers it.
    pub async fn serve(&self, body: Bytes) -> Result<Response<Body>, Status> {
        let target = self.target;
        let found = self.cluster.registry().get(&target.group, &target.version, &target.resource);
        let Some(kind) = found else {
            // Below a group of its own the real server answers in its own words, elsewhere there is nothing at all.
            let kinds = self.cluster.registry().all();
            let own =
                |kind: &Arc<Kind>| !kind.is_custom() && kind.group == target.group && kind.version == target.version;
            return if kinds.iter().any(own) { Err(Status::unknown_resource()) } else { Ok(answers::nothing_here()) };
        };
        let in_namespace = !target.namespace.is_empty() && kind.stored_as != "namespaces";
        let named = !target.name.is_empty();
        if (in_namespace && !kind.namespaced) || (named && kind.namespaced && !in_namespace) {
            return if kind.is_custom() { Ok(answers::nothing_here()) } else { Err(Status::unknown_resource()) };
        }
        let below = kind.subresource(&target.subresource);
        if below.is_none() && !target.subresource.is_empty() {
            return Err(if kind.is_custom() { kind.not_found(&target.name) } else { Status::unknown_resource() });
        }
        let verb = verb(self.method, target, self.query);
        if !self.is_possible(&kind, below, verb) {
            return Err(self.impossible(&kind, verb));
        }
        let answer = media::negotiate(self.headers)?;
        match verb {
            "list" => {
                let list = listing::list(self.cluster, &kind, &target.namespace_of(&kind), self.query, answer)?;
                Ok(answers::json(200, list))
            }
            "watch" => self.watch(&kind, answer),
            "get" => self.get(&kind, below, answer),
            _ => self.write(&kind, below, verb, body, answer).await,
        }
    }

    fn is_possible(&self, kind: &Kind, below: Option<&Subresource>, verb: &str) -> bool {
        let named = !self.target.name.is_empty();
        match below {
            None if verb == "create" => !named && (!kind.namespaced || !self.target.namespace.is_empty()),
            None if ["update", "patch"].contains(&verb) => named && kind.verbs.contains(&verb),
            None if verb == "deletecollection" && kind.namespaced && self.target.namespace.is_empty() => false,
            None => kind.verbs.contains(&verb),
            Some(Subresource::Call { .. }) => verb == "create",
            Some(Subresource::View { .. }) => ["get", "update", "patch"].contains(&verb),
            Some(Subresource::Status | Subresource::Scale { .. }) => ["get", "update", "patch"].contains(&verb),
        }
    }

    fn impossible(&self, kind: &Kind, verb: &str) -> Status {
        if !kind.is_custom() {
            return Status::method_not_allowed();
        }
        let name = crate::status::qualified(&kind.group, &kind.plural);
        let mut status =
            Status::new(405, "MethodNotAllowed", format!("{verb} is not supported on resources of kind {name:?}"));
        let (group, kind) = (kind.group.clone(), kind.plural.clone());
        status.details = Some(Box::new(Details { group, kind, ..Details::default() }));
        status
    }

    fn watch(&self, kind: &Arc<Kind>, answer: Answer) -> Result<Response<Body>, Status> {
        let only = Some(self.target.name.as_str()).filter(|name| !name.is_empty());
        let namespace = self.target.namespace_of(kind);
        let stream = watching::watch(self.cluster, kind, &namespace, self.query, answer, only)?;
        Ok(answers::typed(200, "application/json", Body::from_stream(stream)))
    }

    fn get(&self, kind: &Arc<Kind>, below: Option<&Subresource>, answer: Answer) -> Result<Response<Body>, Status> {
        let warnings = Mutex::new(Vec::new());
        let namespace = self.target.namespace_of(kind);
        let call = self.call(kind, &namespace, &warnings, options::Write::default());
        let Some(stored) = call.stored(&self.target.name) else { return Err(kind.not_found(&self.target.name)) };
        if let Some(Subresource::Scale { .. }) = below {
            return Ok(answers::value(200, &call.scale_of(&call.read(&stored)), answer.yaml));
        }
        if answer.shape == Shape::Whole && !answer.yaml {
            let mut out = Vec::new();
            listing::write(kind, &stored, &mut out);
            return Ok(answers::json(200, out));
        }
        Ok(self.show(kind, 200, call.read(&stored), answer))
    }

    fn show(&self, kind: &Kind, code: u16, object: Value, answer: Answer) -> Response<Body> {
        let shown = match answer.shape {
            Shape::Whole => object,
            Shape::Metadata => table::partial(&object),
            Shape::Table => {
                let metadata = json!({ "resourceVersion": object["metadata"]["resourceVersion"] });
                let include = Include::parse(self.query.get("includeObject"));
                table::table(kind, &[object], metadata, include, self.cluster.now())
            }
        };
        answers::value(code, &shown, answer.yaml)
    }

    fn call<'b>(
        &'b self,
        kind: &'b Arc<Kind>,
        namespace: &'b str,
        warnings: &'b Mutex<Vec<String>>,
        write: options::Write<'b>,
    ) -> Call<'b> {
        Call {
            cluster: self.cluster,
            kind,
            namespace,
            subresource: &self.target.subresource,
            user: self.user,
            manager: write.manager,
            dry_run: write.dry_run,
            validation: write.validation,
            now: self.cluster.now(),
            warnings,
        }
    }

    async fn write(
        &self,
        kind: &Arc<Kind>,
        below: Option<&Subresource>,
        verb: &str,
        body: Bytes,
        answer: Answer,
    ) -> Result<Response<Body>, Status> {
        let content_type = media::content_type(self.headers);
        let agent = self.headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or("unknown");
        let write = options::write(verb, self.query, agent, &content_type)?;
        let warnings = Mutex::new(Vec::new());
        let namespace = self.target.namespace_of(kind);
        let call = self.call(kind, &namespace, &warnings, write);
        let name = self.target.name.as_str();
        let done = match (verb, below) {
            ("create", Some(_)) => {
                let Some(stored) = call.stored(name) else { return Err(kind.not_found(name)) };
                let sent = body::parse(&body, &content_type)?;
                return Ok(answers::value(201, &call.call(&call.read(&stored), sent)?, answer.yaml));
            }
            ("create", None) if kind.verbs == QUESTION => {
                let mut sent = body::parse(&body, &content_type)?;
                body::check_kind(&mut sent, kind, self.cluster.registry(), &body)?;
                return Ok(answers::value(201, &call.call(&Value::Null, sent)?, answer.yaml));
            }
            ("create", None) => {
                let mut object = body::parse(&body, &content_type)?;
                body::check_kind(&mut object, kind, self.cluster.registry(), &body)?;
                call.prune(&mut object, &body)?;
                call.create(object, How::Update).await
            }
            ("update", _) => self.update(&call, below, &body, &content_type).await,
            ("patch", _) => {
                let patch = options::patch(kind, &content_type, &body, self.query)?;
                let patch = match patch {
                    Patch::Apply { mut object, force } => {
                        body::check_kind(&mut object, kind, self.cluster.registry(), &body)?;
                        Patch::Apply { object, force }
                    }
                    other => other,
                };
                call.patch(name, &patch).await
            }
            ("delete", _) => return self.delete(&call, &body, &content_type, answer).await,
            ("deletecollection", _) => return self.delete_all(&call, &body, &content_type).await,
            _ => Err(Status::method_not_allowed()),
        };
        let Written { object, created } = done?;
        let code = if created { 201 } else { 200 };
        let response = match below {
            Some(Subresource::Scale { .. }) => answers::value(code, &call.scale_of(&object), answer.yaml),
            _ => self.show(kind, code, object, answer),
        };
        let warnings = warnings.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(answers::with_warnings(response, &warnings))
    }

    async fn update(
        &self,
        call: &Call<'_>,
        below: Option<&Subresource>,
        body: &[u8],
        content_type: &str,
    ) -> Result<Written, Status> {
        let (kind, name) = (call.kind, self.target.name.as_str());
        let mut object = body::parse(body, content_type)?;
        if let Some(Subresource::Scale { .. }) = below {
            return call.change(name, How::Update, |old| call.with_scale(old, &object)).await;
        }
        body::check_kind(&mut object, kind, self.cluster.registry(), body)?;
        call.prune(&mut object, body)?;
        metadata::check_place(kind, &object, call.namespace, Some(name))?;
        if metadata::text(&object, "name").is_empty() {
            let why = "name must be provided";
            return Err(Status::bad_request(format!(
                "the name of the object (\"\" based on URL) was undeterminable: {why}"
            )));
        }
        let stored = call.stored(name);
        if stored.is_none() && kind.creates_on_update && below.is_none() {
            metadata::of(&mut object).remove("resourceVersion");
            return call.create(object, How::Update).await;
        }
        if stored.is_some() && kind.updates_name_version && metadata::text(&object, "resourceVersion").is_empty() {
            let cause = Cause::invalid("metadata.resourceVersion", &json!(0), "must be specified for an update");
            return Err(kind.invalid(name, vec![cause]));
        }
        call.change(name, How::Update, |_| Ok(object.clone())).await
    }

    async fn delete(
        &self,
        call: &Call<'_>,
        body: &[u8],
        content_type: &str,
        answer: Answer,
    ) -> Result<Response<Body>, Status> {
        let (options, dry_run) = options::delete(self.query, body, content_type)?;
        let call = Call { dry_run: call.dry_run || dry_run, ..*call };
        match call.delete(&self.target.name, &options).await? {
            Deleted::Waiting(object) => Ok(self.show(call.kind, 200, object, answer)),
            Deleted::Gone(object) => {
                let mut details =
                    json!({ "name": self.target.name, "kind": call.kind.plural, "uid": object["metadata"]["uid"] });
                if !call.kind.group.is_empty() {
                    details["group"] = json!(call.kind.group);
                }
                let done = json!({
                    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details,
                });
                Ok(answers::value(200, &done, answer.yaml))
            }
        }
    }

    async fn delete_all(&self, call: &Call<'_>, body: &[u8], content_type: &str) -> Result<Response<Body>, Status> {
        let (options, dry_run) = options::delete(self.query, body, content_type)?;
        let call = Call { dry_run: call.dry_run || dry_run, ..*call };
        let selection = listing::Selection::parse(call.kind, self.query)?;
        call.may_delete_all()?;
        let listed = self.cluster.store().list(self.cluster.name(), &call.kind.stored_as, call.namespace, None, 0);
        let listed = listed.map_err(|old| Status::expired(old.to_string()))?;
        let mut items = Vec::new();
        for (name, object) in listed.objects {
            if !selection.matches(call.kind, &name, &object) {
                continue;
            }
            match call.delete(&name.name, &options).await {
                Ok(Deleted::Gone(last) | Deleted::Waiting(last)) => items.push(last),
                // Somebody else was faster, which is what we wanted.
                Err(gone) if gone.code == 404 => {}
                Err(status) => return Err(status),
            }
        }
        let list = json!({
            "kind": call.kind.list_kind, "apiVersion": call.kind.api_version(),
            "metadata": { "resourceVersion": listed.version.to_string() }, "items": items,
        });
        Ok(answers::value(200, &list, false))
    }
}

impl Target {
    /// The namespace as objects of this kind have it.
    fn namespace_of(&self, kind: &Kind) -> String {
        if kind.namespaced { self.namespace.clone() } else { String::new() }
    }
}
