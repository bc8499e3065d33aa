//! How objects are kept: as the text of their projection, opened by whoever looks.
//!
//! A parsed object is many small pieces of memory, five to ten times its text. Of ten thousand Runtimes only a few
//! are looked at in a minute, and opening one takes some microseconds; so all of them are kept small.

use std::{collections::HashMap, marker::PhantomData, sync::Arc};

use super::Projection;

/// An object as text.
struct Text<T>(Box<[u8]>, PhantomData<fn() -> T>);

impl<T: Projection> Text<T> {
    fn of(object: &T) -> Option<Self> {
        let text = serde_json::to_vec(object).ok()?;
        Some(Self(text.into_boxed_slice(), PhantomData))
    }

    fn open(&self) -> Option<Arc<T>> {
        serde_json::from_slice(&self.0).ok().map(Arc::new)
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
pub(super) struct Objects<T>(HashMap<Box<str>, Entry<T>>);

impl<T> Default for Objects<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T: Projection> Objects<T> {
    pub(super) fn get(&self, name: &str) -> Option<Arc<T>> {
        self.0.get(name)?.object.as_ref()?.open()
    }

    pub(super) fn version(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|entry| &*entry.version)
    }

    /// Those that could be read.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|(_, entry)| entry.object.is_some()).map(|(name, _)| &**name)
    }

    /// Puts one in place of the one before, and answers that.
    pub(super) fn put(&mut self, name: &str, version: &str, object: &T) -> Option<Arc<T>> {
        let entry = Entry { version: version.into(), object: Text::of(object) };
        self.0.insert(name.into(), entry)?.object?.open()
    }

    /// One that cannot be read: the one before it stays, if there is one.
    pub(super) fn pass_over(&mut self, name: &str, version: &str) {
        let object = self.0.remove(name).and_then(|entry| entry.object);
        self.0.insert(name.into(), Entry { version: version.into(), object });
    }

    pub(super) fn remove(&mut self, name: &str) -> Option<Arc<T>> {
        self.0.remove(name)?.object?.open()
    }

    /// Everything, also what could not be read.
    pub(super) fn known(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(|name| &**name)
    }
}
