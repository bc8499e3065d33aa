//! Secrets of runtimes on disk: under a key of the runtime's own, and that under a key of the keyring.

use std::sync::Arc;

use secrecy::ExposeSecret;
use slipway_model::{OperationState, OperationType, RuntimeId, ports::StoreError};

use crate::{
    bed::{Bed, folder, open_sqlite, t},
    opening::Place,
};

/// Operations without secrets, so that only the runtimes hold a key.
async fn runtimes(bed: &Bed, count: usize) -> Vec<RuntimeId> {
    let mut ids = Vec::new();
    for n in 0..count {
        let id = bed.runtime_id();
        let mut request = bed.provisioning(id, &format!("shop-{n}"));
        request.operation.secrets = None;
        let op = bed.takes(&request, t(0)).await;
        bed.finish(op.id, OperationState::Succeeded, t(0)).await;
        ids.push(id);
    }
    ids
}

async fn are_readable(bed: &Bed, ids: &[RuntimeId]) {
    for id in ids {
        let config = bed.runtimes.config(*id, None).await.expect("reads").expect("is there");
        assert_eq!(config.secrets.expect("kept").expose_secret(), r#"{"administrators":["ada"]}"#);
        let kyma = bed.runtimes.kyma(*id).await.expect("reads").expect("is there");
        assert_eq!(kyma.secrets.expect("kept").expose_secret(), r#"{"override":"hush"}"#);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runtimes_move_to_a_new_key_in_batches_and_the_old_one_can_go() {
    for place in Place::both().await {
        let bed = place.open(&[("k1", 'a')], "k1").await.expect("opens");
        let ids = runtimes(&bed, 5).await;
        bed.accept(OperationType::Update, "broker", t(0)).await;
        let sentence = place.refuses(&[("k2", 'b')], "k2").await;
        assert!(sentence.contains("secrets encrypted with key \"k1\", which was not given"), "{sentence}");

        let bed = place.open(&[("k1", 'a'), ("k2", 'b')], "k2").await.expect("opens with both");
        are_readable(&bed, &ids).await;
        let mut moved = Vec::new();
        while moved.last() != Some(&0) {
            moved.push(bed.store.reencrypt(4).await.expect("moves"));
        }
        assert_eq!(moved, [4, 2, 0], "one operation and five runtimes");
        are_readable(&bed, &ids).await;

        let bed = place.open(&[("k2", 'b')], "k2").await.expect("the old key is not needed any more");
        are_readable(&bed, &ids).await;
        // What is added now is under the runtime's key too.
        let mut request = bed.change(ids[0], OperationType::Update);
        request.config = Some(crate::runtime_bed::config("{}"));
        bed.takes(&request, t(1)).await;
        are_readable(&bed, &ids).await;
    }
}

#[tokio::test]
async fn a_runtime_alone_keeps_its_key_wanted_at_the_start() {
    for place in Place::both().await {
        let bed = place.open(&[("k1", 'a')], "k1").await.expect("opens");
        let ids = runtimes(&bed, 1).await;
        let sentence = place.refuses(&[("k2", 'b')], "k2").await;
        assert!(sentence.contains("secrets encrypted with key \"k1\", which was not given"), "{sentence}");
        bed.runtimes.tombstone(ids[0], t(1)).await.expect("buried");
        place.open(&[("k2", 'b')], "k2").await.expect("a tombstone needs no key");
    }
}

#[tokio::test]
async fn a_tombstone_leaves_neither_key_nor_ciphertext() {
    for place in Place::both().await {
        let bed = place.open(&[("k1", 'a')], "k1").await.expect("opens");
        let id = bed.deprovisioned("shop", t(1)).await;
        let kept = bed.provisioned("kept").await;
        for (sql, expected) in [
            ("SELECT count(*) FROM runtimes WHERE data_key IS NOT NULL OR data_key_id IS NOT NULL", 1),
            ("SELECT count(*) FROM runtime_configs WHERE secrets IS NOT NULL", 1),
            ("SELECT count(*) FROM kyma_configs WHERE secrets IS NOT NULL", 1),
            ("SELECT count(*) FROM operations WHERE secrets IS NOT NULL OR secrets_key IS NOT NULL", 1),
        ] {
            assert_eq!(place.count(sql).await, expected, "{sql}: only the other runtime's");
        }
        are_readable(&bed, &[kept]).await;
        assert!(bed.runtimes.runtime(id).await.expect("reads").is_some());
    }
}

#[tokio::test]
async fn a_secret_copied_to_another_row_does_not_open_there() {
    const COPY: &str = "UPDATE runtime_configs SET secrets = (SELECT o.secrets FROM runtime_configs o \
         WHERE o.runtime_id <> runtime_configs.runtime_id) \
         WHERE runtime_id = (SELECT id FROM runtimes WHERE shoot_name = 'shop-0')";
    const COPY_KEY: &str = "UPDATE runtimes SET data_key = (SELECT o.data_key FROM runtimes o WHERE o.id <> runtimes.id) \
         WHERE shoot_name = 'shop-0'";
    for (copy, word) in [(COPY, "copied from another row"), (COPY_KEY, "cannot be opened")] {
        for place in Place::both().await {
            let bed = place.open(&[("k1", 'a')], "k1").await.expect("opens");
            let ids = runtimes(&bed, 2).await;
            place.run(copy).await;
            let error = bed.runtimes.config(ids[0], None).await.expect_err("must not open");
            assert!(matches!(&error, StoreError::Unreadable(why) if why.contains(&ids[0].to_string())), "{error}");
            assert!(error.to_string().contains(word) && !error.to_string().contains("ada"), "{error}");
            are_readable(&bed, &ids[1..]).await;
        }
    }
}

#[tokio::test]
async fn no_secret_of_a_runtime_stands_in_the_file() {
    let (_folder, file) = folder();
    let bed = Bed::on(Arc::new(open_sqlite(&file).await));
    bed.provisioned("shop-of-ada").await;
    let mut seen = Vec::new();
    for name in ["slipway.db", "slipway.db-wal"] {
        seen.extend(std::fs::read(file.with_file_name(name)).unwrap_or_default());
    }
    let holds = |needle: &[u8]| seen.windows(needle.len()).any(|part| part == needle);
    assert!(holds(b"shop-of-ada"), "this is the file");
    assert!(!holds(b"administrators") && !holds(b"hush") && !holds(b"hunter2"));
}
