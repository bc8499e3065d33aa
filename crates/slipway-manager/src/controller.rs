//! What keeps the manager going: queues, who is woken by what, and who may work.
//!
//! | part | is |
//! |---|---|
//! | [`queue`] | names to be looked at, one at a time each |
//! | [`news`] | which change wakes whom |
//! | [`acknowledge`] | the lane that says "seen" at once, behind nobody |
//! | [`look`] | the observation of one Runtime |
//! | [`work`] | the loops |

pub mod acknowledge;
pub mod look;
pub mod news;
pub mod queue;
pub mod work;
