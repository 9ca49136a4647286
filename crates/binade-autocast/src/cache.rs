//! Cache of parameters' casts, for as long as a region is open.

use crate::CacheKey;
use binade_core::DType;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Key of a cached cast. The version is not part of it: a newer cast replaces a stale one, so that a region in which parameters
/// change holds no more than one in which they do not.
type Slot = (u64, bool, DType);

/// Casts by tensor, gradient mode and type, each with the version it was made of.
#[derive(Debug)]
pub(crate) struct Cache<T>(Mutex<HashMap<Slot, (u64, T)>>);

impl<T> Default for Cache<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> Cache<T> {
    /// Returns the cast kept under `key`, or the one that `make` gives, and true if it was made.
    ///
    /// The lock is held while a cast is made, so that two threads that need the same one make it once.
    pub(crate) fn get_or_make<E>(
        &self,
        key: CacheKey,
        to: DType,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<(T, bool), E> {
        // A panic in `make` leaves the map as it was.
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = (key.id, key.grad, to);
        match kept.get(&slot) {
            Some((version, cast)) if *version == key.version => Ok((cast.clone(), false)),
            _ => {
                let cast = make()?;
                kept.insert(slot, (key.version, cast.clone()));
                Ok((cast, true))
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}
