//! A device's parameters and optimizer state as bytes, and back: the content of a checkpoint.

mod host;
mod kind;
mod native;
mod optimizer;

pub use kind::{StateKind, UnknownStateKind};

use crate::MasterWeights;
use binade_core::{LoadError, Named, RawTensor, SpecMismatch, TensorSpec};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Saved parameter with its optimizer state.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedParameter {
    /// Its name.
    pub name: Arc<str>,
    /// Its elements, in the type it is stored in.
    pub value: RawTensor,
    /// Steps applied to it.
    pub applied: u64,
    /// Its master, or the store's replacement of it, and its moments.
    pub kept: Vec<(StateKind, RawTensor)>,
}

/// Types and shapes of a [`SavedParameter`], which a device knows without reading values.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterSpec {
    /// Its name.
    pub name: Arc<str>,
    /// Type and shape of its elements.
    pub value: TensorSpec,
    /// Type and shape of each state tensor.
    pub kept: Vec<(StateKind, TensorSpec)>,
}

/// Device whose parameters and optimizer state can be saved as bytes and loaded.
///
/// # For implementers
///
/// * `load` of what `save` gave leaves the same bits everywhere: parameters, masters, moments, counts of applied steps.
/// * `load` holds what it is given to [`specs`](Self::specs) by [`check_saved`] first; where they differ, nothing has changed.
/// * `save`, `load` and `export_f32` wait for the device, `specs` does not.
/// * The values of `export_f32` are those that a parameter's next step starts from: the master's, whole, where its store keeps
///   one, and the parameter's own, widened, elsewhere. Started again from these, under any store that loses nothing, a run has
///   the same masters.
/// * `export_f32` gives parameters in the optimizer's order, elements in row-major order.
/// * A tensor that tells no shape is of one axis.
pub trait Snapshot: MasterWeights {
    /// Returns the types and shapes of the result of `save`, in the parameters' order.
    ///
    /// # Errors
    ///
    /// When the device fails.
    fn specs(
        &self,
        params: &Self::Params,
        masters: &Self::Masters,
    ) -> Result<Vec<ParameterSpec>, Self::Error>;

    /// Returns every parameter with its state, in the parameters' order.
    ///
    /// # Errors
    ///
    /// When the device fails, or refuses to be read.
    fn save(
        &self,
        params: &Self::Params,
        masters: &Self::Masters,
    ) -> Result<Vec<SavedParameter>, Self::Error>;

    /// Restores the output of `save`, in any order.
    ///
    /// # Errors
    ///
    /// When `saved` does not fit; nothing has changed then. When the device fails.
    fn load(
        &self,
        params: &mut Self::Params,
        masters: &mut Self::Masters,
        saved: &[SavedParameter],
    ) -> Result<(), LoadError<Self::Error>>;

    /// Returns every parameter's `f32` values, whatever its storage type: the content of a checkpoint for other programs.
    ///
    /// # Errors
    ///
    /// When the device fails, or refuses to be read.
    fn export_f32(
        &self,
        params: &Self::Params,
        masters: &Self::Masters,
    ) -> Result<Vec<Named<Vec<f32>>>, Self::Error>;
}

/// Saved parameters in the order of `specs`; all of them fit.
///
/// # Errors
///
/// The first that does not, or that is missing on one side or twice on the other.
pub fn check_saved<'s>(
    specs: &[ParameterSpec],
    saved: &'s [SavedParameter],
) -> Result<Vec<&'s SavedParameter>, SpecMismatch> {
    check_saved_slices(specs, saved, |_, elements| 0..elements)
}

/// Saved parameters in the order of `specs`; all of them fit, and have the slices of a parameter's elements that `slice` gives by its
/// name and their number.
///
/// # Errors
///
/// The first that does not, or that is missing on one side or twice on the other.
pub fn check_saved_slices<'s>(
    specs: &[ParameterSpec],
    saved: &'s [SavedParameter],
    slice: impl Fn(&str, usize) -> Range<usize>,
) -> Result<Vec<&'s SavedParameter>, SpecMismatch> {
    let mut waiting: HashMap<&str, &SavedParameter> = HashMap::new();
    for one in saved {
        if waiting.insert(&one.name, one).is_some() {
            SpecMismatch::check("second value", &one.name, Some(one.value.spec()), None)?;
        }
    }
    let mut ordered = Vec::new();
    for spec in specs {
        let found = waiting.remove(&*spec.name);
        SpecMismatch::check(
            "value",
            &spec.name,
            found.map(|one| one.value.spec()),
            Some(&spec.value),
        )?;
        ordered.extend(found);
    }
    // The first in the file's order, so that the same mistake gives the same message.
    if let Some(stranger) = saved.iter().find(|one| waiting.contains_key(&*one.name)) {
        SpecMismatch::check("value", &stranger.name, Some(stranger.value.spec()), None)?;
    }
    for (spec, one) in specs.iter().zip(&ordered) {
        fits_kept(spec, one)?;
        has_slices(one, &slice)?;
    }
    Ok(ordered)
}

fn has_slices(
    SavedParameter { name, value, kept, .. }: &SavedParameter,
    slice: impl Fn(&str, usize) -> Range<usize>,
) -> Result<(), SpecMismatch> {
    let own = slice(name, value.spec().elements().unwrap_or_default());
    SpecMismatch::check_elements("value", name, value, &own)?;
    for (kind, raw) in kept {
        let all = 0..raw.spec().elements().unwrap_or_default();
        let own = kind.width().map_or(all, |width| own.start * width..own.end * width);
        SpecMismatch::check_elements(kind.name(), name, raw, &own)?;
    }
    Ok(())
}

fn fits_kept(spec: &ParameterSpec, saved: &SavedParameter) -> Result<(), SpecMismatch> {
    for (kind, raw) in &saved.kept {
        let expected = spec.kept.iter().find(|(other, _)| other == kind).map(|(_, spec)| spec);
        SpecMismatch::check(kind.name(), &spec.name, Some(raw.spec()), expected)?;
    }
    for (kind, expected) in &spec.kept {
        let found = saved.kept.iter().find(|(other, _)| other == kind).map(|(_, raw)| raw.spec());
        SpecMismatch::check(kind.name(), &spec.name, found, Some(expected))?;
    }
    Ok(())
}
