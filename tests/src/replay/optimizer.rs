//! A recorded optimizer, stepped by our arithmetic.

use super::bits::{floats, same_bits};
use super::error::{Wrong, same};
use super::trace::{Hyper, State};
use binade_master_weights::step::{Factor, Params, Slices, step};
use binade_master_weights::{Adagrad, Adam, Sgd, StepConstants, UpdateRule};

/// Parameters and their state.
#[derive(Debug)]
pub(super) struct Optimizer {
    rule: UpdateRule,
    maximize: bool,
    params: Vec<Parameter>,
}

#[derive(Debug)]
struct Parameter {
    values: Vec<f32>,
    moments: [Vec<f32>; 3],
    /// Each parameter counts its own: one without a gradient is not stepped.
    applied: u64,
}

impl Optimizer {
    pub(super) fn new(kind: &str, hyper: &Hyper, params: &[Vec<u32>]) -> Result<Self, Wrong> {
        let rule = rule(kind, hyper)?;
        let params = params.iter().map(|bits| Parameter::new(&rule, bits)).collect();
        Ok(Self { rule, maximize: hyper.maximize, params })
    }

    /// Steps the parameters that have gradients.
    pub(super) fn step(&mut self, grads: &[Option<Vec<f32>>]) -> Result<(), Wrong> {
        one_each("gradients", grads.len(), self.params.len())?;
        let sign = if self.maximize { -1.0 } else { 1.0 };
        for (param, grad) in self.params.iter_mut().zip(grads) {
            if let Some(grad) = grad {
                param.step(&self.rule, grad, sign)?;
            }
        }
        Ok(())
    }

    /// Compares every parameter's state.
    pub(super) fn same_states(&self, recorded: &[State]) -> Result<(), Wrong> {
        one_each("states", recorded.len(), self.params.len())?;
        recorded.iter().enumerate().try_for_each(|(i, state)| self.same_state(i, state))
    }

    /// Compares every parameter's bits.
    pub(super) fn same_params(&self, recorded: &[Vec<u32>]) -> Result<(), Wrong> {
        one_each("parameters", recorded.len(), self.params.len())?;
        let mut pairs = self.params.iter().zip(recorded).enumerate();
        pairs.try_for_each(|(i, (param, bits))| {
            same_bits(&format!("parameter {i}"), &param.values, bits)
        })
    }

    /// Compares one parameter's state, under torch's names. A count of steps is compared where it was recorded.
    fn same_state(&self, i: usize, recorded: &State) -> Result<(), Wrong> {
        let param = &self.params[i];
        let names = if param.applied == 0 { &[] } else { self.rule.moment_names() };
        for (name, moment) in names.iter().zip(&param.moments) {
            let bits = recorded
                .get(*name)
                .ok_or_else(|| Wrong::Result(format!("{name} of parameter {i} was not there")))?;
            same_bits(&format!("{name} of parameter {i}"), moment, bits)?;
        }
        if let Some(bits) = recorded.get("step") {
            #[expect(clippy::cast_precision_loss, reason = "torch counts in f32")]
            same_bits(&format!("step of parameter {i}"), &[param.applied as f32], bits)?;
        }
        let moments = recorded.keys().filter(|name| !matches!(name.as_str(), "step" | "param"));
        same(&format!("the number of moments of parameter {i}"), &names.len(), &moments.count())
    }
}

impl Parameter {
    fn new(rule: &UpdateRule, bits: &[u32]) -> Self {
        let initial = rule.initial();
        let moment = |i| vec![initial[i]; if i < rule.moments() { bits.len() } else { 0 }];
        Self { values: floats(bits), moments: [0, 1, 2].map(moment), applied: 0 }
    }

    fn step(&mut self, rule: &UpdateRule, grads: &[f32], sign: f32) -> Result<(), Wrong> {
        let slices = Slices::<f32, f32> {
            moments: self.moments.each_mut().map(|moment| &mut moment[..]),
            grads,
            params: Params::Own(&mut self.values),
        };
        let factor = Factor { inverse: sign, clip: 1.0 };
        step(&StepConstants::at(rule, self.applied), factor, slices)
            .map_err(|error| Wrong::Recording(error.to_string()))?;
        self.applied += 1;
        Ok(())
    }
}

fn one_each(what: &str, got: usize, params: usize) -> Result<(), Wrong> {
    let wrong = || Wrong::Recording(format!("it has {got} {what} for {params} parameters"));
    if got == params { Ok(()) } else { Err(wrong()) }
}

fn rule(kind: &str, hyper: &Hyper) -> Result<UpdateRule, Wrong> {
    let rule = match kind {
        "sgd" => UpdateRule::Sgd(Sgd {
            lr: hyper.lr.0,
            momentum: hyper.momentum.map_or(0.0, |x| x.0),
            dampening: hyper.dampening.map_or(0.0, |x| x.0),
            weight_decay: hyper.weight_decay.0,
            nesterov: hyper.nesterov,
        }),
        "adam" | "adamw" => UpdateRule::Adam(Adam {
            lr: hyper.lr.0,
            betas: hyper.betas.map_or([0.9, 0.999], |betas| betas.map(|beta| beta.0)),
            eps: hyper.eps.map_or(1e-8, |x| x.0),
            weight_decay: hyper.weight_decay.0,
            decoupled: kind == "adamw",
            amsgrad: hyper.amsgrad,
            sparse: false,
        }),
        "adagrad" => UpdateRule::Adagrad(Adagrad {
            lr: hyper.lr.0,
            lr_decay: hyper.lr_decay.map_or(0.0, |x| x.0),
            weight_decay: hyper.weight_decay.0,
            initial_accumulator_value: hyper.initial_accumulator_value.map_or(0.0, |x| x.0),
            eps: hyper.eps.map_or(1e-10, |x| x.0),
        }),
        other => return Err(Wrong::Recording(format!("there is no optimizer {other} here"))),
    };
    rule.validate().map_err(|error| Wrong::Recording(error.to_string()))?;
    Ok(rule)
}
