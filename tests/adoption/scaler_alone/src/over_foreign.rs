//! The typed order over a foreign library's handle, which records gradients.

use crate::foreign::{Kind, Tensor};
use binade_grad_scaler::core::{
    AmpTensor, DType, Error, ErrorKind, FoundInf, HostDevice, HostDeviceError, Named, Optimizer,
};
use binade_grad_scaler::{LossScale, Scaler};

/// A kind that the library does not have.
#[derive(Debug)]
pub struct NoSuchKind(DType);

impl std::fmt::Display for NoSuchKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "tensors are f16 or f32, and not {}", self.0)
    }
}

impl std::error::Error for NoSuchKind {}

impl Error for NoSuchKind {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Unsupported
    }
}

// glue: join
struct Mine(Tensor);

impl Clone for Mine {
    fn clone(&self) -> Self {
        Self(self.0.copy()) // storage of its own: a handle that shares it would follow every step
    }
}

impl AmpTensor for Mine {
    type Error = NoSuchKind;
    fn dtype(&self) -> DType {
        if self.0.kind() == Kind::Half { DType::F16 } else { DType::F32 }
    }
    fn cast(&self, to: DType) -> Result<Self, NoSuchKind> {
        match to {
            DType::F16 => Ok(Self(self.0.to_kind(Kind::Half).copy())),
            DType::F32 => Ok(Self(self.0.to_kind(Kind::Float).copy())),
            other => Err(NoSuchKind(other)),
        }
    }
    fn map_f32(&mut self, f: &mut dyn FnMut(usize, f32) -> f32) {
        let values = self.0.values();
        let mapped: Vec<_> = values.into_iter().enumerate().map(|(i, x)| f(i, x)).collect();
        self.0.set_values(&mapped);
    }
    fn scaled(&self, factor: f32) -> Result<Self, NoSuchKind> {
        Ok(Self(self.0.to_kind(Kind::Float).multiplied(factor))) // recorded by the library
    }
}
// end of glue

// glue: optimizer
struct Descent(Tensor);

impl Optimizer<Vec<Named<Option<Mine>>>, FoundInf> for Descent {
    type Error = HostDeviceError<NoSuchKind>;
    fn step(
        &mut self,
        grads: Vec<Named<Option<Mine>>>,
        found: &FoundInf,
    ) -> Result<(), Self::Error> {
        for grad in grads.into_iter().flat_map(|grad| grad.value).filter(|_| !found.is_raised()) {
            let mut weights = self.0.values();
            crate::descend(&mut weights, &grad.0.values());
            self.0.set_values(&weights);
        }
        Ok(())
    }
}
// end of glue

/// The weights after `steps` iterations, skipped ones among them, and how many were skipped.
///
/// # Errors
///
/// When the run diverges.
pub fn train(steps: usize) -> Result<(Vec<f32>, u64), Box<dyn std::error::Error>> {
    let weights = Tensor::of(&[0.0, 0.0]);
    let mut descent = Descent(weights.shallow_clone());
    let mut scaler = Scaler::new(HostDevice::<Mine>::new(), LossScale::dynamic())?;
    for _ in 0..steps {
        let loss = Mine(weights.to_kind(Kind::Half).loss());
        // glue: loop
        let grads = scaler.scale(&loss)?.backward(|scaled| {
            scaled.0.backward();
            Ok(vec![Named::new("weights", weights.take_grad().map(Mine))])
        })?;
        let step = grads.unscale()?.step(&mut descent)?;
        scaler.update(step)?.resolve()?.unless_diverged()?;
        // end of glue
    }
    Ok((weights.values(), scaler.state()?.skipped))
}
