//! Documents with their tokens shuffled, and plain bytes.

use serde_json::json;

use super::{
    super::documents::{BROKER_PROVISION, BROKER_STATUS},
    Dice,
};

/// Tokens that mean something to the grammar.
const TOKENS: [&str; 40] = [
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ":",
    "!",
    "$",
    "@",
    "=",
    "|",
    "&",
    "...",
    "\"",
    "\"\"\"",
    "#",
    "query",
    "mutation",
    "subscription",
    "fragment",
    "on",
    "null",
    "true",
    "-1",
    "1e400",
    "0x1",
    "labels",
    "Labels",
    "config",
    "runtimeInput",
    "__schema",
    "__typename",
    "\\u{110000}",
    "\\ud800",
    "\u{0}",
    "\u{feff}",
    "@skip(if: $x)",
    "@include(if: true)",
    "…",
];

pub(super) struct Mutator {
    corpus: Vec<String>,
}

impl Mutator {
    pub(super) fn new(runtime: &str) -> Self {
        let corpus = [
            BROKER_PROVISION.to_owned(),
            BROKER_STATUS.replace("ID\"", &format!("{runtime}\"")),
            format!(
                "{{ a: runtimeStatus(id: \"{runtime}\") {{ ...F }} }} fragment F on RuntimeStatus {{ problems {{ message }} }}"
            ),
            format!(
                "mutation M($v: UpgradeShootInput!) {{ upgradeShoot(id: \"{runtime}\", config: $v) {{ id errors {{ message }} }} }}"
            ),
            "query($l: Labels = {a: [1, {b: null}]}) { __typename }".to_owned(),
            "{ __schema { types { name fields { name args { name type { name ofType { name } } } } } } }".to_owned(),
            format!(
                "{{ runtimeOperations(id: \"{runtime}\", first: 5) {{ data {{ id stage lastError {{ reason }} }} endCursor }} }}"
            ),
        ];
        Self { corpus: corpus.into() }
    }

    /// A document of the corpus with a few changes.
    pub(super) fn document(&self, dice: &mut Dice) -> Vec<u8> {
        let mut text = dice.pick(&self.corpus).clone();
        for _ in 0..dice.below(4) {
            text = self.changed(dice, &text);
        }
        let variables = match dice.below(4) {
            0 => json!(null),
            1 => json!({"v": {"gardenerConfig": {"machineType": "a", "autoScalerMax": 5}}}),
            2 => json!({"v": {"gardenerConfig": {"providerSpecificConfig": {"gcpConfig": {"zones": ["a"]}}}}, "x": 1}),
            _ => json!({}),
        };
        json!({ "query": text, "variables": variables }).to_string().into_bytes()
    }

    fn changed(&self, dice: &mut Dice, text: &str) -> String {
        let mut cuts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        cuts.push(text.len());
        let (mut from, mut to) = (*dice.pick(&cuts), *dice.pick(&cuts));
        if from > to {
            (from, to) = (to, from);
        }
        let near = cuts.iter().copied().find(|cut| *cut > from).unwrap_or(text.len());
        match dice.below(7) {
            0 => format!("{}{}", &text[..from], &text[to..]),
            1 => format!("{}{}{}", &text[..to], &text[from..to], &text[to..]),
            2 => format!("{}{}", &text[..from], &text[near..]),
            3 => {
                let other = dice.pick(&self.corpus);
                let cut = other.char_indices().map(|(at, _)| at).nth(dice.below(other.chars().count())).unwrap_or(0);
                format!("{}{}", &text[..from], &other[cut..])
            }
            4 => format!("{}{}{}", &text[..from], dice.pick(&TOKENS).repeat(1 + dice.below(60)), &text[from..]),
            _ => format!("{}{}{}", &text[..from], dice.pick(&TOKENS), &text[near..]),
        }
    }
}

/// Bytes that are no document, or hardly one.
pub(super) fn bytes(dice: &mut Dice) -> Vec<u8> {
    let length = dice.below(200);
    let random: Vec<u8> = (0..length).map(|_| u8::try_from(dice.below(256)).expect("a byte")).collect();
    match dice.below(3) {
        0 => random,
        1 => json!({ "query": String::from_utf8_lossy(&random), "variables": {} }).to_string().into_bytes(),
        _ => {
            let mut body = br#"{"query":"{__typename}","variables":{"a":1},"operationName":null}"#.to_vec();
            for _ in 0..1 + dice.below(4) {
                let at = dice.below(body.len());
                body[at] = u8::try_from(dice.below(256)).expect("a byte");
            }
            body
        }
    }
}
