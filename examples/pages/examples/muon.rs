//! Muon for the matrices of a model and Adam for the rest: two optimizers, one backward, one verdict.
//!
//! Muon's Newton–Schulz products run in bf16 by the cast policy, as the model's own do. Its masters, its momentum and Adam's moments
//! are f32. Both optimizers see the same finding, so that an overflow anywhere skips both.

use binade::Muon;
use binade::core::{FoundInf, GradSet};
use binade::master_weights::{Fp16Optimizer, MasterSet, MasterStep};
use binade::prelude::*;
use binade_cpu::{Cpu, Error, Gradients, Tensor};
use binade_example_pages::{Result, parameter};
use binade_tape::{Tape, Var};

const WIDTH: usize = 16;
const POINTS: usize = 24;

/// Two groups of parameters, each with an optimizer of its own.
struct Groups<F> {
    matrices: Fp16Optimizer<Cpu, F>,
    others: MasterOptimizer<Cpu>,
}

impl<F> Optimizer<Gradients, FoundInf> for Groups<F>
where
    F: FnMut(MasterStep<'_, Tensor>) -> std::result::Result<MasterSet<Tensor>, Error>,
{
    type Error = Error;

    fn step(&mut self, grads: Gradients, found: &FoundInf) -> std::result::Result<(), Error> {
        let is_matrix = |name: &str| self.matrices.params.iter().any(|param| &*param.name == name);
        let grads = Cpu.materialise(grads)?.into_iter();
        let (matrices, others): (Vec<_>, Vec<_>) = grads.partition(|grad| is_matrix(&grad.name));
        self.matrices.step(matrices.into(), found)?;
        self.others.step(others.into(), found)
    }
}

/// Returns the parameters of a model of three layers: those between are for Muon, biases, first and last layer for Adam.
fn start() -> Result<[Vec<Named<Tensor>>; 2]> {
    let values = |len: u16, scale: f32, phase: f32| -> Vec<f32> {
        (0..len).map(|i| (f32::from(i * i) * 0.7 + phase).sin() * scale).collect()
    };
    let square = |name, phase| parameter(name, &values(256, 0.25, phase), &[WIDTH, WIDTH]);
    let matrices = vec![square("mid.weight", 0.5)?, square("up.weight", 1.5)?];
    let others = vec![
        parameter("in.weight", &values(16, 2.0, 0.1), &[WIDTH, 1])?,
        parameter("in.bias", &values(16, 1.0, 0.3), &[WIDTH])?,
        parameter("mid.bias", &[0.0; WIDTH], &[WIDTH])?,
        parameter("out.weight", &values(16, 0.25, 2.0), &[1, WIDTH])?,
    ];
    Ok([matrices, others])
}

fn loss(tape: &Tape<Cpu>, matrices: &[Var<Cpu>], others: &[Var<Cpu>]) -> Result<Var<Cpu>> {
    let inputs: Vec<f32> = (0..24_u8).map(|i| f32::from(i) / 12.0 - 1.0).collect();
    let targets: Vec<f32> = inputs.iter().map(|x| (5.0 * x).sin()).collect();
    let column = |values| Tensor::new(values, &[POINTS, 1]).map(|it| tape.constant(it));
    let x = column(inputs)?.linear(&others[0], Some(&others[1]))?.tanh()?;
    let x = x.linear(&matrices[0], Some(&others[2]))?.tanh()?;
    let x = x.linear(&matrices[1], None)?.tanh()?;
    Ok(x.linear(&others[3], None)?.mse_loss(&column(targets)?)?)
}

/// Trains for some steps, of which one may be made to overflow, and returns the loss of each and whether it was applied.
fn run(lr: f64, steps: usize, bad: Option<usize>) -> Result<Vec<(f32, bool)>> {
    let region = Region::bf16();
    let [matrices, others] = start()?;

    let muon = Muon { lr, weight_decay: 0.0, ..Muon::default() };
    let state = muon.state(&Cpu, &matrices)?;
    let matrices =
        Fp16Optimizer::new(Cpu, matrices, DType::F32, |step| muon.step(&region.open(&Cpu), step))?;
    let adam = OptimizerConfig::new(UpdateRule::adam(0.01))?;
    let mut optimizer = Groups {
        matrices: matrices.with_state(&state)?,
        others: MasterOptimizer::new(Cpu, others, adam)?,
    };

    let mut scaler = Scaler::new(Cpu, LossScale::fixed(1.0)?)?;
    let mut seen = Vec::new();
    for step in 0..steps {
        let tape = Tape::new(Cpu, &region);
        let matrices = tape.parameters(&optimizer.matrices.params);
        let others = tape.parameters(&optimizer.others.params);
        let mut loss = loss(&tape, &matrices, &others)?;
        if bad == Some(step) {
            loss = loss.scaled_by(f32::INFINITY)?;
        }
        let grads = scaler.scale(&loss)?.backward(Var::backward)?.unscale()?;
        let step = grads.step(&mut optimizer)?;
        let applied = scaler.update(step)?.resolve()?.is_applied();
        seen.push((loss.tensor().to_f32()[0], applied));
    }
    Ok(seen)
}

fn main() -> Result<()> {
    for (name, lr) in [("Adam alone, matrices frozen", 0.0), ("Muon for the matrices", 0.02)] {
        println!("{name}");
        for (step, (loss, _)) in run(lr, 101, None)?.into_iter().enumerate().step_by(20) {
            println!("  step {step}: loss {loss:.5}");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn muon_moves_the_matrices_and_the_loss_falls_further() {
        let last = |lr| run(lr, 101, None).unwrap()[100].0;
        let [frozen, moved] = [0.0, 0.02].map(last);
        assert!(moved < 0.5 * frozen, "{moved}, {frozen}");
    }

    #[test]
    fn an_overflow_skips_both_groups() {
        let (bad, good) = (run(0.02, 4, Some(1)).unwrap(), run(0.02, 3, None).unwrap());
        assert_eq!([bad[0].1, bad[1].1, bad[2].1], [true, false, true]);
        // The step after the one that was skipped is at the same weights.
        assert_eq!([bad[2].0, bad[3].0], [good[1].0, good[2].0]);
    }
}
