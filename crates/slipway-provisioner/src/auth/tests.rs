//! What a token must be to be accepted.

use serde_json::{Value, json};
use slipway_engine::SystemClock;
use slipway_model::{Timestamp, time::hours};

use super::*;

const AUDIENCE: &str = "provisioner";

fn issuer(name: &str) -> LocalIssuer {
    LocalIssuer::with_key(name, &LocalIssuer::new_key().expect("a key")).expect("the key")
}

fn gate(issuer: &LocalIssuer) -> Gate {
    Gate::new(vec![issuer.issuer(AUDIENCE)], Arc::new(SystemClock::default()))
}

fn seconds(from_now: i64) -> Value {
    json!(SystemClock::default().wall().as_micros() / 1_000_000 + from_now)
}

async fn ask(gate: &Gate, token: &str) -> Result<Caller, ApiError> {
    gate.caller_with(Some(&format!("Bearer {token}")), &Settings::default()).await
}

#[tokio::test]
async fn a_good_token_names_its_holder_and_what_it_may() {
    let local = issuer("me");
    let now = SystemClock::default().wall();
    let token = local.token("ann", AUDIENCE, &["runtime:read", "other"], &["acme"], now, hours(1)).expect("signed");
    let caller = ask(&gate(&local), &token).await.expect("accepted");
    assert_eq!(caller.identity, "ann");
    assert!(caller.may(Scope::Read) && !caller.may(Scope::Write));
    let refused = caller.require(Scope::Write).expect_err("not allowed");
    assert_eq!((refused.class, refused.reason), (Class::Forbidden, Reason::Forbidden));
}

#[tokio::test]
async fn every_flaw_makes_a_token_worthless() {
    let local = issuer("me");
    let gate = gate(&local);
    let claims = |changed: Value| {
        let mut claims = json!({"iss": "me", "sub": "ann", "aud": [AUDIENCE], "exp": seconds(600)});
        for (key, value) in changed.as_object().expect("changes") {
            claims[key] = value.clone();
        }
        claims
    };
    ask(&gate, &local.sign(&claims(json!({}))).expect("signed")).await.expect("the good one");
    for flaw in [
        json!({"iss": "somebody"}),
        json!({"aud": ["broker"]}),
        json!({"aud": "broker"}),
        json!({"exp": seconds(-3600)}),
        json!({"exp": null}),
        json!({"exp": "later"}),
        json!({"nbf": seconds(3600)}),
        json!({"sub": ""}),
        json!({"sub": "a\nb"}),
    ] {
        let token = local.sign(&claims(flaw.clone())).expect("signed");
        let error = ask(&gate, &token).await.expect_err(&flaw.to_string());
        assert_eq!((error.class.code(), error.reason.as_str()), (403, "err_unauthenticated"));
    }
}

#[tokio::test]
async fn a_token_of_another_key_or_without_signature_is_worthless() {
    let local = issuer("me");
    let gate = gate(&local);
    let claims = json!({"iss": "me", "sub": "ann", "aud": AUDIENCE, "exp": seconds(600)});
    let good = local.sign(&claims).expect("signed");
    let (signed, signature) = good.rsplit_once('.').expect("a signature");
    let (_, claims_part) = signed.split_once('.').expect("claims");
    let none = "eyJhbGciOiJub25lIn0"; // {"alg":"none"}
    let hmac = "eyJhbGciOiJIUzI1NiJ9"; // {"alg":"HS256"}
    let forged = issuer("me").sign(&claims).expect("signed");
    let bad = [
        forged,
        format!("{signed}."),
        format!("{none}.{claims_part}."),
        format!("{none}.{claims_part}.{signature}"),
        format!("{hmac}.{claims_part}.{signature}"),
        format!("{signed}.{}", "A".repeat(86)),
        format!("{signed}x.{signature}"),
        "a.b".to_owned(),
        "....".to_owned(),
        String::new(),
        "x".repeat(100_000),
    ];
    for token in bad {
        ask(&gate, &token).await.expect_err(&token);
    }
    for header in [None, Some(""), Some("Bearer"), Some("Basic YTpi"), Some("bearer")] {
        gate.caller_with(header, &Settings::default()).await.expect_err("no token");
    }
}

#[tokio::test]
async fn scopes_can_be_given_by_configuration_and_two_issuers_cannot_vouch_for_one_identity() {
    let (ours, theirs) = (issuer("ours"), issuer("theirs"));
    let mut foreign = theirs.issuer(AUDIENCE);
    foreign.prefix = "theirs:".to_owned();
    let gate = Gate::new(vec![ours.issuer(AUDIENCE), foreign], Arc::new(SystemClock::default()));
    let settings = Settings {
        scopes: [("broker".to_owned(), vec!["runtime:admin".to_owned()])].into(),
        trusted_callers: vec!["broker".to_owned()],
        ..Settings::default()
    };
    let now = SystemClock::default().wall();
    for (issuer, identity, is_trusted) in [(&ours, "broker", true), (&theirs, "theirs:broker", false)] {
        let token = issuer.token("broker", AUDIENCE, &[], &[], now, hours(1)).expect("signed");
        let caller = gate.caller_with(Some(&format!("Bearer {token}")), &settings).await.expect("accepted");
        assert_eq!((caller.identity.as_str(), caller.trusted), (identity, is_trusted));
        assert_eq!(caller.may(Scope::Admin), is_trusted);
    }
}

#[tokio::test]
async fn a_token_is_good_for_the_tenants_it_names_and_for_those_an_operator_has_bound() {
    let local = issuer("me");
    let mut known = local.issuer(AUDIENCE);
    "accounts".clone_into(&mut known.tenant_claim);
    let gate = Gate::new(vec![known], Arc::new(SystemClock::default()));
    let bound = |identity: &str, tenant: &str| (identity.to_owned(), vec![tenant.to_owned()]);
    let settings = Settings {
        tenants: [bound("ben", "acme"), bound("cat", "*")].into(),
        trusted_callers: vec!["broker".to_owned()],
        ..Settings::default()
    };
    for (subject, claimed, tenants) in [
        ("ann", json!("acme"), vec!["acme"]),
        ("ann", json!(["acme", "other"]), vec!["acme", "other"]),
        ("ann", json!("*"), vec!["acme", "other", "third"]),
        ("ann", json!(["acme", 7]), vec![]),
        ("ann", json!({"acme": true}), vec![]),
        ("ann", json!(null), vec![]),
        ("ann", json!("acme other"), vec![]),
        ("ben", json!(null), vec!["acme"]),
        ("ben", json!("other"), vec!["acme", "other"]),
        ("cat", json!(null), vec!["acme", "other", "third"]),
        ("broker", json!(null), vec!["acme", "other", "third"]),
    ] {
        let claims = json!({"iss": "me", "sub": subject, "aud": AUDIENCE, "exp": seconds(600), "accounts": claimed,
            "tenants": ["third"]});
        let token = local.sign(&claims).expect("signed");
        let caller = gate.caller_with(Some(&format!("Bearer {token}")), &settings).await.expect("accepted");
        for tenant in ["acme", "other", "third"] {
            let granted = caller.act_for(tenant.parse().expect("a tenant"));
            assert_eq!(granted.is_ok(), tenants.contains(&tenant), "{subject} {claimed} {tenant}");
            if let Err(error) = granted {
                assert_eq!((error.class.code(), &error.reason), (403, &Reason::TenantMismatch));
                assert!(error.message.contains("header tenant") && error.message.contains("settings.tenants"));
            }
        }
    }
}

#[test]
fn keys_of_other_kinds_are_left_aside() {
    let set =
        json!({"keys": [{"kty": "oct", "k": "c2VjcmV0"}, {"kty": "EC", "crv": "P-521", "x": "AA", "y": "AA"}, 7]});
    KeySet::parse(set.to_string().as_bytes()).expect("a set without keys for us");
    KeySet::parse(b"{}").expect_err("not a set");
    let _ = Timestamp::default();
}

/// Made once by another program, so that our reading of the standard is not judged by our own writing.
#[tokio::test]
async fn tokens_of_other_issuers_are_checked_by_their_published_keys() {
    let keys = KeySet::parse(include_bytes!("testdata/keys.json")).expect("keys");
    let foreign = Issuer {
        name: "me".to_owned(),
        audience: AUDIENCE.to_owned(),
        prefix: String::new(),
        tenant_claim: TENANT_CLAIM.to_owned(),
        keys: Keys::Known(Arc::new(keys)),
    };
    let gate = Gate::new(vec![foreign], Arc::new(SystemClock::default()));
    for token in [include_str!("testdata/rs256.txt"), include_str!("testdata/eddsa.txt")] {
        let caller = ask(&gate, token.trim()).await.expect("accepted");
        assert_eq!(caller.identity, "system:serviceaccount:kcp-system:broker");
        let (signed, signature) = token.trim().rsplit_once('.').expect("a signature");
        let other = if signature.starts_with('A') { 'B' } else { 'A' };
        ask(&gate, &format!("{signed}.{other}{}", &signature[1..])).await.expect_err("another signature");
    }
}
