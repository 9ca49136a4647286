//! A tensor of one's own: three methods, and [`Native`] is a device with autocast, loss scaling and master weights.
//!
//! The tensor is everything above the line; below it, a model is fitted with a backward pass written by hand. Backward by
//! hand starts from the gradient of the loss towards itself, 1: scaling that is scaling the loss.

use crate::{Result, not_diverged};
use binade::core::Element;
use binade::prelude::*;
use half::f16;

/// A vector on the host, in f16 or f32.
#[derive(Clone, Debug, PartialEq)]
pub enum Vector {
    /// Sixteen bits an element.
    F16(Vec<f16>),
    /// Thirty-two.
    F32(Vec<f32>),
}

/// There are no vectors of this type.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("vectors are f16 or f32, and not {0}")]
pub struct NoSuchVector(DType);

impl binade::core::Error for NoSuchVector {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Unsupported
    }
}

impl Vector {
    /// The elements, widened.
    pub fn to_f32(&self) -> Vec<f32> {
        match self {
            Self::F16(values) => values.iter().map(|x| x.to_f32()).collect(),
            Self::F32(values) => values.clone(),
        }
    }
}

impl AmpTensor for Vector {
    type Error = NoSuchVector;

    fn dtype(&self) -> DType {
        match self {
            Self::F16(_) => DType::F16,
            Self::F32(_) => DType::F32,
        }
    }

    fn cast(&self, to: DType) -> std::result::Result<Self, NoSuchVector> {
        match to {
            DType::F16 => Ok(Self::F16(self.to_f32().into_iter().map(f16::from_f32).collect())),
            DType::F32 => Ok(Self::F32(self.to_f32())),
            _ => Err(NoSuchVector(to)),
        }
    }

    fn map_f32(&mut self, f: &mut dyn FnMut(usize, f32) -> f32) {
        fn each<E: Element>(values: &mut [E], f: &mut dyn FnMut(usize, f32) -> f32) {
            values.iter_mut().enumerate().for_each(|(i, x)| *x = E::from_f32(f(i, x.to_f32())));
        }
        match self {
            Self::F16(values) => each(values, f),
            Self::F32(values) => each(values, f),
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------------

/// What is to be found.
pub const TRUTH: [f32; 3] = [0.5, -1.25, 2.0];
const INPUTS: [[f32; 3]; 3] = [[1.0, 0.0, 0.5], [0.0, 1.0, -0.5], [0.5, -0.5, 1.0]];

/// What was fitted.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The weights, as the model stores them.
    pub weight: Vector,
    /// Steps that overflowed and were skipped, while the scale came down.
    pub skipped: u64,
}

/// Fits three weights, stored in f16 with f32 masters, to products of operands that a region casts.
///
/// # Errors
///
/// When the run diverges, or the tensor refuses.
pub fn run() -> Result<Fit> {
    let model = Model::new(vec![Named::new("weight", Vector::F32(vec![0.0; 3]))]);
    let (device, level) = (Native::<Vector>::new(), OptLevel::O2.with(DType::F16));
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
        not_diverged(&amp.scaler.update(step)?.resolve()?)?;
    }
    let weight = amp.optimizer.params[0].value.clone();
    Ok(Fit { weight, skipped: amp.scaler.state()?.skipped })
}
