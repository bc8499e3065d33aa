//! What the table says of an outside system, and the settings that follow from it.

use std::time::Duration;

use slipway_model::time::secs;

/// One outside system: a row of [`SYSTEMS`](crate::SYSTEMS). Every service starts without it; calls then say
/// that it is not set up.
#[derive(Debug)]
pub struct OutsideSystem {
    /// The section of its settings, and its name in figures and in the flight recorder. Never changed.
    pub name: &'static str,
    /// As sentences name it: `the Director`.
    pub title: &'static str,
    /// What stands at its address; follows "Address of".
    pub about: &'static str,
    /// Whose configuration has its settings.
    pub used_by: &'static [UsedBy],
    /// How we tell it who we are.
    pub login: Login,
    /// The longest a call may take, unless the configuration says otherwise.
    pub timeout: Duration,
    /// How many calls may be under way at once, unless the configuration says otherwise.
    pub in_flight: usize,
    /// When it is left alone for a while.
    pub breaker: Breaker,
}

/// A service of ours that calls outside systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsedBy {
    /// Settings in the configuration of `slipway serve`.
    Broker,
    /// Settings in the provisioner's own file.
    Provisioner,
}

/// How a system is told who we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Login {
    /// Not at all.
    None,
    /// By user and password with every call.
    Basic,
    /// By a bearer token that does not end.
    Token,
    /// By bearer tokens of an OAuth2 endpoint, renewed in time.
    ClientCredentials {
        /// What they shall allow, separated by spaces; empty asks for nothing in particular.
        scope: &'static str,
    },
}

/// When a system is left alone: so many calls in a row without an answer, or answered with 5xx. After the
/// pause one call is let through, and its end decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Breaker {
    /// So many in a row.
    pub failures: u32,
    /// For how long.
    pub open_for: Duration,
}

impl Breaker {
    /// For a system that serves every operation: the pause is short beside any retry budget, and long
    /// enough that a server that starts is not run over.
    pub const USUAL: Self = Self { failures: 5, open_for: secs(10) };
    /// It is never left alone.
    pub const NEVER: Self = Self { failures: u32::MAX, open_for: Duration::ZERO };
}

/// One setting of a system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemSetting {
    /// Its name in the system's section.
    pub name: &'static str,
    /// What holds without it.
    pub default: Option<String>,
    /// Its value may not be shown.
    pub is_secret: bool,
    /// It is a whole number; all others are texts.
    pub is_number: bool,
    /// What it does.
    pub about: String,
}

impl OutsideSystem {
    /// Its settings, in the order of the reference.
    pub fn settings(&self) -> Vec<SystemSetting> {
        let text = |name, about: &str| SystemSetting {
            name,
            default: None,
            is_secret: false,
            is_number: false,
            about: about.to_owned(),
        };
        let secret = |name, about: &str| SystemSetting { is_secret: true, ..text(name, about) };
        let title = self.title;
        let users = self.used_by.iter().map(|user| match user {
            UsedBy::Broker => "broker",
            UsedBy::Provisioner => "provisioner",
        });
        let users = users.collect::<Vec<_>>().join(" and ");
        let mut all = vec![text("url", &format!("Optional for the role {users}. Address of {}.", self.about))];
        match self.login {
            Login::None => {}
            Login::Basic => all.extend([
                text("user", &format!("Our user at {title}.")),
                secret("password", "Its password. This or `password_file` is required with `url`."),
                text("password_file", "A file with the password, read at start."),
            ]),
            Login::Token => all.extend([
                secret("token", &format!("Our bearer token at {title}. This or `token_file` is required with `url`.")),
                text("token_file", "A file with the token, read at start."),
            ]),
            Login::ClientCredentials { .. } => all.extend([
                text("token_url", &format!("Address of the OAuth2 endpoint that gives tokens for {title}.")),
                text("client_id", "Our id there."),
                secret("client_secret", "Our secret there. This or `client_secret_file` is required with `url`."),
                text("client_secret_file", "A file with the secret, read at start."),
            ]),
        }
        let timeout = SystemSetting {
            default: Some(format!("{}s", self.timeout.as_secs())),
            ..text("timeout", "The longest a call may take, waiting for others in flight included.")
        };
        let in_flight = SystemSetting {
            default: Some(self.in_flight.to_string()),
            is_number: true,
            ..text("max_in_flight", "How many calls of this replica may be under way at once, 1 to 1000; others wait.")
        };
        all.extend([timeout, in_flight]);
        all
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::SYSTEMS;

    #[test]
    fn every_row_has_a_name_of_its_own_and_figures_that_work() {
        assert_eq!(SYSTEMS.iter().map(|system| system.name).collect::<BTreeSet<_>>().len(), SYSTEMS.len());
        for system in SYSTEMS {
            assert!(system.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{}", system.name);
            assert!(!system.used_by.is_empty() && system.in_flight > 0, "{}", system.name);
            assert_eq!(system.timeout.subsec_nanos(), 0, "{}: the page shows whole seconds", system.name);
            assert!(system.breaker.failures > 0 && system.breaker.open_for < system.timeout, "{}", system.name);
        }
    }
}
