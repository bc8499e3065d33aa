//! Stand-in until the server's own `status` is merged.

/// Why one field was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// Path of the field.
    pub field: String,
    /// The class of the refusal.
    pub reason: CauseReason,
    /// What a person reads.
    pub message: String,
}

/// The classes of refusals, as Kubernetes spells them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "stand-in")]
pub enum CauseReason {
    FieldValueNotFound,
    FieldValueRequired,
    FieldValueDuplicate,
    FieldValueInvalid,
    FieldValueNotSupported,
    FieldValueForbidden,
    FieldValueTooLong,
    FieldValueTooMany,
    InternalError,
    FieldValueTypeInvalid,
    FieldManagerConflict,
}
