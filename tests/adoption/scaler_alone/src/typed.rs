//! The typed order over `Vec<f32>`, with an optimizer of one's own.

use crate::{descend, gradient};
use binade_grad_scaler::core::{
    AmpTensor, DType, FoundInf, HostDevice, HostDeviceError, Named, Optimizer,
};
use binade_grad_scaler::{LossScale, Scaler, Step};
use std::convert::Infallible;

type Grads = Vec<Named<Option<Mine>>>;
type Error = HostDeviceError<Infallible>;

/// The result of a run.
#[derive(Debug)]
pub struct Trained {
    /// The weights.
    pub weights: Vec<f32>,
    /// The lines printed for skipped steps.
    pub told: Vec<String>,
}

// glue: join
#[derive(Clone)]
struct Mine(Vec<f32>);

impl AmpTensor for Mine {
    type Error = Infallible;
    fn dtype(&self) -> DType {
        DType::F32
    }
    fn cast(&self, _: DType) -> Result<Self, Infallible> {
        Ok(self.clone())
    }
    fn map_f32(&mut self, f: &mut dyn FnMut(usize, f32) -> f32) {
        self.0.iter_mut().enumerate().for_each(|(i, x)| *x = f(i, *x));
    }
}

struct Descent(Vec<f32>);

impl Optimizer<Grads, FoundInf> for Descent {
    type Error = Error;
    fn step(&mut self, grads: Grads, found: &FoundInf) -> Result<(), Error> {
        if !found.is_raised() {
            grads.into_iter().flat_map(|g| g.value).for_each(|g| descend(&mut self.0, &g.0));
        }
        Ok(())
    }
}
// end of glue

/// The weights after `steps` iterations, skipped ones among them.
///
/// # Errors
///
/// When the run diverges.
pub fn train(steps: usize) -> Result<Trained, Box<dyn std::error::Error>> {
    let (mut descent, mut told) = (Descent(vec![0.0; 2]), Vec::new());
    // glue: loop
    let mut scaler = Scaler::new(HostDevice::<Mine>::new(), LossScale::dynamic())?;
    let one = Mine(vec![1.0]);
    // end of glue
    for _ in 0..steps {
        // glue: loop
        let grads = scaler.scale(&one)?.backward(|seed| {
            let gradient = Mine(gradient(&descent.0, seed.0[0]));
            Ok(vec![Named::new("weights", Some(gradient))])
        })?;
        let step = grads.unscale()?.step(&mut descent)?;
        match scaler.update(step)?.resolve()? {
            Step::Applied(_) => {}
            Step::Skipped(report) => told.push(report.to_string()),
            Step::Diverged(report) => return Err(report.into()),
        }
        // end of glue
    }
    Ok(Trained { weights: descent.0, told })
}
