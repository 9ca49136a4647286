//! Objects by handle. A handle is used once and encodes its kind, so a table finds neither a stale handle nor one of another kind.

use std::collections::BTreeMap;

use super::Handle;
use crate::driver::code::{Code, Result};

/// Table whose handles no table of another `KIND` has.
#[derive(Debug)]
pub(crate) struct Table<T, const KIND: u64> {
    made: Handle,
    entries: BTreeMap<Handle, T>,
}

impl<T, const KIND: u64> Default for Table<T, KIND> {
    fn default() -> Self {
        Self { made: 0, entries: BTreeMap::new() }
    }
}

impl<T, const KIND: u64> Table<T, KIND> {
    pub(crate) fn insert(&mut self, entry: T) -> Handle {
        // Handles are sixteen apart, like addresses of objects.
        self.made += 16;
        let handle = (KIND << 40) + self.made;
        self.entries.insert(handle, entry);
        handle
    }

    pub(crate) fn get(&self, handle: Handle) -> Result<&T> {
        self.entries.get(&handle).ok_or(Code::InvalidHandle)
    }

    pub(crate) fn get_mut(&mut self, handle: Handle) -> Result<&mut T> {
        self.entries.get_mut(&handle).ok_or(Code::InvalidHandle)
    }

    pub(crate) fn remove(&mut self, handle: Handle) -> Result<T> {
        self.entries.remove(&handle).ok_or(Code::InvalidHandle)
    }

    /// Removes an entry that is no longer used.
    pub(crate) fn delete(&mut self, handle: Handle) -> Result {
        self.remove(handle).map(|_| ())
    }

    pub(crate) fn set(&mut self, handle: Handle, entry: T) -> Result {
        *self.get_mut(handle)? = entry;
        Ok(())
    }

    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.entries.retain(|_, entry| keep(entry));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Handle, &T)> {
        self.entries.iter().map(|(handle, entry)| (*handle, entry))
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.entries.values_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_of_another_kind_or_of_what_is_gone_is_invalid() {
        let (mut streams, mut events) = (Table::<_, 1>::default(), Table::<_, 2>::default());
        let (stream, event) = (streams.insert("stream"), events.insert("event"));
        assert_eq!(streams.get(event), Err(Code::InvalidHandle));
        assert_eq!(streams.remove(stream), Ok("stream"));
        assert_eq!(streams.get(stream), Err(Code::InvalidHandle));
        assert_ne!(streams.insert("next"), stream);
        assert_eq!(events.get(event), Ok(&"event"));
    }
}
