//! The hash of everything a Shoot is made from.
//!
//! It is written on the Shoot and compared at every pass: as long as it is the same, nothing has to
//! be rendered or sent. Part of it are exactly the inputs, never the living Shoot. Each part is
//! closed with its length, so that no two inputs run into the same text.

use ring::digest::{Context as Digest, SHA256};
use serde::Serialize;
use slipway_kube::{annotations, labels};

use super::RenderInput;

/// Labels of a Runtime that a Shoot is made from.
const LABELS: [&str; 3] = [labels::RUNTIME_ID, labels::GLOBAL_ACCOUNT_ID, labels::SUBACCOUNT_ID];

/// Annotations of a Runtime that a Shoot is made from.
const ANNOTATIONS: [&str; 1] = [annotations::EXPERIMENTAL_AUDIT_POLICY];

/// Raise it when rendering changes so that living Shoots must be written again.
const RENDERER: u32 = 2;

/// The hash, as hexadecimal text.
pub fn input_hash(input: &RenderInput<'_>) -> String {
    // Without `..`: a new input cannot be forgotten here.
    let RenderInput { runtime, config, audit, window, acl, registry_secrets, existing: _ } = input;
    let mut digest = Digest::new(&SHA256);
    let mut buffer = Vec::with_capacity(4096);
    let mut add = |part: &dyn Part| {
        buffer.clear();
        part.write(&mut buffer);
        digest.update(&buffer.len().to_be_bytes());
        digest.update(&buffer);
    };
    add(&RENDERER);
    add(&runtime.spec);
    add(&LABELS.map(|key| runtime.label(key)));
    add(&ANNOTATIONS.map(|key| runtime.annotation(key)));
    add(&config.converter);
    add(&config.switches);
    add(audit);
    add(window);
    add(acl);
    add(registry_secrets);
    let hash = digest.finish();
    hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What can be part of the hash.
trait Part {
    fn write(&self, buffer: &mut Vec<u8>);
}

impl<T: Serialize> Part for T {
    fn write(&self, buffer: &mut Vec<u8>) {
        serde_json::to_writer(buffer, self).expect("our own types have texts as keys");
    }
}
