//! Two losses and two optimizers, as a GAN has them, with one scaler and one update.
//!
//! A critic learns to score real numbers 1 and made ones 0; a maker shifts noise so that it scores 1. Both losses are on one
//! tape, and each backward goes to its own parameters. By default each step skips alone: if the critic's gradients overflow, the
//! maker has moved against a critic that has not. `skip_together` makes both skip. Either way the scale is backed off once, since
//! there is one update an iteration.

use binade::grad_scaler::UnscaledGrads;
use binade::prelude::*;
use binade_cpu::{Cpu, Tensor};
use binade_example_pages::{Result, parameter};
use binade_tape::{Tape, Var};

type Trained = MasterOptimizer<Cpu>;

/// Two models, with the scaler and the region that they share.
#[derive(Debug)]
struct Gan {
    scaler: Scaler<Cpu>,
    region: Region,
    critic: Trained,
    maker: Trained,
}

impl Gan {
    /// Creates two models with two optimizers and one scaler.
    fn new() -> Result<Self> {
        let scale = LossScale::dynamic().with_init_scale(1024.0)?;
        let level = Properties { loss_scale: scale, ..OptLevel::O1.with(DType::F16) };
        let setup = Setup::new(Cpu, level)?;
        let critic = vec![parameter("weight", &[0.5], &[1, 1])?, parameter("bias", &[0.0], &[1])?];
        let maker = vec![parameter("shift", &[0.0], &[1])?];
        Ok(Self {
            scaler: setup.scaler()?,
            region: setup.region.clone(),
            critic: setup.optimizer(Model::new(critic), UpdateRule::sgd(0.1))?,
            maker: setup.optimizer(Model::new(maker), UpdateRule::sgd(0.1))?,
        })
    }

    /// Runs one iteration on two real numbers. If `together`, both models skip when either overflows.
    fn step(&mut self, real: [f32; 2], together: bool) -> Result<Step> {
        let tape = Tape::new(Cpu, &self.region);
        let critic = tape.parameters(&self.critic.params);
        let maker = tape.parameters(&self.maker.params);
        let (critic_loss, maker_loss) = losses(&tape, &critic, &maker, real)?;

        let scaled = self.scaler.scale(&critic_loss)?;
        let critic = scaled.backward(|loss| loss.backward_to(&critic))?.unscale()?.named("critic");
        let scaled = self.scaler.scale(&maker_loss)?;
        let maker = scaled.backward(|loss| loss.backward_to(&maker))?.unscale()?.named("maker");
        let pending = if together {
            let [critic, maker] = UnscaledGrads::skip_together([critic, maker])?;
            critic.step(&mut self.critic)?.and(maker.step(&mut self.maker)?)
        } else {
            critic.step(&mut self.critic)?.and(maker.step(&mut self.maker)?)
        };
        Ok(self.scaler.update(pending)?.resolve()?)
    }

    /// Returns the critic's weight and bias, and the maker's shift.
    fn weights(&self) -> [f32; 3] {
        let [weight, bias] = [0, 1].map(|place| self.critic.params[place].value.to_f32());
        [weight[0], bias[0], self.maker.params[0].value.to_f32()[0]]
    }
}

/// Returns least-squares losses (arXiv 1611.04076) for the critic and for the maker.
fn losses(
    tape: &Tape<Cpu>,
    critic: &[Var<Cpu>],
    maker: &[Var<Cpu>],
    real: [f32; 2],
) -> Result<(Var<Cpu>, Var<Cpu>)> {
    let column = |values: [f32; 2]| {
        Tensor::new(values.to_vec(), &[2, 1]).map(|column| tape.constant(column))
    };
    let score = |numbers: &Var<Cpu>| numbers.linear(&critic[0], Some(&critic[1]));
    let (ones, zeros) = (column([1.0; 2])?, column([0.0; 2])?);
    let made = column([-0.5, 0.5])?.bias_add(&maker[0])?;
    let on_real = score(&column(real)?)?.mse_loss(&ones)?;
    let on_made = score(&made.detach())?.mse_loss(&zeros)?;
    Ok((on_real.add(&on_made)?, score(&made)?.mse_loss(&ones)?))
}

fn main() -> Result<()> {
    for together in [false, true] {
        let mut gan = Gan::new()?;
        println!("skip {}", if together { "together" } else { "alone" });
        for real in [[1.5, 2.5], [1e5, 2.5], [1.75, 2.25]] {
            let step = gan.step(real, together)?;
            println!("  {}", step.report());
            let [weight, bias, shift] = gan.weights();
            println!("    critic {weight:.4} {bias:.4}, maker {shift:.4}");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: [f32; 2] = [1.5, 2.5];
    /// Real numbers that overflow the critic's input in f16; the maker never sees them.
    const BAD: [f32; 2] = [1e5, 2.5];

    #[test]
    fn alone_the_one_that_overflowed_skips_and_the_other_moves() {
        let mut gan = Gan::new().unwrap();
        let before = gan.weights();
        let step = gan.step(BAD, false).unwrap();
        let after = gan.weights();
        assert_eq!(after[..2], before[..2]);
        assert_ne!(after[2], before[2]);
        let skipped = step.report().steps.iter().map(|step| (&*step.name, step.skipped));
        assert_eq!(skipped.collect::<Vec<_>>(), [("critic", true), ("maker", false)]);
    }

    #[test]
    fn together_neither_moves_and_the_report_says_for_whom() {
        let mut gan = Gan::new().unwrap();
        let before = gan.weights();
        let step = gan.step(BAD, true).unwrap();
        assert_eq!(gan.weights(), before);
        assert!(matches!(step, Step::Skipped(_)), "{step:?}");
        let text = step.report().to_string();
        assert!(text.contains("maker: skipped together for weight[0]"), "{text}");
    }

    #[test]
    fn one_overflow_backs_the_shared_scale_off_once() {
        for together in [false, true] {
            let mut gan = Gan::new().unwrap();
            let scale = gan.step(BAD, together).unwrap().report().scale;
            assert_eq!((scale.before, scale.exponent, scale.updates), (10, 9, 1));
        }
    }

    #[test]
    fn without_an_overflow_both_ways_take_the_same_steps() {
        let run = |together| {
            let mut gan = Gan::new().unwrap();
            for _ in 0..20 {
                assert!(gan.step(GOOD, together).unwrap().is_applied());
            }
            gan.weights()
        };
        assert_eq!(run(false), run(true));
        assert!(
            run(true)[2] > 0.5,
            "the maker has moved towards the real numbers: {:?}",
            run(true)
        );
    }
}
