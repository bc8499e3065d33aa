//! Tests of the mapping.
