//! Stories of the whole product: what a user asks by GraphQL is looked up in the Shoot, in the cluster and at the
//! neighbours, with our own services and the simulated systems in the chain and nothing left out.

mod clouds;
mod deaths;
mod failures;
mod sleep;
mod upgrades;
mod what_is_left;
