//! What a manager makes of a Runtime, without any cluster.
//!
//! A benchmark that wants ten thousand finished Runtimes cannot live through ten thousand creations. It copies
//! one that was made for real, and asks here for the two hashes that differ from copy to copy.

use std::path::Path;

use serde_json::Value;
use slipway_kube::{Runtime, Shoot};
use slipway_manager::{
    blueprints::{Blueprints, Files},
    config::Switches,
    prepared_hash,
};

use super::RoleError;

/// What a manager with one configuration makes of Runtimes.
pub struct Drafts(Blueprints);

impl Drafts {
    /// With the files of this configuration, and the switches of a manager without flags.
    pub fn load(path: &Path) -> Result<Self, RoleError> {
        let switches = Switches { network_restriction: true, api_server_acl: false };
        Ok(Self(Blueprints::new(Files::load(path, switches)?)))
    }

    /// Reads a Runtime once, for many questions.
    pub fn runtime(&self, runtime: &Value) -> Result<Draft<'_>, String> {
        let runtime = serde_json::from_value(runtime.clone()).map_err(|error| error.to_string())?;
        Ok(Draft { blueprints: &self.0, runtime })
    }
}

/// One Runtime.
pub struct Draft<'a> {
    blueprints: &'a Blueprints,
    runtime: Runtime,
}

impl Draft<'_> {
    /// The hash that is written at the Shoot.
    pub fn input_hash(&self) -> String {
        self.blueprints.input_hash(&self.runtime, &[])
    }

    /// The hash that is written at the GardenerCluster once the cluster is prepared.
    pub fn prepared_hash(&self, shoot: &Value) -> Result<String, String> {
        let shoot: Shoot = serde_json::from_value(shoot.clone()).map_err(|error| error.to_string())?;
        Ok(prepared_hash(&self.runtime, Some(&shoot), &self.blueprints.shared_tenant()))
    }
}
