//! Contexts: a primary one for each device, counted by its holders, and the error that a fault leaves in one for good.

use super::{Driver, Handle, thread};
use crate::driver::code::{Code, Result};

#[derive(Debug, Default)]
pub(crate) struct Context {
    pub(crate) device: usize,
    /// Error of an earlier kernel. CUDA calls it sticky: it lasts until the context ends.
    pub(crate) fault: Option<Code>,
    /// Stream that handle 0 means, from its first use on.
    pub(crate) legacy: Option<Handle>,
}

/// Primary context of a device, and the number of its holders.
#[derive(Debug)]
pub(crate) struct Primary {
    context: Handle,
    holders: u32,
}

impl Driver {
    pub(crate) fn retain_primary(&mut self, device: usize) -> Handle {
        if let Some(primary) = self.primary.get_mut(&device) {
            primary.holders += 1;
            return primary.context;
        }
        let context = self.contexts.insert(Context { device, ..Context::default() });
        self.primary.insert(device, Primary { context, holders: 1 });
        context
    }

    /// Releases the primary context once. The last release ends it with all that is in it.
    pub(crate) fn release_primary(&mut self, device: usize) -> Result {
        let primary = self.primary.get_mut(&device).ok_or(Code::InvalidContext)?;
        primary.holders -= 1;
        if primary.holders > 0 {
            return Ok(());
        }
        self.primary.remove(&device).map_or(Ok(()), |primary| self.end(primary.context))
    }

    fn end(&mut self, context: Handle) -> Result {
        self.contexts.remove(context).map_err(|_| Code::InvalidContext)?;
        let streams = &self.streams;
        let here =
            |stream: Handle| streams.get(stream).is_ok_and(|stream| stream.context == context);
        self.captures.retain(|capture| !here(capture.stream));
        self.streams.retain(|stream| stream.context != context);
        self.events.retain(|event| event.context != context);
        self.modules.retain(|module| module.context != context);
        self.functions.retain(|function| function.context != context);
        self.free_all(context);
        Ok(())
    }

    pub(crate) fn current_context() -> Handle {
        thread::context().unwrap_or(0)
    }

    /// Sets the thread's context. Handle 0 leaves the thread without one.
    pub(crate) fn set_current_context(&self, context: Handle) -> Result {
        if context != 0 {
            self.contexts.get(context).map_err(|_| Code::InvalidContext)?;
        }
        thread::set_context((context != 0).then_some(context));
        Ok(())
    }

    /// Returns the thread's context, which must be alive and without a fault.
    pub(crate) fn context(&self) -> Result<Handle> {
        let context = thread::context().ok_or(Code::InvalidContext)?;
        self.unfaulted(context)?;
        Ok(context)
    }

    /// Returns the sticky error of a context, or an error if it is destroyed.
    pub(crate) fn unfaulted(&self, context: Handle) -> Result {
        let context = self.contexts.get(context).map_err(|_| Code::ContextIsDestroyed)?;
        context.fault.map_or(Ok(()), Err)
    }
}
