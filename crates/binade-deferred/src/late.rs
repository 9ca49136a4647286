//! Values that are computed later.

use crate::Error;
use std::sync::{Arc, OnceLock};

/// Place for a value, or for the error of its computation. It is written once; clones are the same place.
pub(crate) struct Late<T>(Arc<OnceLock<Result<T, Error>>>);

impl<T> Late<T> {
    /// Makes an empty place.
    pub(crate) fn empty() -> Self {
        Self(Arc::default())
    }

    /// Makes a place with a value that is known.
    pub(crate) fn known(value: T) -> Self {
        Self(Arc::new(OnceLock::from(Ok(value))))
    }

    /// Fills the place. A job does so once, and no two have the same place.
    pub(crate) fn set(&self, value: Result<T, Error>) {
        let _ = self.0.set(value);
    }

    /// Returns the value. Within a job it is there, since jobs run in the order they were queued in.
    pub(crate) fn get(&self) -> Result<&T, Error> {
        self.0.get().ok_or(Error::Foreign)?.as_ref().map_err(Clone::clone)
    }
}

impl<T: Clone> Late<T> {
    /// Returns the value, moved out if nobody else can ask for it, so that it may be changed in place.
    pub(crate) fn take(self) -> Result<T, Error> {
        match Arc::try_unwrap(self.0) {
            Ok(place) => place.into_inner().ok_or(Error::Foreign)?,
            Err(shared) => Self(shared).get().cloned(),
        }
    }
}

impl<T> Clone for Late<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}
