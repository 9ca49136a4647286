//! Snapshots of what hosts keep.

use super::{ParameterSpec, SavedParameter, StateKind};
use crate::{HostMasters, HostParamState};
use binade_core::{RawTensor, TensorSpec};
use std::sync::Arc;

impl HostMasters {
    /// The forms of a parameter of type and shape `value` and of what is kept for it.
    pub fn spec(&self, name: &Arc<str>, value: TensorSpec) -> ParameterSpec {
        let kept =
            self.kinds(name).map(|(slot, kind)| (kind, kind.spec(slot.stored, &value.shape)));
        ParameterSpec { name: name.clone(), kept: kept.collect(), value }
    }

    /// A parameter, whose elements are `value`, with what is kept for it.
    pub fn saved(&self, name: &Arc<str>, value: RawTensor) -> SavedParameter {
        let shape = &value.spec().shape;
        let raw = |(slot, kind): (&HostParamState, StateKind)| {
            let kept = slot.kept().into_iter().find(|kept| kept.kind == kind);
            // What has no element is not listed.
            let bytes = kept.map(|kept| kept.values.to_bytes()).unwrap_or_default();
            Some((kind, RawTensor::new(kind.spec(slot.stored, shape), bytes)?))
        };
        let kept = self.kinds(name).filter_map(raw).collect();
        let applied = self.get(name).map_or(0, |slot| slot.applied);
        SavedParameter { name: name.clone(), value, applied, kept }
    }

    /// All that is kept for a parameter, whether or not it has elements.
    fn kinds(&self, name: &str) -> impl Iterator<Item = (&HostParamState, StateKind)> {
        let id = self.id(name);
        let kept = id.and_then(|id| self.slot(id).zip(self.rule(id))).into_iter();
        kept.flat_map(|(slot, rule)| {
            let moments = [0, 1, 2].into_iter().take(rule.moments()).map(StateKind::Moment);
            slot.master.kinds().iter().copied().chain(moments).map(move |kind| (slot, kind))
        })
    }

    /// Puts back what was kept for a parameter. It has been held to [`spec`](Self::spec).
    pub fn put(&mut self, saved: &SavedParameter) {
        let Some((_, slot)) = self.id(&saved.name).and_then(|id| self.next(id)) else { return };
        for (kind, raw) in &saved.kept {
            // Its form was compared; what has no element is not there to be put back.
            let _ = slot.restore(*kind, raw.bytes());
        }
        slot.applied = saved.applied;
    }
}
