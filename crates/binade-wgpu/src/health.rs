//! Errors that end a device. wgpu panics if no handler is set; here its messages are kept and returned as errors.

use crate::{Error, Wgpu, WgpuError};
use std::sync::{Arc, OnceLock};
use wgpu::{Device, ErrorFilter, PollType};

/// Error after which nothing on the device is reliable, if there was one.
#[derive(Debug, Default)]
pub(crate) struct Health {
    ended: OnceLock<Error>,
}

impl Health {
    /// Sets the device's error handlers.
    pub(crate) fn watch(self: &Arc<Self>, device: &Device) {
        let health = self.clone();
        device.set_device_lost_callback(move |reason, cause| {
            health.end(WgpuError::Lost { cause: format!("{reason:?}: {cause}") }.into());
        });
        let health = self.clone();
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            health.end(failed("a call", &error));
        }));
    }

    /// Returns the error of a device that has ended.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.ended.get().map_or(Ok(()), |error| Err(error.clone()))
    }

    /// Records the error that ends the device. The first one is kept.
    pub(crate) fn end(&self, error: Error) -> Error {
        self.ended.get_or_init(|| error).clone()
    }
}

impl Wgpu {
    /// Returns the result of `call`, or the error that wgpu reports for it.
    pub(crate) fn scoped<T>(
        &self,
        what: &'static str,
        call: impl FnOnce() -> T,
    ) -> Result<T, Error> {
        let device = &self.inner.device;
        let filters = [ErrorFilter::Internal, ErrorFilter::OutOfMemory, ErrorFilter::Validation];
        let scopes = filters.map(|filter| device.push_error_scope(filter));
        let made = call();
        // The last scope pushed is popped first.
        let errors = scopes.into_iter().rev().map(|scope| pollster::block_on(scope.pop()));
        let Some(error) = errors.fold(None, Option::or) else {
            return Ok(made);
        };
        // A lost device makes invalid objects, and reports its loss at the next poll.
        let _ = device.poll(PollType::Poll);
        self.inner.health.check()?;
        Err(failed(what, &error))
    }
}

fn failed(call: &'static str, error: &wgpu::Error) -> Error {
    let cause = match error {
        wgpu::Error::OutOfMemory { .. } => return WgpuError::OutOfMemory { call }.into(),
        wgpu::Error::Validation { description, .. } | wgpu::Error::Internal { description, .. } => {
            description.trim().to_owned()
        }
    };
    WgpuError::Call { call, cause }.into()
}
