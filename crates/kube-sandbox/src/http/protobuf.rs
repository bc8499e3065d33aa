//! Protobuf bodies: kubectl sends some kinds so, and does not try again in JSON when refused.
//!
//! Only reading, only the kinds it sends: a table of field numbers per message, and one reader for
//! all of them. Answers are JSON, which every client takes.

use base64::{Engine as _, prelude::BASE64_STANDARD as BASE64};
use serde_json::{Map, Value, json};

/// What such a body starts with.
const MAGIC: &[u8] = b"k8s\0";

/// How a field is read.
#[derive(Clone, Copy)]
enum Is {
    Text,
    Number,
    Truth,
    Time,
    Message(&'static [Field]),
    Texts,
    Messages(&'static [Field]),
    TextMap,
    BytesMap,
}

/// Number, JSON name, and how it is read.
type Field = (u64, &'static str, Is);

use Is::{BytesMap, Message, Messages, Number, Text, TextMap, Texts, Time, Truth};

const OWNER: &[Field] = &[
    (1, "kind", Text),
    (3, "name", Text),
    (4, "uid", Text),
    (5, "apiVersion", Text),
    (6, "controller", Truth),
    (7, "blockOwnerDeletion", Truth),
];
const METADATA: &[Field] = &[
    (1, "name", Text),
    (2, "generateName", Text),
    (3, "namespace", Text),
    (5, "uid", Text),
    (6, "resourceVersion", Text),
    (8, "creationTimestamp", Time),
    (11, "labels", TextMap),
    (12, "annotations", TextMap),
    (13, "ownerReferences", Messages(OWNER)),
    (14, "finalizers", Texts),
];
const META: Field = (1, "metadata", Message(METADATA));
const NAME: &[Field] = &[(1, "name", Text)];
const REFERENCE: &[Field] = &[(1, "kind", Text), (2, "namespace", Text), (3, "name", Text), (4, "uid", Text)];
const RULE: &[Field] = &[
    (1, "verbs", Texts),
    (2, "apiGroups", Texts),
    (3, "resources", Texts),
    (4, "resourceNames", Texts),
    (5, "nonResourceURLs", Texts),
];
const EXPRESSION: &[Field] = &[(1, "key", Text), (2, "operator", Text), (3, "values", Texts)];
const SELECTOR: &[Field] = &[(1, "matchLabels", TextMap), (2, "matchExpressions", Messages(EXPRESSION))];
const SUBJECT: &[Field] = &[(1, "kind", Text), (2, "apiGroup", Text), (3, "name", Text), (4, "namespace", Text)];
const ROLE_REF: &[Field] = &[(1, "apiGroup", Text), (2, "kind", Text), (3, "name", Text)];
const BINDING: &[Field] = &[META, (2, "subjects", Messages(SUBJECT)), (3, "roleRef", Message(ROLE_REF))];
const RESOURCE_ACCESS: &[Field] = &[
    (1, "namespace", Text),
    (2, "verb", Text),
    (3, "group", Text),
    (4, "version", Text),
    (5, "resource", Text),
    (6, "subresource", Text),
    (7, "name", Text),
];
const PATH_ACCESS: &[Field] = &[(1, "path", Text), (2, "verb", Text)];
const ACCESS: &[Field] = &[
    (1, "resourceAttributes", Message(RESOURCE_ACCESS)),
    (2, "nonResourceAttributes", Message(PATH_ACCESS)),
    (3, "user", Text),
    (4, "groups", Texts),
    (6, "uid", Text),
];
const BOUND: &[Field] = &[(1, "kind", Text), (2, "apiVersion", Text), (3, "name", Text), (4, "uid", Text)];
const TOKEN_REQUEST: &[Field] =
    &[(1, "audiences", Texts), (3, "boundObjectRef", Message(BOUND)), (4, "expirationSeconds", Number)];
const LEASE: &[Field] = &[
    (1, "holderIdentity", Text),
    (2, "leaseDurationSeconds", Number),
    (3, "acquireTime", Time),
    (4, "renewTime", Time),
    (5, "leaseTransitions", Number),
];

/// The kinds we read.
const KINDS: &[(&str, &[Field])] = &[
    (
        "Namespace",
        &[META, (2, "spec", Message(&[(1, "finalizers", Texts)])), (3, "status", Message(&[(1, "phase", Text)]))],
    ),
    ("Secret", &[META, (2, "data", BytesMap), (3, "type", Text), (4, "stringData", TextMap), (5, "immutable", Truth)]),
    ("ConfigMap", &[META, (2, "data", TextMap), (3, "binaryData", BytesMap), (4, "immutable", Truth)]),
    (
        "ServiceAccount",
        &[
            META,
            (2, "secrets", Messages(REFERENCE)),
            (3, "imagePullSecrets", Messages(NAME)),
            (4, "automountServiceAccountToken", Truth),
        ],
    ),
    ("Role", &[META, (2, "rules", Messages(RULE))]),
    (
        "ClusterRole",
        &[
            META,
            (2, "rules", Messages(RULE)),
            (3, "aggregationRule", Message(&[(1, "clusterRoleSelectors", Messages(SELECTOR))])),
        ],
    ),
    ("RoleBinding", BINDING),
    ("ClusterRoleBinding", BINDING),
    ("Lease", &[META, (2, "spec", Message(LEASE))]),
    ("SelfSubjectAccessReview", &[META, (2, "spec", Message(ACCESS))]),
    ("SubjectAccessReview", &[META, (2, "spec", Message(ACCESS))]),
    ("LocalSubjectAccessReview", &[META, (2, "spec", Message(ACCESS))]),
    ("SelfSubjectRulesReview", &[META, (2, "spec", Message(&[(1, "namespace", Text)]))]),
    ("SelfSubjectReview", &[META]),
    ("TokenReview", &[META, (2, "spec", Message(&[(1, "token", Text), (2, "audiences", Texts)]))]),
    ("TokenRequest", &[META, (2, "spec", Message(TOKEN_REQUEST))]),
    (
        "DeleteOptions",
        &[
            (1, "gracePeriodSeconds", Number),
            (2, "preconditions", Message(&[(1, "uid", Text), (2, "resourceVersion", Text)])),
            (3, "orphanDependents", Truth),
            (4, "propagationPolicy", Text),
            (5, "dryRun", Texts),
        ],
    ),
];

/// The object in a body; nothing if it cannot be read.
pub fn read(body: &[u8]) -> Option<Value> {
    let envelope = body.strip_prefix(MAGIC)?;
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    for (number, value) in fields(envelope)? {
        match (number, value) {
            (1, Wire::Bytes(bytes)) => {
                for (number, value) in fields(bytes)? {
                    match (number, value) {
                        (1, Wire::Bytes(text)) => api_version = utf8(text)?,
                        (2, Wire::Bytes(text)) => kind = utf8(text)?,
                        _ => {}
                    }
                }
            }
            (2, Wire::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let (_, known) = KINDS.iter().find(|(name, _)| *name == kind)?;
    let mut object = message(raw, known)?;
    object["apiVersion"] = json!(api_version);
    object["kind"] = json!(kind);
    Some(object)
}

enum Wire<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

fn utf8(bytes: &[u8]) -> Option<String> {
    String::from_utf8(bytes.to_vec()).ok()
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn fields(mut bytes: &[u8]) -> Option<Vec<(u64, Wire<'_>)>> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes)?;
        let value = match tag & 7 {
            0 => Wire::Number(varint(&mut bytes)?),
            2 => {
                let length = usize::try_from(varint(&mut bytes)?).ok()?;
                let (value, rest) = bytes.split_at_checked(length)?;
                bytes = rest;
                Wire::Bytes(value)
            }
            width @ (1 | 5) => {
                let (_, rest) = bytes.split_at_checked(if width == 1 { 8 } else { 4 })?;
                bytes = rest;
                continue;
            }
            _ => return None,
        };
        found.push((tag >> 3, value));
    }
    Some(found)
}

fn message(bytes: &[u8], known: &[Field]) -> Option<Value> {
    let mut object = Map::new();
    for (number, wire) in fields(bytes)? {
        let Some((_, name, is)) = known.iter().find(|(known, ..)| *known == number) else { continue };
        let list = |object: &mut Map<String, Value>, value: Value| {
            let list = object.entry(*name).or_insert_with(|| json!([]));
            if let Some(list) = list.as_array_mut() {
                list.push(value);
            }
        };
        match (*is, wire) {
            // Fields that are not set come as empty texts.
            (Text, Wire::Bytes([])) => {}
            (Text, Wire::Bytes(text)) => drop(object.insert((*name).to_owned(), json!(utf8(text)?))),
            (Number, Wire::Number(number)) => drop(object.insert((*name).to_owned(), json!(number.cast_signed()))),
            (Truth, Wire::Number(number)) => drop(object.insert((*name).to_owned(), json!(number != 0))),
            (Time, Wire::Bytes(bytes)) => {
                if let Some(time) = time(bytes)? {
                    object.insert((*name).to_owned(), time);
                }
            }
            (Message(known), Wire::Bytes(bytes)) => drop(object.insert((*name).to_owned(), message(bytes, known)?)),
            (Texts, Wire::Bytes(text)) => list(&mut object, json!(utf8(text)?)),
            (Messages(known), Wire::Bytes(bytes)) => list(&mut object, message(bytes, known)?),
            (TextMap | BytesMap, Wire::Bytes(bytes)) => {
                let (mut key, mut value): (String, &[u8]) = (String::new(), &[]);
                for (number, wire) in fields(bytes)? {
                    match (number, wire) {
                        (1, Wire::Bytes(text)) => key = utf8(text)?,
                        (2, Wire::Bytes(bytes)) => value = bytes,
                        _ => {}
                    }
                }
                let value = if matches!(is, TextMap) { json!(utf8(value)?) } else { json!(BASE64.encode(value)) };
                object.entry(*name).or_insert_with(|| json!({}))[key] = value;
            }
            _ => return None,
        }
    }
    Some(Value::Object(object))
}

/// A time; nothing for the zero time, which stands for "not set".
fn time(bytes: &[u8]) -> Option<Option<Value>> {
    let (mut seconds, mut nanos) = (None, 0);
    for (number, wire) in fields(bytes)? {
        match (number, wire) {
            (1, Wire::Number(number)) => seconds = Some(number.cast_signed()),
            (2, Wire::Number(number)) => nanos = i32::try_from(number).ok()?,
            _ => {}
        }
    }
    let Some(seconds) = seconds else { return Some(None) };
    let time = jiff::Timestamp::new(seconds, nanos).ok()?;
    let text = if nanos == 0 { crate::clock::seconds(time) } else { crate::clock::micros(time) };
    Some(Some(json!(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(number: u8, content: &[u8]) -> Vec<u8> {
        let mut bytes = vec![number << 3 | 2, u8::try_from(content.len()).expect("short")];
        bytes.extend_from_slice(content);
        bytes
    }

    #[test]
    fn a_secret_is_read_and_garbage_is_not() {
        let entry = [field(1, b"key"), field(2, b"\xff\0")].concat();
        let metadata = [field(1, b"s"), field(2, b""), field(8, b"")].concat();
        let secret = [field(1, &metadata), field(2, &entry), field(3, b"Opaque")].concat();
        let kind = [field(1, b"v1"), field(2, b"Secret")].concat();
        let body = [MAGIC.to_vec(), field(1, &kind), field(2, &secret)].concat();
        let wanted = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "s" }, "data": { "key": "/wA=" }, "type": "Opaque",
        });
        assert_eq!(read(&body), Some(wanted));
        assert_eq!(read(&body[..body.len() - 1]), None);
        assert_eq!(read(b"{}"), None);
    }
}
