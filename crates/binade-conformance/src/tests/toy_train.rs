//! The toy's training, in steps that a fault can replace.

use super::toy::{Device, Elements, Grads, Params, Plain, Slot, Steps, Toy, Unscaled};
use crate::{Backend as _, Result, TrainStep, UnscaleResult};
use binade_core::{FoundInf, MatchError, Named, TrainError};
use binade_master_weights::{Sums, UpdateRule};

/// Steps of training that a subject may replace.
pub(super) trait Training {
    /// Returns gradients unscaled and clipped as the turn says, and the found-inf result.
    fn unscaled(&mut self, turn: &TrainStep<Plain>) -> Result<Unscaled> {
        match turn.clip {
            Some(clip) => Toy.clip(turn.grads.clone(), turn.scale, clip),
            None => Toy.unscale(turn.grads.clone(), turn.scale),
        }
    }

    /// Returns true if the step is skipped, by the found-inf results of its own gradients and of those that step together with them.
    fn skips(&mut self, own: &FoundInf, beside: Option<&FoundInf>) -> bool {
        own.is_raised() || beside.is_some_and(FoundInf::is_raised)
    }

    /// Returns the place of each parameter's gradient.
    fn matched(&mut self, params: &[Named<Plain>], grads: &Grads) -> Result<Vec<Option<usize>>> {
        matched(params, grads)
    }

    /// Steps a parameter that has a gradient, unless the step is skipped.
    fn step(
        &mut self,
        rule: &UpdateRule,
        slot: &mut Slot,
        grad: &[f32],
        skipped: bool,
    ) -> Result<()> {
        if skipped { Ok(()) } else { slot.step(rule, grad) }
    }

    /// Changes a parameter after its step, with a gradient or without; nothing by default.
    fn after_step(&mut self, _slot: &mut Slot, _param: &Plain, _has_gradient: bool) {}
}

impl Training for Device {}

pub(super) fn train(
    mut params: Params,
    turns: Steps,
    training: &mut impl Training,
) -> Result<Params> {
    let mut slots: Vec<Slot> = params.iter().map(|param| Slot::new(&param.value)).collect();
    for turn in turns {
        let UnscaleResult { grads, found } = training.unscaled(&turn)?;
        let beside = turn.beside.clone().map(|grads| Toy.unscale(grads, turn.scale)).transpose()?;
        let skipped = training.skips(&found, beside.map(|beside| beside.found).as_ref());
        let places = training.matched(&params, &grads)?;
        let values = grads.iter().filter_map(|grad| grad.value.as_ref()).map(Plain::read);
        let all = Sums::of_grads(values.flatten()).norm();
        for slot in &mut slots {
            slot.all = all;
        }
        if !skipped && !params.is_empty() && places.iter().all(Option::is_none) {
            return Err(TrainError::NoGradients { parameters: params.len() }.into());
        }
        for ((param, slot), place) in params.iter_mut().zip(&mut slots).zip(places) {
            if let Some(grad) = place.and_then(|place| grads[place].value.as_ref()) {
                training.step(&turn.rule, slot, &grad.read(), skipped)?;
                param.value = Plain::write(&slot.master, param.value.dtype(), param.value.shape());
            }
            training.after_step(slot, &param.value, place.is_some());
        }
    }
    Ok(params)
}

fn matched(params: &[Named<Plain>], grads: &Grads) -> Result<Vec<Option<usize>>> {
    let mut places = vec![None; params.len()];
    let mut seen = Vec::new();
    for (number, grad) in grads.iter().enumerate() {
        let place = params.iter().position(|param| param.name == grad.name);
        let Some(place) = place.filter(|place| !seen.contains(place)) else {
            let (parameter, why) = (grad.name.clone(), "no parameter is waiting for it");
            return Err(MatchError { parameter, why }.into());
        };
        seen.push(place);
        if let Some(value) = &grad.value {
            if value.shape() != params[place].value.shape() {
                let parameter = grad.name.clone();
                return Err(MatchError { parameter, why: "of another shape" }.into());
            }
            places[place] = Some(number);
        }
    }
    Ok(places)
}
