//! A window's sums.

use super::Found;
use crate::{
    Error, Gradients, Tensor, Wgpu,
    dispatch::{
        Bound, groups, parts,
        structs::{self, count},
    },
    gradients::supported,
    shaders::{
        Access::{Read, Write},
        Shader,
    },
};
use binade_core::{DType, Named, agree};
use bytemuck::Zeroable;
use std::sync::Arc;

pub(super) const ACCUMULATE: Shader = Shader {
    name: "accumulate",
    file: "accumulate",
    params: size_of::<structs::Accumulate>(),
    bindings: &[(1, Read), (2, Read), (3, Read), (4, Read), (5, Write), (6, Write)],
};

pub(super) const ACCUMULATE_MARK: Shader =
    Shader { name: "accumulate_mark", bindings: &[(2, Read), (3, Read), (6, Write)], ..ACCUMULATE };

impl Wgpu {
    /// `sum + grads`, or `sum` where `found` is raised, which the device looks at.
    pub(super) fn add_set(
        &self,
        sum: Option<Gradients>,
        grads: &Gradients,
        found: &Found,
    ) -> Result<Gradients, Error> {
        grads.are_of(self)?;
        self.has_made(&found.bits)?;
        sum.iter().try_for_each(|sum| sum.are_of(self))?;
        let mut sum = match sum {
            None => self.begin(grads)?,
            Some(sum) => {
                agree(facts(&sum), facts(grads))?;
                self.go_on(sum, grads)?
            }
        };
        self.run_accumulate(&sum, grads, found)?;
        sum.is_measured = false;
        Ok(sum)
    }

    /// Sums of which none has begun.
    fn begin(&self, grads: &Gradients) -> Result<Gradients, Error> {
        let entries: Vec<_> =
            grads.names().map(|name| Named { name: name.clone(), value: None }).collect();
        let present = Some(Arc::new(self.zeros(4 * entries.len())?));
        let mut sum = Gradients { present, ..Gradients::from(entries) };
        self.make_room(&mut sum, grads)?;
        Ok(sum)
    }

    /// A set that came as a sum, made into one that may be written to.
    fn go_on(&self, sum: Gradients, grads: &Gradients) -> Result<Gradients, Error> {
        let is_plain = |entry: &Named<Option<Tensor>>| {
            entry.value.as_ref().is_none_or(|tensor| tensor.dtype() == DType::F32)
        };
        // Clipped, or never summed before, it may be anything but plain f32.
        let mut sum = if sum.owed.is_none() && sum.entries.iter().all(is_plain) {
            sum
        } else {
            sum.settled(self, f32::INFINITY)?
        };
        let mut present = match sum.present.take() {
            Some(present) => present,
            None => Arc::new(self.present_words(&sum)?),
        };
        self.own(&mut present)?;
        sum.present = Some(present);
        for tensor in sum.entries.iter_mut().filter_map(|entry| entry.value.as_mut()) {
            tensor.own(self)?;
        }
        self.make_room(&mut sum, grads)?;
        Ok(sum)
    }

    /// The words of a set whose gradients are there for certain.
    fn present_words(&self, sum: &Gradients) -> Result<crate::memory::Buffer, Error> {
        let word = |entry: &Named<Option<Tensor>>| u32::from(entry.value.is_some());
        let words: Vec<u32> = sum.entries.iter().map(word).collect();
        self.buffer_of(bytemuck::cast_slice(&words))
    }

    /// A sum for each gradient that has none yet; it has not begun.
    fn make_room(&self, sum: &mut Gradients, grads: &Gradients) -> Result<(), Error> {
        for (sum, grad) in sum.entries.iter_mut().zip(&grads.entries) {
            if let (None, Some(grad)) = (&sum.value, &grad.value) {
                sum.value = Some(self.unset(DType::F32, grad.shape())?);
            }
        }
        Ok(())
    }

    fn run_accumulate(
        &self,
        sum: &Gradients,
        grads: &Gradients,
        found: &Found,
    ) -> Result<(), Error> {
        for grad in grads.present() {
            let dtype = supported("add gradients of", grad.tensor)?;
            let total = sum.entries.get(grad.place).and_then(|entry| entry.value.as_ref());
            let Some(total) = total else { continue };
            let (begun, there) = (sum.flag(grad.place), grads.flag(grad.place));
            let state = || -> Result<_, Error> {
                Ok([grads.flags(self)?, Bound::whole(&found.bits), grads.owed(self)?])
            };
            for part in parts(total.len(), 4, self.facts().most_binding_bytes) {
                let (values, start) = Bound::elements(grad.tensor, part.clone());
                let (output, sum_start) = Bound::elements(total, part.clone());
                let len = count(part.len());
                let params = structs::Accumulate { len, dtype, start, sum_start, begun, there };
                let [also, found, owed] = state()?;
                let bound = vec![values, also, found, owed, output, sum.flags(self)?];
                self.dispatch(&ACCUMULATE, &params, bound, groups(part.len()))?;
            }
            let params = structs::Accumulate { begun, there, ..structs::Accumulate::zeroed() };
            let [also, found, _] = state()?;
            self.dispatch(&ACCUMULATE_MARK, &params, vec![also, found, sum.flags(self)?], 1)?;
        }
        Ok(())
    }
}

/// What sets must agree on.
fn facts(grads: &Gradients) -> impl Iterator<Item = (&Arc<str>, Option<&[usize]>)> + Clone {
    grads.entries.iter().map(|entry| (&entry.name, entry.value.as_ref().map(Tensor::shape)))
}
