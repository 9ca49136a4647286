//! An open window's state as bytes, and back.

use super::pending::Part;
use crate::{Accumulation, BadMicroBatch, GradOps, PartReport, Scaler, UnscaledGrads};
use binade_core::{FoundInf, LoadError, Named, NamedGrads, RawTensor, SpecMismatch, TensorSpec};
use std::collections::{HashMap, HashSet};

/// Saved open window, which [`Accumulation::save`] returns and [`Scaler::reopen`] takes.
#[derive(Clone, Debug)]
pub struct SavedWindow {
    /// Effect of an overflow in one micro-batch on the window.
    pub bad: BadMicroBatch,
    /// Micro-batches added so far, bad ones included.
    pub len: usize,
    /// Joint verdict of the micro-batches.
    pub verdict: FoundInf,
    /// Finding of each micro-batch.
    pub parts: Vec<PartReport>,
    /// Sum of the gradients in `f32`; `None` before the first micro-batch.
    pub grads: Option<NamedGrads<RawTensor>>,
    /// Rows of each sparse sum, which is whole in `grads`.
    pub rows: Vec<Named<Vec<u64>>>,
}

impl<D: GradOps> Accumulation<D> {
    /// Returns the window's state, to be saved. The window stays open. Waits for the device.
    ///
    /// # Errors
    ///
    /// When the device fails, refuses to be read, or has no [`GradOps::save_grads`], or the sum was lost by an error of [`add`](Self::add).
    pub fn save(&self) -> Result<SavedWindow, D::Error> {
        self.check_whole()?;
        let Self { bad, sum, parts, len, .. } = self;
        let (bad, len) = (*bad, *len);
        let Some(sum) = sum else {
            let (verdict, parts) = (FoundInf::default(), Vec::new());
            return Ok(SavedWindow { bad, len, verdict, parts, grads: None, rows: Vec::new() });
        };
        let grads = Some(sum.shared.device.save_grads(sum.grads())?);
        let mut rows = sum.shared.device.save_rows(sum.grads())?;
        // An empty sum has no rows either.
        rows.retain(|rows| has_sum(grads.as_ref(), &rows.name));
        let found: Vec<_> = parts.iter().map(|part| &part.found).chain([&sum.verdict]).collect();
        let (mut found, _) = sum.shared.device.read(&found, &sum.shared.one)?;
        let verdict = found.pop().unwrap_or_default();
        let part =
            |(part, finding): (&Part<D>, FoundInf)| PartReport { name: part.name.clone(), finding };
        let parts = parts.iter().zip(found).map(part).collect();
        Ok(SavedWindow { bad, len, verdict, parts, grads, rows })
    }
}

impl<D: GradOps> Scaler<D> {
    /// Opens a window where it was saved, over gradients of `params`.
    ///
    /// Where losses have a scaler each, what the window found before it was saved counts as this scaler's in
    /// [`update_each`](Self::update_each): save such a run between steps.
    ///
    /// # Errors
    ///
    /// When it is of other parameters, or the device fails or cannot load windows.
    pub fn reopen(
        &self,
        params: &D::Params,
        saved: &SavedWindow,
    ) -> Result<Accumulation<D>, LoadError<D::Error>> {
        let mut window = Accumulation { len: saved.len, ..Accumulation::new(saved.bad) };
        let Some(grads) = &saved.grads else { return Ok(window) };
        let specs = self.device().grad_specs(params).map_err(LoadError::Device)?;
        fit(&specs, grads)?;
        for Named { name, value } in grads {
            let Some(raw) = value else { continue };
            let own = self.device().slice(name, raw.spec().elements().unwrap_or_default());
            SpecMismatch::check_elements("gradient sum", name, raw, &own)?;
        }
        fit_rows(&specs, saved)?;
        self.put(&mut window, params, saved, grads).map_err(LoadError::Device)?;
        Ok(window)
    }

    fn put(
        &self,
        window: &mut Accumulation<D>,
        params: &D::Params,
        saved: &SavedWindow,
        grads: &NamedGrads<RawTensor>,
    ) -> Result<(), D::Error> {
        let device = self.device();
        let grads = device.load_rows(device.load_grads(params, grads)?, &saved.rows)?;
        let (of, skips) = (self.shared.iterations.now(), window.bad == BadMicroBatch::SkipWindow);
        let part = |part: &PartReport| {
            let (name, found) = (part.name.clone(), device.upload_found(&part.finding)?);
            Ok(Part { name, found, of: Some(of), skips })
        };
        window.parts = saved.parts.iter().map(part).collect::<Result<_, D::Error>>()?;
        let verdict = device.upload_found(&saved.verdict)?;
        window.sum = Some(UnscaledGrads::new(grads, verdict, self.shared.clone(), of));
        Ok(())
    }
}

/// Every gradient is one of these, and of this form.
fn fit(specs: &[Named<TensorSpec>], saved: &NamedGrads<RawTensor>) -> Result<(), SpecMismatch> {
    let mut specs: HashMap<&str, &TensorSpec> =
        specs.iter().map(|spec| (&*spec.name, &spec.value)).collect();
    for Named { name, value } in saved {
        // Removed, so that a second one with its name finds nothing.
        let expected = specs.remove(&**name);
        let found = value.as_ref().map(RawTensor::spec);
        SpecMismatch::check("gradient sum", name, found.or(expected), expected)?;
        if found.is_none() && expected.is_none() {
            let (what, parameter) = ("unknown gradient sum".to_owned(), name.clone());
            return Err(SpecMismatch { what, parameter, found: None, expected: None });
        }
    }
    Ok(())
}

/// Returns true if there is a sum of this name.
fn has_sum(grads: Option<&NamedGrads<RawTensor>>, name: &str) -> bool {
    grads.into_iter().flatten().any(|grad| &*grad.name == name && grad.value.is_some())
}

/// Checks that each sparse sum is named once, and has ascending rows of a gradient that is there.
fn fit_rows(specs: &[Named<TensorSpec>], saved: &SavedWindow) -> Result<(), SpecMismatch> {
    let mut named = HashSet::new();
    for Named { name, value: rows } in &saved.rows {
        let spec = specs.iter().find(|spec| spec.name == *name).map(|spec| &spec.value);
        let refuse = |what: String| {
            let (parameter, expected) = (name.clone(), spec.cloned());
            Err(SpecMismatch { what, parameter, found: None, expected })
        };
        let extent = spec.and_then(|spec| spec.shape.first()).map(|extent| *extent as u64);
        let is_own = |_: &u64| has_sum(saved.grads.as_ref(), name) && named.insert(name);
        let Some(extent) = extent.filter(is_own) else {
            return refuse("rows of the gradient sum".to_owned());
        };
        let is_wrong = |at: &usize| rows[*at] >= extent || *at > 0 && rows[*at - 1] >= rows[*at];
        if let Some(at) = (0..rows.len()).find(is_wrong) {
            return refuse(format!("row {} of the gradient sum", rows[at]));
        }
    }
    Ok(())
}
