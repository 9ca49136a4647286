//! What the driver keeps for each thread of the host: its contexts, and how strict it is about captures of others.

use std::cell::{Cell, RefCell};

use super::{Handle, capture::Mode};
use crate::driver::code::{Code, Result};

thread_local! {
    /// The current context is the last; `None` where somebody set it to none.
    static CONTEXTS: RefCell<Vec<Option<Handle>>> = const { RefCell::new(Vec::new()) };
    static MODE: Cell<Mode> = const { Cell::new(Mode::Global) };
    static IN_HOST_FUNCTION: Cell<bool> = const { Cell::new(false) };
}

pub(super) fn context() -> Option<Handle> {
    CONTEXTS.with_borrow(|contexts| contexts.last().copied().flatten())
}

pub(super) fn set_context(context: Option<Handle>) {
    CONTEXTS.with_borrow_mut(|contexts| {
        contexts.pop();
        contexts.push(context);
    });
}

pub(super) fn push_context(context: Handle) {
    CONTEXTS.with_borrow_mut(|contexts| contexts.push(Some(context)));
}

pub(super) fn pop_context() -> Result<Handle> {
    let popped = CONTEXTS.with_borrow_mut(Vec::pop);
    popped.flatten().ok_or(Code::InvalidContext)
}

pub(super) fn mode() -> Mode {
    MODE.get()
}

/// The thread's mode until now.
pub(super) fn exchange_mode(mode: Mode) -> Mode {
    MODE.replace(mode)
}

/// Whether the driver is calling a function of the host's on this thread, which must not call back.
pub(in crate::driver) fn in_host_function() -> bool {
    IN_HOST_FUNCTION.get()
}

pub(in crate::driver) fn while_in_host_function(work: impl FnOnce()) {
    IN_HOST_FUNCTION.set(true);
    work();
    IN_HOST_FUNCTION.set(false);
}
