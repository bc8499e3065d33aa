//! The simulated systems as a configuration names them: each row of the simulators meets the row of the same
//! name in the clients' table, so a new system is in the landscape with its two rows.

use secrecy::ExposeSecret as _;
use slipway_server::systems::{
    ClientCredentials, ConnectionSettings, Credentials, OutsideSystem, SYSTEMS, SettingsBySystem, UsedBy,
};
use slipway_sim::{
    Listening, Systems,
    systems::{self, EntranceLogin},
};

/// What a role must know of the systems that listen here.
pub(super) fn settings(user: UsedBy, systems: &Systems, listening: &[(&'static str, Listening)]) -> SettingsBySystem {
    let connect = |system: &'static OutsideSystem| {
        let simulated = systems::SYSTEMS.iter().find(|row| row.name == system.name)?;
        let (_, socket) = listening.iter().find(|(name, _)| *name == system.name)?;
        let (base, entrance) = (socket.url(), (simulated.entrance)(systems));
        let address = |path: &str| format!("{base}{path}").parse().ok();
        let credentials = match entrance.login {
            EntranceLogin::None => Credentials::None,
            EntranceLogin::Basic { user, password } => Credentials::Basic { user, password: password.into() },
            EntranceLogin::Client { token_path, id, secret } => Credentials::Client(ClientCredentials {
                url: address(token_path)?,
                client_id: id,
                client_secret: secret.into(),
            }),
        };
        Some((system.name, ConnectionSettings::new(system, address(entrance.path)?, credentials)))
    };
    SYSTEMS.iter().filter(|system| system.used_by.contains(&user)).filter_map(connect).collect()
}

/// The same as environment variables, which those of a caller can replace one by one.
pub(super) fn variables(settings: &SettingsBySystem) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for (system, ConnectionSettings { url, credentials, .. }) in settings {
        let mut set = |setting: &str, value: &str| {
            all.push((format!("SLIPWAY_{system}__{setting}").to_uppercase(), value.to_owned()));
        };
        set("url", &url.to_string());
        match credentials {
            Credentials::None => {}
            Credentials::Basic { user, password } => {
                set("user", user);
                set("password", password.expose_secret());
            }
            Credentials::Token(token) => set("token", token.expose_secret()),
            Credentials::Client(ClientCredentials { url, client_id, client_secret }) => {
                set("token_url", &url.to_string());
                set("client_id", client_id);
                set("client_secret", client_secret.expose_secret());
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use slipway_server::systems::Login;

    use super::*;

    #[tokio::test]
    async fn every_system_has_a_client_and_a_simulator_that_meet_in_the_landscape() {
        let simulated = Systems::default();
        let listening = simulated.listen().await.expect("free ports");
        for system in SYSTEMS {
            for user in system.used_by {
                let settings = settings(*user, &simulated, &listening);
                let there = settings.get(system.name).unwrap_or_else(|| panic!("{} has no simulator", system.name));
                let is_told = matches!(
                    (system.login, &there.credentials),
                    (Login::None, Credentials::None)
                        | (Login::Basic, Credentials::Basic { .. })
                        | (Login::Token, Credentials::Token(_))
                        | (Login::ClientCredentials { .. }, Credentials::Client(_))
                );
                assert!(is_told, "{}: the rows disagree about the login", system.name);
            }
        }
        let nobodys = systems::SYSTEMS.iter().find(|row| !SYSTEMS.iter().any(|system| system.name == row.name));
        assert!(nobodys.is_none(), "{} has no client", nobodys.map(|row| row.name).unwrap_or_default());
    }
}
