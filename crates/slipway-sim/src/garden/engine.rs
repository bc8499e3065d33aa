//! The life of Shoots: scheduler, gardenlets and controller manager in one engine.
//!
//! Deciding is pure and acting is thin. [`life`] looks at a Shoot, the time and its surroundings and
//! says what to write; [`runtime`] does it through a [`port`] and wakes up when something is due. The
//! port is an embedded cluster or a real one, so the same engine plays both.
//!
//! | part | is |
//! |---|---|
//! | [`timeline`] | what an operation does, step by step: data |
//! | [`life`], [`care`], [`nodes`], [`rotation`], [`upkeep`] | what to do next: pure |
//! | [`faults`] | what goes wrong on demand |
//! | [`invariants`] | what a client may rely on, and a judge of histories |
//! | [`port`], `execute`, [`protection`], [`runtime`] | doing it |

pub mod care;
mod execute;
pub mod extensions;
pub mod faults;
pub mod invariants;
pub mod life;
pub mod nodes;
pub mod port;
pub mod protection;
pub mod rotation;
pub mod runtime;
pub mod timeline;
pub mod upkeep;
