//! Lists: selected, in pages, as of one moment.

use std::sync::Arc;

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD as BASE64};
use bytes::Bytes;
use serde_json::{Value, json};

use super::{
    media::{Answer, Shape},
    path::Query,
    table::{self, Include},
};
use crate::{
    cluster::Cluster,
    kind::Kind,
    object::{Name, Stored},
    selector::{FieldSelector, LabelSelector},
    status::{Cause, Status},
    store::Listed,
};

/// Which objects.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    labels: LabelSelector,
    fields: FieldSelector,
}

impl Selection {
    /// From the parameters of a request.
    pub fn parse(kind: &Kind, query: &Query) -> Result<Self, Status> {
        let mut known: Vec<&str> = vec!["metadata.name"];
        if kind.namespaced {
            known.push("metadata.namespace");
        }
        known.extend(kind.selectable.iter().map(String::as_str));
        let labels =
            LabelSelector::parse(query.get("labelSelector")).map_err(|error| Status::bad_request(error.to_string()))?;
        let fields = FieldSelector::parse(query.get("fieldSelector"), &known)
            .map_err(|error| Status::bad_request(unknown_field(kind, &error.to_string())))?;
        Ok(Self { labels, fields })
    }

    /// Only this object: a watch of one name.
    pub fn only(name: &str) -> Self {
        let fields = FieldSelector::parse(&format!("metadata.name={name}"), &["metadata.name"]).unwrap_or_default();
        Self { labels: LabelSelector::default(), fields }
    }

    /// Everything.
    pub fn is_all(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether it is one of them. The object is parsed only when a field selector needs its inside.
    pub fn matches(&self, kind: &Kind, name: &Name, object: &Stored) -> bool {
        if !self.labels.is_empty() && !self.labels.matches(&object.labels()) {
            return false;
        }
        if self.fields.is_empty() {
            return true;
        }
        if self.fields.exact("metadata.name").is_some_and(|wanted| *wanted != *name.name) {
            return false;
        }
        self.fields.matches(&kind.from_stored(object.value()))
    }

    /// The only name that can fit, if there is one.
    pub fn name(&self) -> Option<&str> {
        self.fields.exact("metadata.name")
    }
}

/// The refusal of a field: kinds that index none but the names have another wording.
fn unknown_field(kind: &Kind, said: &str) -> String {
    match said.strip_prefix("field label not supported: ") {
        Some(field) if !kind.is_custom() && kind.selectable.is_empty() => {
            format!("{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
        }
        _ => said.to_owned(),
    }
}

/// One page.
struct Page {
    version: u64,
    objects: Vec<Arc<Stored>>,
    next: Option<String>,
    remaining: Option<usize>,
}

fn invalid(field: &str, why: &str) -> Status {
    Status::invalid("meta.k8s.io", "ListOptions", "", vec![Cause::forbidden(field, why)])
}

/// `resourceVersion` as a number; 0 if it is not there.
pub fn version(query: &Query) -> Result<u64, Status> {
    let text = query.get("resourceVersion");
    if text.is_empty() {
        return Ok(0);
    }
    text.parse().map_err(|_| {
        let rule = format!("strconv.ParseUint: parsing {text:?}: invalid syntax");
        let cause = Cause::invalid("resourceVersion", &json!(text), &rule);
        // A list and a watch are checked in different places of the real server.
        let said = cause.to_string();
        if query.is("watch") { Status::internal_plain(said) } else { Status::bad_request(said) }
    })
}

/// A parameter that is a number; 0 if it is not there or negative.
pub fn number(query: &Query, key: &str) -> Result<usize, Status> {
    let text = query.get(key);
    let wrong = || Status::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax"));
    let number = if text.is_empty() { 0 } else { text.parse::<i64>().map_err(|_| wrong())? };
    Ok(usize::try_from(number).unwrap_or(0))
}

fn read(cluster: &Cluster, kind: &Kind, namespace: &str, query: &Query) -> Result<(Listed, usize), Status> {
    let limit = number(query, "limit")?;
    let matching = query.get("resourceVersionMatch");
    let (asked, store, token) = (version(query)?, cluster.store(), query.get("continue"));
    if !query.get("sendInitialEvents").is_empty() {
        return Err(invalid("sendInitialEvents", "sendInitialEvents is forbidden for list"));
    }
    if !matching.is_empty() {
        if query.get("resourceVersion").is_empty() {
            let why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
            return Err(invalid("resourceVersionMatch", why));
        }
        if !token.is_empty() {
            return Err(invalid("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided"));
        }
        if !["Exact", "NotOlderThan"].contains(&matching) {
            let known = ["Exact", "NotOlderThan", ""];
            let cause = Cause::not_supported("resourceVersionMatch", &json!(matching), &known);
            return Err(Status::invalid("meta.k8s.io", "ListOptions", "", vec![cause]));
        }
        if matching == "Exact" && asked == 0 {
            let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
            return Err(invalid("resourceVersionMatch", why));
        }
    }
    let table = &kind.stored_as;
    if !token.is_empty() {
        if asked != 0 {
            return Err(Status::bad_request("specifying resource version is not allowed when using continue"));
        }
        let (at, behind) = token_of(token)?;
        let listed = store.list(cluster.name(), table, namespace, Some(&behind), at).map_err(|_| {
            Status::expired("The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.")
        })?;
        return Ok((listed, limit));
    }
    if asked > store.version() {
        return Err(Status::version_too_large(asked, store.version()));
    }
    // A page of a given version is of exactly that version, unless the client says otherwise.
    let exact = matching == "Exact" || (matching.is_empty() && limit > 0 && asked > 0);
    let at = if exact { asked } else { 0 };
    let listed = store
        .list(cluster.name(), table, namespace, None, at)
        .map_err(|_| Status::expired("The resourceVersion for the provided list is too old."))?;
    Ok((listed, limit))
}

fn page(selection: &Selection, kind: &Kind, listed: Listed, limit: usize) -> Page {
    let version = listed.version;
    let mut objects: Vec<(Name, Arc<Stored>)> = Vec::new();
    let mut rest = listed.objects.into_iter();
    let mut more = false;
    for (name, object) in rest.by_ref() {
        if !selection.matches(kind, &name, &object) {
            continue;
        }
        if limit > 0 && objects.len() == limit {
            more = true;
            break;
        }
        objects.push((name, object));
    }
    let next = objects.last().filter(|_| more).map(|(name, _)| token(version, name));
    let remaining = (more && selection.is_all()).then(|| rest.count() + 1);
    Page { version, objects: objects.into_iter().map(|(_, object)| object).collect(), next, remaining }
}

fn token(version: u64, behind: &Name) -> String {
    BASE64.encode(
        json!({ "v": "meta.k8s.io/v1", "rv": version, "start": format!("{}/{}", behind.namespace, behind.name) })
            .to_string(),
    )
}

fn token_of(text: &str) -> Result<(u64, Name), Status> {
    let wrong = || Status::bad_request("continue key is not valid: the token cannot be read");
    let bytes = BASE64.decode(text.trim_end_matches('=')).map_err(|_| wrong())?;
    let token: Value = serde_json::from_slice(&bytes).map_err(|_| wrong())?;
    let (namespace, name) = token["start"].as_str().and_then(|start| start.split_once('/')).ok_or_else(wrong)?;
    Ok((token["rv"].as_u64().ok_or_else(wrong)?, Name::new(namespace, name)))
}

/// The version of a kind's stored text is this kind's, so the text can be sent as it is.
pub fn is_raw(kind: &Kind, object: &Stored) -> bool {
    kind.convert.is_none()
        && object.text().0.starts_with(format!("{{\"apiVersion\":\"{}\",", kind.api_version()).as_bytes())
}

/// Appends an object as JSON in this kind's form.
pub fn write(kind: &Kind, object: &Stored, out: &mut Vec<u8>) {
    if is_raw(kind, object) {
        object.write(out);
    } else {
        out.extend_from_slice(kind.from_stored(object.value()).to_string().as_bytes());
    }
}

/// Answers a list request.
pub fn list(cluster: &Cluster, kind: &Kind, namespace: &str, query: &Query, answer: Answer) -> Result<Bytes, Status> {
    let selection = Selection::parse(kind, query)?;
    let (listed, limit) = read(cluster, kind, namespace, query)?;
    let page = page(&selection, kind, listed, limit);
    let mut metadata = json!({ "resourceVersion": page.version.to_string() });
    if let Some(next) = &page.next {
        metadata["continue"] = json!(next);
    }
    if let Some(remaining) = page.remaining {
        metadata["remainingItemCount"] = json!(remaining);
    }
    let values = || page.objects.iter().map(|object| kind.from_stored(object.value()));
    match answer.shape {
        Shape::Table => {
            let include = Include::parse(query.get("includeObject"));
            let table = table::table(kind, &values().collect::<Vec<_>>(), metadata, include, cluster.now());
            Ok(table.to_string().into())
        }
        Shape::Metadata => {
            let items: Vec<Value> = values().map(|object| table::partial(&object)).collect();
            let list = json!({ "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": metadata, "items": items });
            Ok(list.to_string().into())
        }
        Shape::Whole => {
            let size: usize = page.objects.iter().map(|object| object.text().0.len() + 24).sum();
            let mut out = Vec::with_capacity(size + 256);
            let (list_kind, api_version) = (&kind.list_kind, kind.api_version());
            let head = format!(
                "{{\"kind\":\"{list_kind}\",\"apiVersion\":\"{api_version}\",\"metadata\":{metadata},\"items\":["
            );
            out.extend_from_slice(head.as_bytes());
            for (index, object) in page.objects.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                if is_raw(kind, object) && !kind.is_custom() {
                    object.write_bare(&mut out);
                } else {
                    write(kind, object, &mut out);
                }
            }
            out.extend_from_slice(b"]}");
            Ok(out.into())
        }
    }
}
