//! How objects are kept: as the text of their projection, short, opened by whoever looks.
//!
//! A parsed object is many small pieces of memory, five to ten times its text; and the texts of one kind are much
//! alike, so each is kept as what it has that the first one had not. Of ten thousand Runtimes only a few are looked
//! at in a minute, and opening one takes some microseconds.

use std::{collections::HashMap, marker::PhantomData, sync::Arc};

use lz4_flex::block::{compress_prepend_size_with_dict, decompress_size_prepended_with_dict};

use super::Projection;

/// An object as a short text.
struct Text<T>(Box<[u8]>, PhantomData<fn() -> T>);

impl<T: Projection> Text<T> {
    fn of(text: &[u8], sample: &[u8]) -> Self {
        Self(compress_prepend_size_with_dict(text, sample).into_boxed_slice(), PhantomData)
    }

    fn open(&self, sample: &[u8]) -> Option<Arc<T>> {
        let text = decompress_size_prepended_with_dict(&self.0, sample).ok()?;
        serde_json::from_slice(&text).ok().map(Arc::new)
    }
}

/// What is known of one object.
struct Entry<T> {
    /// To see what a new list changed.
    version: Box<str>,
    /// None where it could not be read.
    object: Option<Text<T>>,
}

/// All objects of a cache, by name.
pub(super) struct Objects<T> {
    entries: HashMap<Box<str>, Entry<T>>,
    /// The text of the first one. It stays: the others were shortened by it.
    sample: Box<[u8]>,
}

impl<T> Default for Objects<T> {
    fn default() -> Self {
        Self { entries: HashMap::new(), sample: Box::default() }
    }
}

impl<T: Projection> Objects<T> {
    pub(super) fn get(&self, name: &str) -> Option<Arc<T>> {
        self.entries.get(name)?.object.as_ref()?.open(&self.sample)
    }

    pub(super) fn version(&self, name: &str) -> Option<&str> {
        self.entries.get(name).map(|entry| &*entry.version)
    }

    /// Those that could be read.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().filter(|(_, entry)| entry.object.is_some()).map(|(name, _)| &**name)
    }

    /// Everything, also what could not be read.
    pub(super) fn known(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(|name| &**name)
    }

    /// Puts one in place of the one before, and answers that.
    pub(super) fn put(&mut self, name: &str, version: &str, object: &T) -> Option<Arc<T>> {
        let text = serde_json::to_vec(object).unwrap_or_default();
        if self.sample.is_empty() {
            self.sample = text.clone().into_boxed_slice();
        }
        let entry = Entry { version: version.into(), object: Some(Text::of(&text, &self.sample)) };
        self.entries.insert(name.into(), entry)?.object?.open(&self.sample)
    }

    /// One that cannot be read: the one before it stays, if there is one.
    pub(super) fn pass_over(&mut self, name: &str, version: &str) {
        let object = self.entries.remove(name).and_then(|entry| entry.object);
        self.entries.insert(name.into(), Entry { version: version.into(), object });
    }

    pub(super) fn remove(&mut self, name: &str) -> Option<Arc<T>> {
        self.entries.remove(name)?.object?.open(&self.sample)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    struct Note {
        title: String,
        body: String,
    }

    impl Projection for Note {}

    fn note(number: usize) -> Note {
        Note { title: format!("number {number}"), body: "what all of them have in common ".repeat(20) }
    }

    #[test]
    fn whatever_is_put_comes_out_again_and_likeness_costs_nothing() {
        let mut objects = Objects::default();
        for number in 0..100 {
            assert_eq!(objects.put(&number.to_string(), "1", &note(number)), None);
        }
        assert_eq!(*objects.get("42").expect("there"), note(42));
        assert_eq!(*objects.put("42", "2", &note(7)).expect("the one before"), note(42));
        assert_eq!(*objects.remove("0").expect("the first"), note(0));
        assert_eq!(objects.get("42").expect("there").title, "number 7", "without the first, too");
        let kept: usize = objects.entries.values().filter_map(|entry| Some(entry.object.as_ref()?.0.len())).sum();
        assert!(kept < 100 * 60, "{kept} bytes for a hundred of over 600");
    }

    #[test]
    fn one_that_cannot_be_read_hides_neither_itself_nor_the_one_before() {
        let mut objects = Objects::default();
        objects.put("a", "1", &note(1));
        objects.pass_over("a", "2");
        objects.pass_over("b", "3");
        assert_eq!(*objects.get("a").expect("the one before"), note(1));
        assert_eq!((objects.version("a"), objects.version("b")), (Some("2"), Some("3")));
        assert_eq!((objects.names().count(), objects.known().count()), (1, 2));
    }
}
