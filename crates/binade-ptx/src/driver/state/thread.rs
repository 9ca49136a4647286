//! State of each host thread: its stack of contexts.

use std::cell::{Cell, RefCell};

use super::Handle;
use crate::driver::code::{Code, Result};

thread_local! {
    /// Stack of contexts, the current one last; `None` if the current one was set to none.
    static CONTEXTS: RefCell<Vec<Option<Handle>>> = const { RefCell::new(Vec::new()) };
    static IN_HOST_FUNCTION: Cell<bool> = const { Cell::new(false) };
}

pub(super) fn context() -> Option<Handle> {
    // A thread that is ending has none; destructors of what it owned may still call.
    let last = CONTEXTS.try_with(|contexts| contexts.borrow().last().copied().flatten());
    last.ok().flatten()
}

pub(super) fn set_context(context: Option<Handle>) {
    let _ = CONTEXTS.try_with(|contexts| {
        let mut contexts = contexts.borrow_mut();
        contexts.pop();
        contexts.push(context);
    });
}

pub(super) fn push_context(context: Handle) {
    let _ = CONTEXTS.try_with(|contexts| contexts.borrow_mut().push(Some(context)));
}

pub(super) fn pop_context() -> Result<Handle> {
    let popped = CONTEXTS.try_with(|contexts| contexts.borrow_mut().pop());
    popped.ok().flatten().flatten().ok_or(Code::InvalidContext)
}

/// Returns true if the driver is calling a host function on this thread, which must not call back.
pub(in crate::driver) fn in_host_function() -> bool {
    IN_HOST_FUNCTION.get()
}

pub(in crate::driver) fn while_in_host_function<R>(work: impl FnOnce() -> R) -> R {
    IN_HOST_FUNCTION.set(true);
    let result = work();
    IN_HOST_FUNCTION.set(false);
    result
}
