//! Requests built from the schema itself, so that a new field is tried without anybody thinking of it.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use slipway_provisioner::graphql::Schema;

use super::Dice;

/// Values that a field of any name may be tried with.
const TEXTS: [&str; 40] = [
    "",
    "a",
    "shop",
    "gcp",
    "azure",
    "aws",
    "openstack",
    "alicloud",
    "GKE",
    "europe-west3",
    "westeurope",
    "cloud-account",
    "1.33.4",
    "1.32.0",
    "2.20.5",
    "main",
    "PR-1",
    "latest",
    "10.250.0.0/16",
    "10.250.0.0/19",
    "10.9.0.0/16",
    "0.0.0.0/0",
    "10.250.0.1/16",
    "255.255.255.255/32",
    "300.0.0.0/8",
    "::/0",
    "https://a.b",
    "http://a.b",
    "RS256",
    "node",
    "zone",
    "evaluation",
    "production",
    "16Gi",
    "99999999999999999999999999Ti",
    "\u{0}",
    "ä\u{202e}\u{1F600}",
    "'; drop table x; --",
    "${jndi:ldap://a}",
    "../../etc/passwd",
];

const NUMBERS: [i64; 12] =
    [0, 1, -1, 2, 3, 10, 50, 121, 2_147_483_647, -2_147_483_648, 2_147_483_648, 9_007_199_254_740_993];

/// Texts that a field of this name is likely to take, so that requests get far.
fn fitting(field: &str) -> &'static [&'static str] {
    match field {
        "provider" => &["gcp", "azure", "aws", "openstack", "GCP", "aks"],
        "region" => &["europe-west3", "westeurope", "eu-central-1"],
        "targetSecret" | "secretName" => &["cloud-account", "other"],
        "kubernetesVersion" => &["1.33.4", "1.34.1", "1.20.0"],
        "version" => &["2.20.5", "1.34.0", "main", "PR-7"],
        "workerCidr" | "vnetCidr" | "vpcCidr" => &["10.250.0.0/16", "10.250.0.0/20", "10.8.0.0/15"],
        "podsCidr" => &["10.96.0.0/13", "100.64.0.0/12"],
        "servicesCidr" => &["10.104.0.0/13"],
        "cidr" | "publicCidr" | "internalCidr" => &["10.250.0.0/24", "10.250.1.0/24", "10.250.2.0/24", "10.250.3.0/24"],
        "purpose" => &["evaluation", "production", "testing"],
        "machineType" => &["n2-standard-4", "m6i.large"],
        "controlPlaneFailureTolerance" => &["node", "zone", ""],
        "issuerURL" => &["https://a.b", ""],
        "signingAlgs" => &["RS256", "ES256"],
        "memory" => &["8Gi", "30Gi"],
        "domain" | "domainsInclude" => &["a.example.com"],
        "component" => &["compass-runtime-agent", "istio"],
        "namespace" => &["kyma-system"],
        "sourceURL" => &["https://a.b/c.tgz", ""],
        _ => &["a", "b", "c", "shop"],
    }
}

/// A root field: kind and name, arguments with their types, and whether its result is an object.
type Root = (String, Vec<(String, Value)>, bool);

/// The input types of the schema.
pub(super) struct Types {
    objects: BTreeMap<String, Vec<(String, Value)>>,
    enums: BTreeMap<String, Vec<String>>,
    mutations: Vec<Root>,
}

impl Types {
    pub(super) fn of(schema: &Schema) -> Self {
        let sdl = schema.as_sdl();
        let mut types = Self { objects: BTreeMap::new(), enums: BTreeMap::new(), mutations: Vec::new() };
        types.read(&sdl);
        assert!(types.objects.len() > 15 && types.mutations.len() > 8, "the schema was not understood");
        types
    }

    /// Reads as much of the schema's text as is needed: blocks, fields and their types.
    fn read(&mut self, sdl: &str) {
        let mut block = (String::new(), String::new());
        let mut in_text = false;
        for line in sdl.lines().map(str::trim) {
            if line.starts_with("\"\"\"") {
                in_text ^= line.len() == 3 || !line.ends_with("\"\"\"");
                continue;
            }
            let line = if in_text { "" } else { undescribed(line) };
            if line.is_empty() {
                continue;
            }
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                [kind @ ("input" | "enum" | "type"), name, "{"] => block = ((*kind).to_owned(), (*name).to_owned()),
                ["}"] => block = (String::new(), String::new()),
                _ => self.read_line(&block.0, &block.1, line),
            }
        }
    }

    fn read_line(&mut self, kind: &str, name: &str, line: &str) {
        let line = line.split(" @deprecated").next().unwrap_or(line);
        match (kind, name) {
            ("input", _) => {
                let (field, of) = line.split_once(": ").expect("a field and its type");
                self.objects.entry(name.to_owned()).or_default().push((field.to_owned(), type_of(of)));
            }
            ("enum", _) => self.enums.entry(name.to_owned()).or_default().push(line.to_owned()),
            ("type", "Mutation" | "Query") => {
                let Some((field, rest)) = line.split_once('(') else { return };
                let (arguments, result) = rest.rsplit_once("): ").expect("a result");
                let arguments = arguments.split(", ").map(|argument| {
                    let (argument, of) = argument.split_once(": ").expect("an argument and its type");
                    (argument.to_owned(), type_of(of))
                });
                let is_object = !result.starts_with("String");
                self.mutations.push((format!("{} {field}", name.to_lowercase()), arguments.collect(), is_object));
            }
            _ => {}
        }
    }

    /// A request with variables for one root field.
    pub(super) fn request(&self, dice: &mut Dice, runtime: &str) -> Vec<u8> {
        let (root, arguments, is_object) = match dice.below(3) {
            0 => dice.pick(&self.mutations),
            1 => self.named("mutation provisionRuntime"),
            _ => self.named("mutation upgradeShoot"),
        };
        let (kind, field) = root.split_once(' ').expect("two words");
        let (mut definitions, mut given, mut variables) = (Vec::new(), Vec::new(), Map::new());
        for (name, of) in arguments {
            definitions.push(format!("${name}: {}", spell(of)));
            given.push(format!("{name}: ${name}"));
            if name == "id" && !dice.one_in(8) {
                if field != "provisionRuntime" {
                    variables.insert(name.clone(), runtime.into());
                }
                continue;
            }
            let value = self.value(dice, of, name, 0);
            variables.insert(name.clone(), value);
        }
        let selection = if *is_object { " { __typename }" } else { "" };
        let query =
            format!("{kind}({}) {{ result: {field}({}){selection} }}", definitions.join(", "), given.join(", "));
        let body = json!({ "query": query, "variables": variables });
        body.to_string().into_bytes()
    }

    fn named(&self, root: &str) -> &Root {
        self.mutations.iter().find(|(name, ..)| name == root).expect("it is in the schema")
    }

    fn value(&self, dice: &mut Dice, of: &Value, field: &str, depth: usize) -> Value {
        if dice.one_in(150) {
            return wrong(dice);
        }
        if let Some(inner) = of.get("required") {
            return if dice.one_in(300) { Value::Null } else { self.value(dice, inner, field, depth) };
        }
        if let Some(inner) = of.get("list") {
            let length = *dice.pick(&[0, 1, 1, 2, 3, 9]);
            return (0..length).map(|_| self.value(dice, inner, field, depth + 1)).collect();
        }
        let name = of["named"].as_str().expect("a name");
        match name {
            "String" if dice.one_in(40) => (*dice.pick(&TEXTS)).into(),
            "String" if field == "name" && depth < 4 => format!("n{}", dice.below(100_000)).into(),
            "String" => (*dice.pick(fitting(field))).into(),
            "Int" if dice.one_in(40) => (*dice.pick(&NUMBERS)).into(),
            "Int" => (1 + dice.below(6)).into(),
            "Boolean" => dice.one_in(2).into(),
            "Labels" => json!({"broker_instance_id": *dice.pick(&TEXTS), "nested": {"labels": {"a": [1, null]}}}),
            _ => match (self.objects.get(name), self.enums.get(name)) {
                (Some(fields), _) => self.object(dice, fields, depth),
                (None, Some(words)) => dice.pick(words).clone().into(),
                (None, None) => panic!("the schema has no {name}"),
            },
        }
    }

    fn object(&self, dice: &mut Dice, fields: &[(String, Value)], depth: usize) -> Value {
        let mut map = Map::new();
        for (name, of) in fields {
            let is_wanted = of.get("required").is_some() || dice.one_in(if depth == 0 { 2 } else { 6 });
            let is_cluster = matches!(name.as_str(), "gardenerConfig" | "targetSecret");
            if (is_wanted || is_cluster) && depth < 8 {
                map.insert(name.clone(), self.value(dice, of, name, depth + 1));
            }
        }
        if dice.one_in(200) {
            map.insert("surprise".to_owned(), wrong(dice));
        }
        map.into()
    }
}

fn wrong(dice: &mut Dice) -> Value {
    match dice.below(7) {
        0 => Value::Null,
        1 => (*dice.pick(&TEXTS)).into(),
        2 => (*dice.pick(&NUMBERS)).into(),
        3 => json!(1e308),
        4 => json!([]),
        5 => json!({}),
        _ => json!({"a": {"a": {"a": [[[{}]]]}}}),
    }
}

/// The line without the description that stands before its field.
fn undescribed(line: &str) -> &str {
    let Some(text) = line.strip_prefix('"') else { return line };
    let is_end = |(at, _): &(usize, &str)| !text[..*at].ends_with('\\');
    let (end, _) = text.match_indices('"').find(is_end).expect("a description ends");
    text[end + 1..].trim()
}

/// A type of the schema's text, as a tree.
fn type_of(text: &str) -> Value {
    let text = text.trim();
    if let Some(inner) = text.strip_suffix('!') {
        return json!({ "required": type_of(inner) });
    }
    match text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        Some(inner) => json!({ "list": type_of(inner) }),
        None => json!({ "named": text }),
    }
}

fn spell(of: &Value) -> String {
    if let Some(inner) = of.get("required") {
        return format!("{}!", spell(inner));
    }
    match of.get("list") {
        Some(inner) => format!("[{}]", spell(inner)),
        None => of["named"].as_str().expect("a name").to_owned(),
    }
}
