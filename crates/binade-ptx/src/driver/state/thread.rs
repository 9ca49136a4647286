//! State of each host thread: its context, and a call of a host function.

use std::cell::Cell;

use super::Handle;

thread_local! {
    static CONTEXT: Cell<Option<Handle>> = const { Cell::new(None) };
    static IN_HOST_FUNCTION: Cell<bool> = const { Cell::new(false) };
}

pub(crate) fn context() -> Option<Handle> {
    CONTEXT.get()
}

pub(crate) fn set_context(context: Option<Handle>) {
    CONTEXT.set(context);
}

/// Returns true if the driver is calling a host function on this thread, which must not call back.
pub(crate) fn in_host_function() -> bool {
    IN_HOST_FUNCTION.get()
}

pub(crate) fn while_in_host_function(work: impl FnOnce()) {
    IN_HOST_FUNCTION.set(true);
    work();
    IN_HOST_FUNCTION.set(false);
}
