//! Moving the keys of runtimes to a new key of the keyring.

use slipway_model::ports::StoreResult;

use super::columns;
use crate::{
    error::Tried,
    rows::unreadable,
    secrets::{DataKey, Keyring},
    sql::{Conn, args},
};

const OLD: &str = "
    SELECT id, data_key, data_key_id FROM runtimes WHERE data_key_id IS NOT NULL AND data_key_id <> $1
    ORDER BY id LIMIT $2";
/// Only in place of what was read: a runtime that became a tombstone meanwhile keeps no key.
const MOVE: &str = "UPDATE runtimes SET data_key = $2, data_key_id = $3 WHERE id = $1 AND data_key = $4";

/// Seals up to `limit` keys anew that are under an older key. One that cannot be opened is reported
/// only when nothing else is left to do, so that it holds up nobody.
pub(crate) async fn rewrap<C: Conn>(conn: &mut C, keyring: &Keyring, limit: usize) -> Tried<usize> {
    let (mut done, mut failure) = (0, None);
    for row in conn.rows(OLD, args![keyring.active(), limit]).await? {
        let id = columns::runtime_id(&row, "id")?;
        let old = columns::wrapped_key(&row)?.ok_or_else(|| unreadable(format!("runtime {id} has no key")))?;
        match DataKey::unwrap(keyring, id, &old) {
            Ok(key) => {
                let new = key.wrap(keyring);
                done += conn.run(MOVE, args![id, new.sealed, new.under, old.sealed]).await?;
            }
            Err(error) => failure = Some(error),
        }
    }
    match failure {
        Some(error) if done == 0 => Err(error.into()),
        _ => Ok(usize::try_from(done).unwrap_or(usize::MAX)),
    }
}

/// The answer to both halves of a change of keys: what was done counts, and a failure is told when
/// nothing was.
pub(crate) fn both(operations: StoreResult<usize>, runtimes: StoreResult<usize>) -> StoreResult<usize> {
    match (operations, runtimes) {
        (Ok(some), Ok(more)) => Ok(some + more),
        (Ok(done), Err(_)) | (Err(_), Ok(done)) if done > 0 => Ok(done),
        (Err(error), _) | (_, Err(error)) => Err(error),
    }
}
