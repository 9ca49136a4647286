//! Masters of a wrapped optimizer as plain numbers, and back: the part of its state that can be saved.

use super::{Pair, Wrapped};
use crate::{Error, read::read};
use binade_core::{HostDeviceError, Named};
use candle_core::Tensor;
use std::collections::HashMap;

impl<O> Wrapped<O> {
    /// Returns the masters in `f32`, in the parameters' order. They have more bits than parameters in sixteen bits.
    ///
    /// # Errors
    ///
    /// candle's.
    pub fn export_f32(&self) -> Result<Vec<Named<Vec<f32>>>, Error> {
        let one = |pair: &Pair| Ok(Named::new(pair.name.clone(), read(&pair.master)?));
        self.pairs.iter().map(one).collect()
    }

    /// Sets the masters to the values of [`export_f32`](Self::export_f32), and rounds the parameters from them.
    ///
    /// # Errors
    ///
    /// If a parameter has no values, values have no parameter, or have another length: nothing is set then. Also candle's errors.
    pub fn load_f32(&mut self, values: &[Named<Vec<f32>>]) -> Result<(), Error> {
        let mut given: HashMap<_, _> = values.iter().map(|given| (&given.name, given)).collect();
        let found = self.pairs.iter().map(|pair| {
            let refuse = |why| HostDeviceError::Mismatch { parameter: pair.name.clone(), why };
            let given = given.remove(&pair.name).ok_or_else(|| refuse(MISSING))?;
            let fits = given.value.len() == pair.master.elem_count();
            if fits { Ok((pair, &given.value)) } else { Err(refuse(LENGTH)) }
        });
        let found = found.collect::<Result<Vec<_>, HostDeviceError<_>>>()?;
        if let Some(parameter) = given.into_keys().min().cloned() {
            return Err(HostDeviceError::Mismatch { parameter, why: UNKNOWN }.into());
        }
        found.into_iter().try_for_each(|(pair, values)| pair.put(values))
    }
}

impl Pair {
    fn put(&self, values: &[f32]) -> Result<(), Error> {
        let new = Tensor::from_slice(values, self.master.shape(), self.master.device())?;
        self.master.set(&new)?;
        self.lower()
    }
}

const MISSING: &str = "no values were given for it; give what `export_f32` gave, whole";
const LENGTH: &str = "the values given for it are more or fewer than it has elements";
const UNKNOWN: &str = "values were given for it, and the optimizer has no parameter of that name";
