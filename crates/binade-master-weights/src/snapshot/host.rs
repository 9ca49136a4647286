//! Snapshots of state in host memory.

use super::{ParameterSpec, SavedParameter, StateKind};
use crate::{HostMasters, HostParamState, Master};
use binade_core::{RawTensor, TensorSpec};
use half::bf16;
use std::{slice, sync::Arc};

impl HostMasters {
    /// Returns the types and shapes of a parameter of the form `value` and of its state.
    pub fn spec(&self, name: &Arc<str>, value: TensorSpec) -> ParameterSpec {
        let kept =
            self.kinds(name).map(|(slot, kind)| (kind, kind.spec(slot.stored, &value.shape)));
        ParameterSpec { name: name.clone(), kept: kept.collect(), value }
    }

    /// Returns the parameter with elements `value`, and its state.
    pub fn saved(&self, name: &Arc<str>, value: RawTensor) -> SavedParameter {
        let shape = &value.spec().shape;
        let raw = |(slot, kind): (&HostParamState, StateKind)| {
            Some((kind, RawTensor::new(kind.spec(slot.stored, shape), slot.state(kind))?))
        };
        let kept = self.kinds(name).filter_map(raw).collect();
        let applied = self.get(name).map_or(0, |slot| slot.applied);
        SavedParameter { name: name.clone(), value, applied, kept }
    }

    /// Returns all kinds of state of a parameter, whether or not it has elements.
    fn kinds(&self, name: &str) -> impl Iterator<Item = (&HostParamState, StateKind)> {
        let id = self.id(name);
        let kept = id.and_then(|id| self.slot(id).zip(self.rule(id))).into_iter();
        kept.flat_map(move |(slot, rule)| {
            let norm = rule.keeps_norm().then_some(StateKind::Norm);
            let low = self.config.bf16_moments(rule).into_iter().zip(0..).take(rule.moments());
            let moments = low.map(|(is_low, place)| {
                if is_low { StateKind::Bf16Moment(place) } else { StateKind::Moment(place) }
            });
            let kinds = slot.master.kinds().iter().copied().chain(norm).chain(moments);
            kinds.map(move |kind| (slot, kind))
        })
    }

    /// Restores a parameter's state, which was checked against [`spec`](Self::spec).
    pub fn put(&mut self, saved: &SavedParameter) {
        let Some((_, slot)) = self.id(&saved.name).and_then(|id| self.next(id)) else { return };
        for (kind, raw) in &saved.kept {
            slot.restore(*kind, raw.bytes());
        }
        slot.applied = saved.applied;
    }
}

impl Master {
    /// Returns the kinds that it lists, even where the parameter has no elements.
    fn kinds(&self) -> &'static [StateKind] {
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
    /// Returns the little-endian bytes of the state `kind`.
    fn state(&self, kind: StateKind) -> Vec<u8> {
        match (kind, &self.master) {
            (StateKind::Master, Master::Copy(values)) => bytes(values, f32::to_le_bytes),
            (StateKind::Remainder, Master::Remainder(values))
            | (StateKind::Compensation, Master::Compensation(values))
            | (StateKind::ScaledMaster, Master::Scaled { values, .. }) => {
                bytes(values, u16::to_le_bytes)
            }
            (StateKind::Number, Master::Stochastic { number, .. }) => number.to_le_bytes().into(),
            (StateKind::Exponent, Master::Scaled { exponent, .. }) => exponent.to_le_bytes().into(),
            (StateKind::Norm, _) => self.norm.to_le_bytes().into(),
            (StateKind::Moment(place), _) => {
                let moment = self.moments.get(usize::from(place));
                moment.map_or_else(Vec::new, |moment| bytes(moment, f32::to_le_bytes))
            }
            (StateKind::Bf16Moment(place), _) => {
                let moment = self.bf16_moments.get(usize::from(place));
                moment.map_or_else(Vec::new, |moment| bytes(moment, bf16::to_le_bytes))
            }
            _ => Vec::new(),
        }
    }

    /// Restores the output of [`state`](Self::state).
    fn restore(&mut self, kind: StateKind, bytes: &[u8]) {
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
            (StateKind::Norm, _) => {
                fill(slice::from_mut(&mut self.norm), bytes, f32::from_le_bytes);
            }
            (StateKind::Moment(place), _) => {
                if let Some(moment) = self.moments.get_mut(usize::from(place)) {
                    fill(moment, bytes, f32::from_le_bytes);
                }
            }
            (StateKind::Bf16Moment(place), _) => {
                if let Some(moment) = self.bf16_moments.get_mut(usize::from(place)) {
                    fill(moment, bytes, bf16::from_le_bytes);
                }
            }
            _ => {}
        }
    }
}

fn bytes<T: Copy, const N: usize>(values: &[T], of: fn(T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(|value| of(*value)).collect()
}

fn fill<T, const N: usize>(values: &mut [T], bytes: &[u8], of: fn([u8; N]) -> T) {
    let (words, _) = bytes.as_chunks();
    values.iter_mut().zip(words).for_each(|(value, word)| *value = of(*word));
}
