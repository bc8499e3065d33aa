//! Stage memory: what one step hands to a later step of the same stage and nobody may store.

use std::{
    any::{Any, TypeId},
    collections::BTreeMap,
    fmt,
};

use secrecy::zeroize::Zeroize;

/// Typed values of one stage: credentials, kubeconfigs, rendered requests. They live in this
/// process only, are wiped on drop, and die with the stage or the lease, whichever ends first.
///
/// There is no way to serialize it, on purpose.
#[derive(Default)]
pub struct StageMemory {
    values: BTreeMap<TypeId, Box<dyn Value>>,
}

trait Value: Any + Send + Sync {
    fn wipe(&mut self);
    fn as_any(&self) -> &dyn Any;
}

impl<T: Zeroize + Send + Sync + 'static> Value for T {
    fn wipe(&mut self) {
        self.zeroize();
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl StageMemory {
    /// Keeps a value; one per type, the later wins and the earlier is wiped.
    pub fn put<T: Zeroize + Send + Sync + 'static>(&mut self, value: T) {
        if let Some(mut old) = self.values.insert(TypeId::of::<T>(), Box::new(value)) {
            old.wipe();
        }
    }

    /// The value of this type, if an earlier step of this run of the stage made one.
    pub fn get<T: Zeroize + Send + Sync + 'static>(&self) -> Option<&T> {
        // `as_ref` first: the box itself also implements `Value`, being `Any`.
        self.values.get(&TypeId::of::<T>()).and_then(|value| value.as_ref().as_any().downcast_ref())
    }

    /// Nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

impl Drop for StageMemory {
    fn drop(&mut self) {
        for value in self.values.values_mut() {
            value.as_mut().wipe();
        }
    }
}

impl fmt::Debug for StageMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StageMemory({} values)", self.values.len())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use super::*;

    struct Counted(Arc<AtomicUsize>);

    impl Zeroize for Counted {
        fn zeroize(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_value_is_found_by_its_type_and_wiped_when_replaced_and_when_dropped() {
        let wiped = Arc::new(AtomicUsize::new(0));
        let mut memory = StageMemory::default();
        memory.put("token".to_owned());
        memory.put(Counted(wiped.clone()));
        assert_eq!(memory.get::<String>().map(String::as_str), Some("token"));
        memory.put(Counted(wiped.clone()));
        assert_eq!(wiped.load(Ordering::Relaxed), 1);
        drop(memory);
        assert_eq!(wiped.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn debug_output_shows_no_value() {
        let mut memory = StageMemory::default();
        memory.put("hunter2".to_owned());
        assert_eq!(format!("{memory:?}"), "StageMemory(1 values)");
    }
}
