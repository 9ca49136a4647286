//! Snapshots of what hosts keep.

use super::slot::{self, Elements};
use super::{Kind, ParameterForm, SavedParameter};
use crate::HostMasters;
use binade_core::{Form, RawTensor};
use std::sync::Arc;

impl HostMasters {
    /// The forms of a parameter of type and shape `value` and of what is kept for it.
    pub fn form(&self, name: &Arc<str>, value: Form) -> ParameterForm {
        let kept = self.kept(name).into_iter();
        let kept = kept.map(|(kind, len, elements)| (kind, elements.form(len, &value.shape)));
        let kept = kept.collect();
        ParameterForm { name: name.clone(), value, kept }
    }

    /// A parameter, whose elements are `value`, with what is kept for it.
    pub fn saved(&self, name: &Arc<str>, value: RawTensor) -> SavedParameter {
        let shape = &value.form().shape;
        let raw = |(kind, len, elements): (Kind, usize, Elements<'_>)| {
            Some((kind, RawTensor::new(elements.form(len, shape), elements.to_bytes())?))
        };
        let kept = self.kept(name).into_iter().filter_map(raw).collect();
        let applied = self.get(name).map_or(0, |slot| slot.applied);
        SavedParameter { name: name.clone(), value, applied, kept }
    }

    /// What is kept for a parameter, and its length.
    fn kept(&self, name: &str) -> Vec<(Kind, usize, Elements<'_>)> {
        let Some((slot, rule)) = self.get(name).zip(self.rule(name)) else { return Vec::new() };
        let kept = slot::kept(slot, rule.moments()).into_iter();
        kept.map(|(kind, elements)| (kind, slot.len, elements)).collect()
    }

    /// Puts back what was kept for a parameter. It has been held to [`form`](Self::form).
    pub fn put(&mut self, saved: &SavedParameter) {
        let Some((_, slot)) = self.next(&saved.name) else { return };
        saved.kept.iter().for_each(|(kind, raw)| slot::put(slot, kind, raw));
        slot.applied = saved.applied;
    }
}
