//! All that a slot keeps, listed in one place: what a checkpoint writes, and what it puts back.

use crate::{HostParamState, Master, StateKind, step::LengthError};
use binade_core::DType;
use half::slice::HalfBitsSliceExt;
use half::{bf16, f16};
use std::slice;

/// One thing that a slot keeps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StateTensor<'a> {
    /// Kind of the tensor.
    pub kind: StateKind,
    /// Its values, in their own type.
    pub values: StateValues<'a>,
}

/// Values of a [`StateTensor`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "each is the type it names")]
pub enum StateValues<'a> {
    BF16(&'a [bf16]),
    F16(&'a [f16]),
    F32(&'a [f32]),
    U16(&'a [u16]),
    U32(&'a [u32]),
    I32(&'a [i32]),
}

impl StateValues<'_> {
    /// The values' bits, little-endian.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::BF16(values) => values.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Self::F16(values) => values.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Self::F32(values) => values.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Self::U16(values) => values.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Self::U32(values) => values.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Self::I32(values) => values.iter().flat_map(|x| x.to_le_bytes()).collect(),
        }
    }
}

impl Master {
    /// Returns the kinds that it lists, even where the parameter has no elements.
    pub(crate) fn kinds(&self) -> &'static [StateKind] {
        match self {
            Self::Nothing => &[],
            Self::Copy(_) => &[StateKind::Master],
            Self::Remainder(_) => &[StateKind::Remainder],
            Self::Stochastic { .. } => &[StateKind::Number],
            Self::Compensation(_) => &[StateKind::Compensation],
            Self::Scaled { .. } => &[StateKind::ScaledMaster, StateKind::Exponent],
        }
    }
}

impl HostParamState {
    /// All that it keeps by element or by tensor, but for the count of applied steps: what a checkpoint is made of. What
    /// the store and the rule do not keep is not listed.
    pub fn kept(&self) -> Vec<StateTensor<'_>> {
        let mut kept = Vec::new();
        let mut add = |kind, values| kept.push(StateTensor { kind, values });
        match &self.master {
            Master::Nothing => {}
            Master::Copy(values) => add(StateKind::Master, StateValues::F32(values)),
            Master::Remainder(values) => add(StateKind::Remainder, StateValues::U16(values)),
            Master::Stochastic { number, .. } => {
                add(StateKind::Number, StateValues::U32(slice::from_ref(number)));
            }
            Master::Compensation(bits) => {
                let is_f16 = self.stored == DType::F16;
                let f16 = || StateValues::F16(bits.reinterpret_cast());
                let bf16 = || StateValues::BF16(bits.reinterpret_cast());
                add(StateKind::Compensation, if is_f16 { f16() } else { bf16() });
            }
            Master::Scaled { values, exponent } => {
                add(StateKind::ScaledMaster, StateValues::F16(values.reinterpret_cast()));
                add(StateKind::Exponent, StateValues::I32(slice::from_ref(exponent)));
            }
        }
        for (kind, moment) in (0..).map(StateKind::Moment).zip(&self.moments) {
            if !moment.is_empty() {
                add(kind, StateValues::F32(moment));
            }
        }
        kept
    }

    /// Puts back what [`kept`](Self::kept) listed as `kind`, from its [bytes](StateValues::to_bytes), in a slot that was
    /// started by the same config.
    ///
    /// # Errors
    ///
    /// When this slot keeps nothing of that kind, or not as many bytes; nothing has changed then.
    pub fn restore(&mut self, kind: StateKind, bytes: &[u8]) -> Result<(), LengthError> {
        let listed = self.kept().into_iter().find(|kept| kept.kind == kind);
        let Some(StateTensor { values, .. }) = listed else {
            let what = "bytes of what its store and rule do not keep";
            return Err(LengthError { what, got: bytes.len(), expected: 0 });
        };
        let expected = values.to_bytes().len();
        if bytes.len() != expected {
            return Err(LengthError { what: kind.name(), got: bytes.len(), expected });
        }
        match (kind, &mut self.master) {
            (StateKind::Master, Master::Copy(values)) => fill(values, bytes, f32::from_le_bytes),
            (StateKind::Remainder, Master::Remainder(values))
            | (StateKind::Compensation, Master::Compensation(values))
            | (StateKind::ScaledMaster, Master::Scaled { values, .. }) => {
                fill(values, bytes, u16::from_le_bytes);
            }
            (StateKind::Number, Master::Stochastic { number, .. }) => {
                fill(slice::from_mut(number), bytes, u32::from_le_bytes);
            }
            (StateKind::Exponent, Master::Scaled { exponent, .. }) => {
                fill(slice::from_mut(exponent), bytes, i32::from_le_bytes);
            }
            (StateKind::Moment(place), _) => {
                if let Some(moment) = self.moments.get_mut(usize::from(place)) {
                    fill(moment, bytes, f32::from_le_bytes);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn fill<T, const N: usize>(values: &mut [T], bytes: &[u8], of: fn([u8; N]) -> T) {
    let (words, _) = bytes.as_chunks();
    values.iter_mut().zip(words).for_each(|(value, word)| *value = of(*word));
}
