//! The repository as a list of texts.
//!
//! Checks are functions of this value, so each is tested on a few lines of made-up files. What git
//! ignores at the top, hidden folders and build folders are left out.

use std::{fs, io, path::Path};

/// Hidden folders that are part of the product; all others belong to tools.
const HIDDEN_BUT_OURS: [&str; 3] = [".cargo", ".ci", ".github"];

/// One file.
#[derive(Debug)]
pub(crate) struct File {
    /// From the root, with `/` between the parts.
    pub(crate) path: String,
    /// Its text; empty for a file that is not text.
    pub(crate) text: String,
}

impl File {
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Lines with their numbers, from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }
}

/// All files, ordered by path.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub(crate) files: Vec<File>,
}

impl Tree {
    /// Reads the repository.
    pub(crate) fn load(root: &Path) -> io::Result<Self> {
        let ignored = fs::read_to_string(root.join(".gitignore")).unwrap_or_default();
        let ignored: Vec<&str> = ignored.lines().map(|line| line.trim().trim_matches('/')).collect();
        let mut tree = Self::default();
        tree.walk(root, "", &ignored)?;
        tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    fn walk(&mut self, folder: &Path, prefix: &str, ignored: &[&str]) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let (at, path) = (entry.path(), format!("{prefix}{name}"));
            // In a linked worktree `.git` is a file.
            if name == ".git" || ignored.contains(&path.as_str()) {
                continue;
            }
            let kind = entry.file_type()?;
            if kind.is_dir() {
                let hidden = name.starts_with('.') && !HIDDEN_BUT_OURS.contains(&name.as_str());
                // Cargo marks its build folders with this file, whatever they are called.
                if !hidden && !at.join("CACHEDIR.TAG").exists() {
                    self.walk(&at, &format!("{path}/"), ignored)?;
                }
            } else if kind.is_file() {
                self.files.push(File { path, text: String::from_utf8(fs::read(&at)?).unwrap_or_default() });
            }
        }
        Ok(())
    }

    /// The file with this path.
    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Files below a folder, which is named with its last `/`.
    pub(crate) fn below<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = &'a File> {
        self.files.iter().filter(move |file| file.path.starts_with(folder))
    }

    /// Folders of the crates, `xtask` among them, each with its last `/`.
    pub(crate) fn crates(&self) -> Vec<String> {
        let manifests = self.files.iter().filter_map(|file| file.path.strip_suffix("Cargo.toml"));
        manifests.filter(|folder| !folder.is_empty()).map(str::to_owned).collect()
    }

    /// A tree of made-up files.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|(path, text)| File { path: (*path).to_owned(), text: (*text).to_owned() });
        Self { files: files.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_hidden_or_built_is_not_read() {
        let root = std::env::temp_dir().join(format!("xtask-tree-{}", std::process::id()));
        for (path, text) in [
            (".gitignore", "/out\n"),
            (".git", "gitdir: elsewhere"),
            ("README.md", "hello"),
            ("out/x.rs", "ignored by git"),
            (".idea/x.rs", "of a tool"),
            (".ci/run", "ours"),
            ("build/CACHEDIR.TAG", ""),
            ("build/x.rs", "built"),
            ("crates/a/src/lib.rs", "//! a"),
        ] {
            let at = root.join(path);
            fs::create_dir_all(at.parent().expect("has a folder")).expect("folder");
            fs::write(at, text).expect("file");
        }
        let tree = Tree::load(&root);
        fs::remove_dir_all(&root).expect("cleaned up");
        let paths: Vec<String> = tree.expect("readable").files.into_iter().map(|file| file.path).collect();
        assert_eq!(paths, [".ci/run", ".gitignore", "README.md", "crates/a/src/lib.rs"]);
    }
}
