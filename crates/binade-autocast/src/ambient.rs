//! Ambient region of a thread, for code that cannot pass one: a guard over the same value.

use crate::{Autocast, Region};
use std::any::TypeId;
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;

struct Entry {
    guard: u64,
    /// Type of device that the region is for; `None` for all.
    device: Option<TypeId>,
    region: Region,
}

thread_local! {
    /// Regions entered on this thread and not yet left, oldest first.
    static ENTERED: RefCell<Vec<Entry>> = const { RefCell::new(Vec::new()) };
    static GUARDS: Cell<u64> = const { Cell::new(0) };
}

/// Guard that leaves the ambient region when dropped, by return or by panic. It stays on its thread.
///
/// Guards may be dropped in any order: each removes its own entry and no other.
#[must_use = "the region is left when the guard is dropped"]
#[derive(Debug)]
pub struct Ambient {
    guard: u64,
    not_send: PhantomData<*const ()>,
}

impl Region {
    /// Makes this the thread's ambient region, for devices of every type, until the guard is dropped.
    pub fn enter(&self) -> Ambient {
        self.push(None)
    }

    /// Makes this the thread's ambient region for devices of type `D` alone.
    pub fn enter_for<D: Autocast + 'static>(&self) -> Ambient {
        self.push(Some(TypeId::of::<D>()))
    }

    /// Returns the region entered last for devices of every type, to use here or to carry elsewhere: a new thread starts with
    /// none.
    pub fn ambient() -> Option<Self> {
        innermost(|device| device.is_none())
    }

    /// Returns the region entered last that applies to devices of type `D`.
    pub fn ambient_for<D: Autocast + 'static>() -> Option<Self> {
        innermost(|device| device.is_none_or(|d| d == TypeId::of::<D>()))
    }

    fn push(&self, device: Option<TypeId>) -> Ambient {
        let guard = GUARDS.get();
        GUARDS.set(guard + 1);
        let entry = Entry { guard, device, region: self.clone() };
        ENTERED.with_borrow_mut(|entered| entered.push(entry));
        Ambient { guard, not_send: PhantomData }
    }
}

fn innermost(meant: impl Fn(Option<TypeId>) -> bool) -> Option<Region> {
    ENTERED.with_borrow(|entered| {
        entered.iter().rev().find(|entry| meant(entry.device)).map(|entry| entry.region.clone())
    })
}

impl Drop for Ambient {
    fn drop(&mut self) {
        // The entry is taken out first and dropped after: a policy's own drop may look at the ambient region.
        let left = ENTERED.try_with(|entered| {
            let mut entered = entered.borrow_mut();
            let at = entered.iter().rposition(|entry| entry.guard == self.guard)?;
            Some(entered.remove(at))
        });
        drop(left);
    }
}
