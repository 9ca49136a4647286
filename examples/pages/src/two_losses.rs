//! Two losses and two optimizers, as a GAN has them, with one scaler and one update.
//!
//! A critic learns to score real numbers 1 and made ones 0; a maker shifts noise so that it scores 1. Both losses are on one
//! tape, and each backward goes to its own parameters. By default each step skips alone: if the critic's gradients overflow, the
//! maker has moved against a critic that has not. `skip_together` makes both skip. Either way the scale is backed off once, since
//! there is one update an iteration.

use crate::{Result, parameter};
use binade::grad_scaler::UnscaledGrads;
use binade::prelude::*;
use binade_cpu::{Cpu, Tensor};
use binade_tape::{Tape, Var};

type Trained = MasterOptimizer<Cpu>;

/// Two models, with the scaler and the region that they share.
#[derive(Debug)]
pub struct Gan {
    scaler: Scaler<Cpu>,
    region: Region,
    critic: Trained,
    maker: Trained,
}

impl Gan {
    /// Creates two models with two optimizers and one scaler.
    ///
    /// # Errors
    ///
    /// If the device refuses.
    pub fn new() -> Result<Self> {
        let scale = LossScale::dynamic().with_init_scale(1024.0)?;
        let level = OptLevel::O1.with(DType::F16).with_loss_scale(scale);
        let setup = Setup::new(Cpu, level)?;
        let critic = vec![parameter("weight", &[0.5], &[1, 1])?, parameter("bias", &[0.0], &[1])?];
        let maker = vec![parameter("shift", &[0.0], &[1])?];
        Ok(Self {
            scaler: setup.scaler()?,
            region: setup.region(),
            critic: setup.optimizer(Model::new(critic), UpdateRule::sgd(0.1))?,
            maker: setup.optimizer(Model::new(maker), UpdateRule::sgd(0.1))?,
        })
    }

    /// Runs one iteration on two real numbers. If `together`, both models skip when either overflows.
    ///
    /// # Errors
    ///
    /// If the device refuses. A skip is no error.
    pub fn step(&mut self, real: [f32; 2], together: bool) -> Result<Step> {
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
    ///
    /// # Errors
    ///
    /// If the device refuses.
    pub fn weights(&self) -> Result<[f32; 3]> {
        let [weight, bias] = [0, 1].map(|place| self.critic.params[place].value.to_f32());
        Ok([weight[0], bias[0], self.maker.params[0].value.to_f32()[0]])
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
