//! A window's sums.

use super::Found;
use crate::{
    Cuda, Error, Gradients, Tensor,
    gradients::supported,
    kernels::{ACCUMULATE, ACCUMULATE_MARK, THREADS},
    launch::{Arg, structs::AccumulateRow},
    set::Rows,
};
use binade_core::{DType, Named, agree};
use std::sync::Arc;

impl Cuda {
    /// `sum + grads`, or `sum` where `found` is raised, which the device looks at.
    pub(super) fn add(
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
        let mut set = Rows::of(grads.elements());
        for grad in grads.present() {
            let total = sum.entries.get(grad.place).and_then(|entry| entry.value.as_ref());
            let row = AccumulateRow {
                sum: total.map_or(0, Tensor::address),
                values: grad.tensor.address(),
                present: sum.flag(grad.place),
                also: grad.flag,
                len: grad.tensor.len() as u64,
                first_chunk: 0,
                dtype: supported("add gradients of", grad.tensor)?,
                pad: 0,
            };
            set.add(grad.tensor.len(), |first_chunk| AccumulateRow { first_chunk, ..row });
        }
        let Ok(count @ 1..) = u32::try_from(set.rows.len()) else { return Ok(()) };
        let found = Arg::Address(found.bits.address());
        let owed = Arg::Address(grads.owed(self)?);
        set.launch(self, &ACCUMULATE, &[Arg::U64(set.chunks.len), found, owed])?;
        set.launch_blocks(self, &ACCUMULATE_MARK, count.div_ceil(THREADS), &[found])
    }
}

/// What sets must agree on.
fn facts(grads: &Gradients) -> impl Iterator<Item = (&Arc<str>, Option<&[usize]>)> + Clone {
    grads.entries.iter().map(|entry| (&entry.name, entry.value.as_ref().map(Tensor::shape)))
}
