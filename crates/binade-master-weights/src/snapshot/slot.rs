//! What a slot keeps, told and put back: the one place that has to know each of its fields.

use super::Kind;
use crate::Slot;
use binade_core::{DType, Form, RawTensor};

/// Elements of a slot, where they are.
pub(super) enum Elements<'a> {
    F32(&'a [f32]),
}

/// All that `slot` keeps under a rule of so many moments, but its count of applied steps.
pub(super) fn kept(slot: &Slot, moments: usize) -> Vec<(Kind, Elements<'_>)> {
    let master = slot.master.as_deref().map(|master| (Kind::Master, Elements::F32(master)));
    let moments = (0..).map(Kind::Moment).zip(slot.moments.iter().take(moments));
    let moments = moments.map(|(kind, moment)| (kind, Elements::F32(moment)));
    master.into_iter().chain(moments).collect()
}

/// Puts back one of what [`kept`] tells. It fits: its form was compared before.
pub(super) fn put(slot: &mut Slot, kind: &Kind, raw: &RawTensor) {
    let Some(values) = raw.to_f32() else { return };
    match kind {
        Kind::Master => slot.master = Some(values),
        Kind::Moment(place) => {
            if let Some(moment) = slot.moments.get_mut(usize::from(*place)) {
                *moment = values;
            }
        }
    }
}

impl Elements<'_> {
    /// The form of these elements, for a parameter of `len` elements and of `shape`: the same shape where they are as many.
    pub(super) fn form(&self, len: usize, shape: &[usize]) -> Form {
        let (dtype, own) = match self {
            Self::F32(values) => (DType::F32, values.len()),
        };
        Form::new(dtype, if own == len { shape.to_vec() } else { vec![own] })
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::F32(values) => values.iter().flat_map(|x| x.to_le_bytes()).collect(),
        }
    }
}
