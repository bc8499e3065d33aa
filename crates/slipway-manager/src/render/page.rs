//! The page `docs/rendering.md`, made from the tables of transformers and of the configuration.

use super::{TRANSFORMERS, Way};
use crate::config::members;

const HEAD: &str = "\
# From Runtime to Shoot

Made from the tables in `crates/slipway-manager/src/render.rs` and `config/members.rs`; `UPDATE=1 cargo test -p slipway-manager`
rewrites it. See for yourself, without any cluster:

```sh
slipway render --runtime examples/runtime-aws.yaml                                   # the Shoot of a new cluster
slipway plan --runtime changed.yaml --shoot shoot.yaml                               # what a change costs, field by field
slipway plan --runtime changed.yaml --kubeconfig-garden slipway-data/kubeconfig-garden.yaml
```

## Who writes what

Each transformer owns its fields and no other. The document is sent by server-side apply under one name, so what is not in it is not
touched, and what was in it and no longer is goes. `keeps`: for a Shoot that lives, what is there is written back, whatever is
configured now.

| Transformer | Fields of the Shoot | new | living |
|---|---|---|---|
";

const CONFIGURATION: &str = "
## The converter configuration

A JSON file with the members of the reference; three landscapes stand in [examples/config](../examples/config). Everything wrong is told at once,
with its path. Unknown members are reported and have no effect.

| Member | required | Meaning |
|---|---|---|
";

const TAIL: &str = "
Audit tenants: `{\"<provider>\": {\"<region>\": {\"tenantID\", \"serviceURL\", \"secretName\"}}}`, all required.
Maintenance windows: `{\"<region>\": {\"begin\": \"200000+0000\", \"end\": \"000000+0000\"}}`, for Runtimes of purpose `production`.

## What a living cluster never gets

A lower Kubernetes version; a lower version of the same image; fewer zones in a pool; another region, cloud or network; less high
availability; a Shoot that belongs to another Runtime. The first three are kept as they are and noted, the others are refused with
the field and what to do.
";

fn page() -> String {
    let shown = |way: &Way| match way {
        Way::Write(_) => "writes",
        Way::Keep => "keeps",
    };
    let rows = TRANSFORMERS.iter().map(|row| {
        let paths: Vec<_> = row.paths.iter().map(|path| format!("`{path}`")).collect();
        format!("| {} | {} | {} | {} |\n", row.name, paths.join(" "), shown(&row.create), shown(&row.patch))
    });
    let members = members::rows().map(|row| row + "\n");
    format!("{HEAD}{}{CONFIGURATION}{}{TAIL}", rows.collect::<String>(), members.collect::<String>())
}

#[test]
fn the_page_about_rendering_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/rendering.md");
    let page = page();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, &page).expect("written");
    }
    let there = std::fs::read_to_string(path).unwrap_or_default();
    assert!(there == page, "docs/rendering.md is out of date; run: UPDATE=1 cargo test -p slipway-manager");
}
