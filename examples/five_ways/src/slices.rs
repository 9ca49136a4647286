//! Training on plain slices: products written as loops, torch's scaler checked while it runs, and the step on slices.
//!
//! Two crates are enough, `binade-interchange` for [`ProtocolScaler`] and `binade-master-weights` for [`step`]. There is no
//! tensor at all, and so no device that the typed order could work on.

mod products;

use crate::Result;
use binade::core::{DType, Element};
use binade_example_shared::five_ways::{
    Batch, GROWTH_INTERVAL, LEARNING_RATE, Row, Run, Scaling, Task,
};
use binade_interchange::protocol::{ProtocolScaler, StateDict, Verdict};
use binade_master_weights::step::{Factor, Params, Slices, step};
use binade_master_weights::{StepConstants, UpdateRule};
use half::{bf16, f16};
use products::{backward, forward};

const ADAM: u64 = 0;

/// Trains, and returns the row of the table.
///
/// # Errors
///
/// If calls come in the wrong order.
pub fn row(task: &Task, precision: DType) -> Result<Row> {
    let run = match precision {
        DType::BF16 => train::<bf16>(task, None),
        DType::F16 => {
            let scaler = ProtocolScaler::new(StateDict {
                growth_interval: GROWTH_INTERVAL.into(),
                ..StateDict::default()
            })?;
            train::<f16>(task, Some(scaler))
        }
        _ => train::<f32>(task, None),
    }?;
    Ok(Row::new(("slices", precision, "Binade"), task, &run))
}

fn train<E: Element>(task: &Task, mut scaler: Option<ProtocolScaler>) -> Result<Run> {
    let mut model: Vec<Stored<E>> =
        task.parameters.iter().map(|p| Stored::new(&p.values)).collect();
    let rule = UpdateRule::adam(LEARNING_RATE);
    let (mut losses, mut applied, mut skipped) = (Vec::new(), 0, 0);
    for Batch { pixels, labels } in task.batches() {
        let scale = scaler.as_mut().map_or(Ok(1.0), |scaler| scaler.scale(1.0_f32))?;
        let pass = forward(&weights(&model), &pixels);
        let (loss, mut grads) = backward(&weights(&model), &pass, &labels, scale);
        losses.push(loss);
        if !judge(scaler.as_mut(), &mut grads)? {
            skipped += 1;
            continue;
        }
        let constants = StepConstants::at(&rule, applied);
        for (stored, grad) in model.iter_mut().zip(&grads) {
            step(&constants, Factor::ONE, stored.slices(grad))?;
        }
        applied += 1;
    }
    let logits = forward(&weights(&model), &task.test.pixels).logits();
    let scaling = scaler.map(|scaler| Scaling { skipped, scale: scaler.get_scale() });
    let weights = model.iter().map(|stored| stored.low.iter().map(|x| x.to_f32()).collect());
    Ok(Run { losses, weights: weights.collect(), logits, scaling })
}

/// Divides gradients by the scale and moves it. Returns true if the step may be taken.
fn judge(scaler: Option<&mut ProtocolScaler>, grads: &mut [Vec<f32>]) -> Result<bool> {
    let Some(scaler) = scaler else { return Ok(true) };
    let mut slices: Vec<_> = grads.iter_mut().map(|grad| Some(&mut grad[..])).collect();
    let verdict = scaler.step(ADAM, &mut slices)?;
    scaler.update()?;
    Ok(verdict == Verdict::Apply)
}

/// Parameter that the model computes with, its master, and Adam's moments.
struct Stored<E> {
    low: Vec<E>,
    master: Vec<f32>,
    moments: [Vec<f32>; 2],
}

impl<E: Element> Stored<E> {
    fn new(values: &[f32]) -> Self {
        let low = values.iter().map(|&x| E::from_f32(x)).collect();
        let zeros = vec![0.0; values.len()];
        Self { low, master: values.to_vec(), moments: [zeros.clone(), zeros] }
    }

    fn slices<'a>(&'a mut self, grads: &'a [f32]) -> Slices<'a, f32, E> {
        let params = Params::Copy { master: &mut self.master, low: &mut self.low };
        let [mean, square] = &mut self.moments;
        Slices { grads, params, moments: [mean, square, &mut []] }
    }
}

fn weights<E>(model: &[Stored<E>]) -> Vec<&[E]> {
    model.iter().map(|stored| &stored.low[..]).collect()
}
