//! Gradients of several devices.

use super::{Parts, Replicas};
use crate::{Error, Found, Gradients, Tensor};
use binade_core::{GradSet, MatchError, Named, NamedGrads, TrainError, check_same_parameters};

/// The gradients of each device, of one model: its own until they are unscaled, and the average from there on.
#[derive(Clone, Debug)]
pub struct JointGradients {
    pub(super) parts: Parts<Gradients>,
    /// True if these are the averages, with equal bits on all devices.
    pub(super) is_joint: bool,
}

impl JointGradients {
    /// Makes a value of sets that are the same on every device.
    pub(super) fn joint(parts: Parts<Gradients>) -> Self {
        Self { parts, is_joint: true }
    }

    /// Returns the set of the device at `place`.
    pub(super) fn on(&self, place: usize) -> Result<&Gradients, Error> {
        self.parts.on(place)
    }

    /// Refuses sets that are not of one model.
    pub(super) fn agree(&self) -> Result<(), MatchError> {
        let mut others = self.parts.0.iter();
        let Some(first) = others.next() else { return Ok(()) };
        let refuse = |error: MatchError| MatchError { why: MODELS, ..error };
        others.try_for_each(|other| {
            check_same_parameters(first.shapes(), other.shapes()).map_err(refuse)
        })
    }

    /// Returns the gradients' shapes by place in the set; `None` where no device has one.
    pub(super) fn shapes(&self) -> Vec<Option<Vec<usize>>> {
        let places = self.parts.0.first().map_or(0, |part| part.entries.len());
        let shape = |place: usize| {
            let mut entries = self.parts.0.iter().filter_map(|part| part.entries.get(place));
            let value = entries.find_map(|entry| entry.value.as_ref())?;
            Some(value.shape().to_vec())
        };
        (0..places).map(shape).collect()
    }
}

const MODELS: &str =
    "replicas of one model must list the same parameters, of the same shapes, in the same order";

impl GradSet for Replicas {
    type Params = Vec<Named<Parts<Tensor>>>;
    type Grads = JointGradients;
    type Found = Parts<Found>;

    fn train_error(&self, error: TrainError) -> Error {
        error.into()
    }

    /// Waits for the first device, which knows what all know.
    fn is_raised(&self, found: &Parts<Found>) -> Result<bool, Error> {
        self.first(|cuda| cuda.is_raised(found.on(0)?))
    }

    fn materialise(&self, grads: JointGradients) -> Result<NamedGrads<Parts<Tensor>>, Error> {
        let sets = self.each(|place, cuda| cuda.materialise(grads.on(place)?.clone()))?;
        let mut sets: Vec<_> = sets.0.into_iter().map(Vec::into_iter).collect();
        let mut whole = Vec::new();
        loop {
            let row: Vec<_> = sets.iter_mut().filter_map(Iterator::next).collect();
            let Some(name) = row.first().map(|entry| entry.name.clone()) else { return Ok(whole) };
            let parts: Option<Vec<Tensor>> = row.into_iter().map(|entry| entry.value).collect();
            whole.push(Named { name, value: parts.map(Parts) });
        }
    }
}

impl From<Vec<Gradients>> for JointGradients {
    /// Joins the sets that the devices' own backward passes return.
    fn from(parts: Vec<Gradients>) -> Self {
        Self { parts: Parts(parts), is_joint: false }
    }
}

impl From<Vec<Named<Option<Parts<Tensor>>>>> for JointGradients {
    /// Converts the list of gradients that a tape returns. An empty list, which names no number of devices, counts for all.
    fn from(grads: Vec<Named<Option<Parts<Tensor>>>>) -> Self {
        let devices =
            grads.iter().filter_map(|grad| grad.value.as_ref()).map(|parts| parts.0.len()).max();
        let part = |place: usize| {
            let entry = |grad: &Named<Option<Parts<Tensor>>>| {
                let value = grad.value.as_ref().and_then(|parts| parts.on(place).ok().cloned());
                Named { name: grad.name.clone(), value }
            };
            Gradients::from(grads.iter().map(entry).collect::<Vec<_>>())
        };
        // One more than there is, where none is: `Replicas` fills up what it is given.
        (0..devices.unwrap_or(1)).map(part).collect::<Vec<_>>().into()
    }
}
