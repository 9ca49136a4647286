//! Contract between the code that unscales gradients and the optimizer that applies them.

use crate::Error;
use std::sync::Arc;

/// Optimizer that applies a set of gradients, or leaves everything as it was.
///
/// `G` is the set of gradients and `F` its found-inf result; both may be on a device.
///
/// # For implementers
///
/// * Where `found` is raised, parameters, masters, moments, step count and decay keep their bits.
/// * A set without any gradient, for parameters that want some, is an error: `TrainError::NoGradients`. torch says "No
///   inf checks were recorded for this optimizer" there.
/// * Any raised value skips: two devices' flags may have been added up.
/// * A step evaluates no loss and takes no closure: what it evaluated would be scaled and unchecked. Whoever needs several
///   evaluations, as L-BFGS does, is given the gradients of each in a step of its own.
/// * `found` is tested where it lives. An optimizer that must read it to the host says so in its docs.
pub trait Optimizer<G, F> {
    /// Error of the device.
    type Error: Error;

    /// Takes one step with `grads` unless `found` is raised.
    ///
    /// # Errors
    ///
    /// If the device fails, or `grads` does not match the parameters. An overflow is not an error.
    fn step(&mut self, grads: G, found: &F) -> Result<(), Self::Error>;

    /// Returns names of parameters without an entry in `grads`, not even an entry without a gradient. A step does not change them, and its report
    /// lists them as missing. The provided method returns none.
    fn unlisted(&self, grads: &G) -> Vec<Arc<str>> {
        let _ = grads;
        Vec::new()
    }
}

impl<G, F, O: Optimizer<G, F> + ?Sized> Optimizer<G, F> for &mut O {
    type Error = O::Error;

    fn step(&mut self, grads: G, found: &F) -> Result<(), Self::Error> {
        (**self).step(grads, found)
    }

    fn unlisted(&self, grads: &G) -> Vec<Arc<str>> {
        (**self).unlisted(grads)
    }
}

impl<G, F, O: Optimizer<G, F> + ?Sized> Optimizer<G, F> for Box<O> {
    type Error = O::Error;

    fn step(&mut self, grads: G, found: &F) -> Result<(), Self::Error> {
        (**self).step(grads, found)
    }

    fn unlisted(&self, grads: &G) -> Vec<Arc<str>> {
        (**self).unlisted(grads)
    }
}

// The compiler checks here that the trait is object safe.
const _: Option<&dyn Optimizer<(), (), Error = std::convert::Infallible>> = None;
