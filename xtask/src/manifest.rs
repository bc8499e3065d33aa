//! Reads the dependencies out of a `Cargo.toml`: as much TOML as our manifests use, no more.

use crate::tree::File;

/// For what a dependency is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// In the product, its build scripts included.
    Product,
    /// In tests.
    Tests,
}

/// One dependency.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) used_in: Use,
    /// Its version stands in the workspace manifest.
    pub(crate) from_workspace: bool,
    /// Where it stands.
    pub(crate) line: usize,
}

/// The dependencies of a crate, in the order of its manifest.
pub(crate) fn dependencies(manifest: &File) -> Vec<Dependency> {
    let mut found: Vec<Dependency> = Vec::new();
    let mut section = Section::Other;
    let mut open_brackets = 0;
    for (line, text) in manifest.lines() {
        let text = text.split('#').next().unwrap_or_default().trim();
        let is_continued = open_brackets > 0;
        open_brackets += balance(text);
        if is_continued || text.is_empty() {
            continue;
        }
        if let Some(header) = text.strip_prefix('[') {
            section = Section::of(header.trim_end_matches(']'));
            open_brackets = 0;
            if let Section::One(name, used_in) = &section {
                found.push(Dependency { name: name.clone(), used_in: *used_in, from_workspace: false, line });
            }
            continue;
        }
        let Some((key, value)) = text.split_once('=') else { continue };
        let (key, value) = (key.trim(), value.trim());
        match &section {
            Section::Other => {}
            Section::Many(used_in) => {
                let (name, rest) = key.split_once('.').unwrap_or((key, ""));
                let from_workspace = rest == "workspace" || value.replace(' ', "").contains("workspace=true");
                let name = name.trim_matches('"').to_owned();
                found.push(Dependency { name, used_in: *used_in, from_workspace, line });
            }
            Section::One(..) => {
                if let Some(last) = found.last_mut() {
                    last.from_workspace |= key == "workspace" && value == "true";
                }
            }
        }
    }
    found
}

enum Section {
    Other,
    Many(Use),
    One(String, Use),
}

impl Section {
    fn of(header: &str) -> Self {
        // `[target.'cfg(unix)'.dependencies]` counts like `[dependencies]`.
        let header = match header.rsplit_once("'.") {
            Some((before, after)) if before.starts_with("target.") => after,
            _ => header,
        };
        let (table, name) = header.split_once('.').unwrap_or((header, ""));
        let used_in = match table {
            "dependencies" | "build-dependencies" => Use::Product,
            "dev-dependencies" => Use::Tests,
            _ => return Self::Other,
        };
        if name.is_empty() { Self::Many(used_in) } else { Self::One(name.to_owned(), used_in) }
    }
}

fn balance(text: &str) -> i32 {
    text.chars().fold(0, |sum, c| match c {
        '[' | '{' => sum + 1,
        ']' | '}' => sum - 1,
        _ => sum,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(String, Use, bool, usize)> {
        let manifest = File { path: "Cargo.toml".to_owned(), text: text.to_owned() };
        dependencies(&manifest).into_iter().map(|d| (d.name, d.used_in, d.from_workspace, d.line)).collect()
    }

    #[test]
    fn every_way_to_write_a_dependency_is_read() {
        let found = read(
            "[package]\nname = \"x\"\n[dependencies]\na.workspace = true\nb = { workspace = true, features = [\n  \"f\",\n] }\n\
             c = \"1\" # workspace = true\n[dev-dependencies.d]\nworkspace = true\n[target.'cfg(unix)'.dependencies]\ne = { version = \"1\" }\n",
        );
        let expected = [
            ("a", Use::Product, true, 4),
            ("b", Use::Product, true, 5),
            ("c", Use::Product, false, 8),
            ("d", Use::Tests, true, 9),
            ("e", Use::Product, false, 12),
        ];
        assert_eq!(found, expected.map(|(name, used_in, workspace, line)| (name.to_owned(), used_in, workspace, line)));
    }

    #[test]
    fn other_tables_are_not_dependencies() {
        assert_eq!(read("[workspace.dependencies]\na = \"1\"\n[lints]\nworkspace = true\n"), []);
    }
}
