//! Tensor of one's own: with three methods, in `own_tensor/vector.rs`, [`HostDevice`] is a device that has everything.
//!
//! A region casts its operands, a scaler unscales and checks its gradients, and its weights, stored in f16, have f32 masters. The
//! backward pass is written by hand. It starts from the gradient of the loss with respect to itself, which is 1: scaling that is
//! scaling the loss.

mod vector;

pub use vector::{NoSuchVector, Vector};

use crate::Result;
use binade::prelude::*;

/// Weights to be found.
pub const TRUTH: [f32; 3] = [0.5, -1.25, 2.0];
const INPUTS: [[f32; 3]; 3] = [[1.0, 0.0, 0.5], [0.0, 1.0, -0.5], [0.5, -0.5, 1.0]];

/// Result of a fit.
#[derive(Clone, Debug)]
pub struct Fit {
    /// Weights, as the model stores them.
    pub weight: Vector,
    /// Number of steps that overflowed and were skipped, while the scale came down.
    pub skipped: u64,
}

/// Fits three weights, stored in f16 with f32 masters, to products of operands that a region casts.
///
/// # Errors
///
/// If the run diverges, or the tensor refuses.
pub fn run() -> Result<Fit> {
    let model = Model::new(vec![Named::new("weight", Vector::F32(vec![0.0; 3]))]);
    let (device, level) = (HostDevice::<Vector>::new(), OptLevel::O2.with(DType::F16));
    let mut amp = initialize(device, model, UpdateRule::sgd(0.5), level)?;
    for input in INPUTS.iter().cycle().take(300) {
        let target: f32 = input.iter().zip(TRUTH).map(|(x, w)| x * w).sum();
        let (x, w) = (Vector::F32(input.to_vec()), &amp.optimizer.params[0].value);
        let [x, w] = Region::f16().open(&device).cast(Op::MATMUL, "", [&x, w])?;
        let y: f32 = x.to_f32().iter().zip(w.to_f32()).map(|(x, w)| x * w).sum();

        let grads = amp.scaler.scale(&Vector::F32(vec![1.0]))?.backward(|one| {
            let towards_y = 2.0 * (y - target) * one.to_f32()[0];
            let mut grad = x.into_owned();
            grad.map_f32(&mut |_, x| x * towards_y);
            Ok(vec![Named::new("weight", Some(grad))])
        })?;
        let step = grads.unscale()?.clip_norm(10.0)?.step(&mut amp.optimizer)?;
        amp.scaler.update(step)?.resolve()?.unless_diverged()?;
    }
    let weight = amp.optimizer.params[0].value.clone();
    Ok(Fit { weight, skipped: amp.scaler.state()?.skipped })
}
