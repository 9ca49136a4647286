//! Clipping: limits are in the loss's own units, and the report has the norm from before.
//!
//! Gradients leave backward 65536 times too large. Only [`UnscaledGrads`] have the methods below, so that a limit cannot be put
//! on scaled ones. A norm is taken over all parameters together; a norm limit keeps the gradient's direction, a limit by value
//! does not.

use binade::grad_scaler::UnscaledGrads;
use binade::prelude::*;
use binade_cpu::{Cpu, Tensor};
use binade_example_pages::{Result, parameter};
use binade_tape::{Tape, Var};

type Grads = UnscaledGrads<Cpu>;

/// Applied gradients of one way of clipping, and the reported norm.
#[derive(Clone, Debug, PartialEq)]
struct Clipped {
    /// Way of clipping.
    how: &'static str,
    /// Gradients as the optimizer applied them: two of `weight`, one of `bias`.
    applied: Vec<f32>,
    /// Norm before clipping, if clipping measured it.
    norm: Option<f32>,
}

/// Clips the same gradients in four ways.
fn run() -> Result<[Clipped; 4]> {
    Ok([
        // An infinite limit only measures.
        step("not at all", |grads| grads.clip_norm(f32::INFINITY))?,
        step("L2 norm to 13", |grads| grads.clip_norm(13.0))?,
        step("infinity norm to 6", |grads| grads.clip_inf_norm(6.0))?,
        step("values to 7", |grads| grads.clip_value(7.0))?,
    ])
}

/// Takes one step from zero at rate 1, so that the parameters end as minus the applied gradients.
fn step<F>(how: &'static str, clip: F) -> Result<Clipped>
where
    F: FnOnce(Grads) -> std::result::Result<Grads, binade_cpu::Error>,
{
    let params = vec![parameter("weight", &[0.0; 2], &[2])?, parameter("bias", &[0.0], &[1])?];
    let level = OptLevel::O1.with(DType::F16);
    let mut amp = initialize(Cpu, Model::new(params), UpdateRule::sgd(1.0), level)?;

    let tape = Tape::new(Cpu, &amp.region);
    let loss = loss(&tape, &amp.optimizer.params)?;
    // Unscales the gradients, as torch's `scaler.unscale_(optimizer)` does in its recipe.
    let grads = amp.scaler.scale(&loss)?.backward(Var::backward)?.unscale()?;
    // Clips as usual, since they are unscaled, and steps, which unscales no second time.
    let step = clip(grads)?.step(&mut amp.optimizer)?;
    let outcome = amp.scaler.update(step)?.resolve()?;
    let norm = outcome.into_applied()?.steps[0].norm;

    let mut applied = Vec::new();
    for param in &amp.optimizer.params {
        applied.extend(param.value.to_f32().iter().map(|x| -x));
    }
    Ok(Clipped { how, applied, norm })
}

/// Returns 6·weight₀ + 8·weight₁ + 24·bias: its gradients are 6, 8 and 24, of norm 26.
fn loss(tape: &Tape<Cpu>, params: &[Named<Tensor>]) -> Result<Var<Cpu>> {
    let p = tape.parameters(params);
    let weights = p[0].mul(&tape.constant(Tensor::new(vec![6.0_f32, 8.0], &[2])?))?;
    let bias = p[1].mul(&tape.constant(Tensor::new(vec![24.0_f32], &[1])?))?;
    Ok(weights.sum()?.add(&bias.sum()?)?)
}

fn main() -> Result<()> {
    println!("{:20} {:>24} {:>20}", "clipped", "applied", "norm before");
    for Clipped { how, applied, norm } in run()? {
        let norm = norm.map_or("not measured".to_owned(), |norm| norm.to_string());
        println!("{how:20} {:>24} {norm:>20}", format!("{applied:?}"));
    }
    println!("Norm limits shrink all by one factor; the limit by value has turned the gradient.");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_in_the_losss_own_units_whatever_the_scale() {
        let applied = run().unwrap().map(|clipped| clipped.applied);
        let expected = [[6.0, 8.0, 24.0], [3.0, 4.0, 12.0], [1.5, 2.0, 6.0], [6.0, 7.0, 7.0]];
        assert_eq!(applied, expected.map(Vec::from));
    }

    #[test]
    fn the_report_has_the_norm_from_before_clipping_where_one_was_measured() {
        let norms = run().unwrap().map(|clipped| clipped.norm);
        assert_eq!(norms, [Some(26.0), Some(26.0), Some(24.0), None]);
    }
}
