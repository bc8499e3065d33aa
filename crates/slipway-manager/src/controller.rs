//! What keeps the manager going: queues, who is woken by what, and who may work.
//!
//! | part | is |
//! |---|---|
//! | [`queue`] | names to be looked at, one at a time each |
//! | [`news`] | which change wakes whom |
//! | [`acknowledge`] | the lane that says "seen" at once, behind nobody |
//! | [`look`] | the observation of one Runtime |
//! | [`work`] | the loops |

pub(crate) mod acknowledge;
pub(crate) mod look;
pub(crate) mod news;
pub(crate) mod queue;
pub(crate) mod work;
