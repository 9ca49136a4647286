//! Sets of gradients with their pending factor.

mod accumulate;
mod clip;
mod materialise;
mod save;
mod sparse;

pub use clip::GroupClip;
pub use materialise::Materialise;

use crate::{BufferOf, Driver, Error, Found, Gpu, Kernels, Result, Tensor};
use binade_core::{DType, GradSet, Named, NamedGrads, SparseGrads, SparseRows, TrainError};
use std::{collections::BTreeMap, sync::Arc};

/// Gradients by parameter, with the pending factors of unscaling and clipping.
///
/// Unscaling only reads. The fused step multiplies in `f32` as it reads; [`materialise`] multiplies for any other reader.
///
/// [`materialise`]: binade_core::GradSet::materialise
#[derive(Clone, Debug)]
pub struct Gradients<D: Driver> {
    /// Entry of each parameter, with its gradient if there is one.
    pub entries: Vec<Named<Option<Tensor<D>>>>,
    /// Rows of the sparse gradients, by index in the set. Their entries have only the elements of these rows.
    pub rows: BTreeMap<usize, SparseRows<Tensor<D>>>,
    /// Flags of a window's sums: a word for each entry, not 0 once its sum has begun. They are on the device, since the host does
    /// not know which micro-batches were bad.
    pub present: Option<Arc<BufferOf<D>>>,
    /// Pending factors of the values, on the device; `None` once they are applied.
    pub owed: Option<Arc<BufferOf<D>>>,
    /// True while `owed` has the norms of these values, unclipped, measured by unscaling.
    pub is_measured: bool,
}

impl<D: Driver> From<Vec<Named<Option<Tensor<D>>>>> for Gradients<D> {
    fn from(entries: Vec<Named<Option<Tensor<D>>>>) -> Self {
        Self { entries, rows: BTreeMap::new(), present: None, owed: None, is_measured: false }
    }
}

impl<D: Driver> From<SparseGrads<Tensor<D>>> for Gradients<D> {
    fn from(gradients: SparseGrads<Tensor<D>>) -> Self {
        let (entries, rows) = gradients.into_parts();
        Self { rows, ..entries.into() }
    }
}

/// Gradient that is present, or whose presence only the device knows.
#[derive(Clone, Copy, Debug)]
pub struct PresentGradient<'g, D: Driver> {
    /// Its index in the set.
    pub place: usize,
    /// The parameter's name.
    pub name: &'g Arc<str>,
    /// Its values.
    pub tensor: &'g Tensor<D>,
}

impl<D: Driver> Gradients<D> {
    /// Returns the parameters, in order, whether or not they have a gradient.
    pub(crate) fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.entries.iter().map(|entry| &entry.name)
    }

    /// Returns the stored gradients, without their pending factors. A sparse gradient has only its present rows.
    pub fn as_stored(&self) -> &[Named<Option<Tensor<D>>>] {
        &self.entries
    }

    /// Checks that this handle has made all parts of the set, and that sparse gradients have valid shapes.
    pub(crate) fn check_owner(&self, device: &D) -> Result<(), D> {
        for (place, rows) in &self.rows {
            let Named { name, value: Some(value) } = &self.entries[*place] else { continue };
            rows.check(name, (rows.indices.dtype(), rows.indices.shape()), value.shape())?;
        }
        let words = self.present.iter().chain(&self.owed).map(|words| &**words);
        let rows = self.rows.values().map(|rows| &rows.indices);
        let values = self.present().map(|grad| grad.tensor).chain(rows).map(Tensor::buffer);
        values.chain(words).try_for_each(|buffer| device.check_owner(buffer))
    }

    /// Returns the entries with a gradient that is or may be present.
    pub fn present(&self) -> impl Iterator<Item = PresentGradient<'_, D>> {
        self.entries.iter().enumerate().filter_map(|(place, entry)| {
            Some(PresentGradient { place, name: &entry.name, tensor: entry.value.as_ref()? })
        })
    }

    /// Returns the buffer of the pending factors.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
    pub fn pending_factors<'a>(&'a self, device: &'a D) -> Result<&'a BufferOf<D>, D> {
        self.owed.as_ref().map_or_else(|| device.unit_factors(), Ok).map(|owed| &**owed)
    }

    /// Returns the number of elements of all gradients.
    pub fn elements(&self) -> u64 {
        self.present().map(|grad| grad.tensor.len() as u64).sum()
    }

    /// Returns new uninitialised `f32` tensors for the entries with a gradient.
    pub(crate) fn unset_f32(&self, device: &D) -> Result<Vec<Named<Option<Tensor<D>>>>, D> {
        let one = |entry: &Named<Option<Tensor<D>>>| {
            let like = |tensor: &Tensor<D>| device.unset(DType::F32, tensor.shape());
            let value = entry.value.as_ref().map(like).transpose()?;
            Ok(Named { name: entry.name.clone(), value })
        };
        self.entries.iter().map(one).collect()
    }

    /// Returns each entry's name, and its shape if it has a gradient. Sets that are added must agree on these.
    pub fn shapes(&self) -> impl Iterator<Item = (&Arc<str>, Option<&[usize]>)> + Clone {
        self.entries.iter().enumerate().map(|(place, entry)| {
            let own = entry.value.as_ref().map(Tensor::shape);
            (&entry.name, self.rows.get(&place).map(|rows| &*rows.shape).or(own))
        })
    }
}

impl<D: Kernels> GradSet for Gpu<'_, D> {
    type Params = Vec<Named<Tensor<D>>>;
    type Grads = Gradients<D>;
    type Found = Found<D>;

    fn train_error(&self, error: TrainError) -> Self::Error {
        error.into()
    }

    fn is_raised(&self, found: &Found<D>) -> Result<bool, D> {
        found.is_raised(self.0)
    }

    fn materialise(&self, grads: Gradients<D>) -> Result<NamedGrads<Tensor<D>>, D> {
        grads.materialised(self.0)
    }
}

/// Returns `dtype` where the training kernels take it: bf16, f16 and f32.
///
/// # Errors
///
/// [`Error::Unsupported`] for the others.
pub fn trained<D: Driver>(what: &'static str, dtype: DType) -> Result<DType, D> {
    match dtype {
        DType::BF16 | DType::F16 | DType::F32 => Ok(dtype),
        dtype => Err(Error::Unsupported { what, dtype }),
    }
}
