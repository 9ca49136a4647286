//! Masters of a wrapped optimizer as plain numbers, and back: the state of such a run that can be kept.

use super::{Pair, Wrapped};
use crate::{Error, read::read};
use binade_core::{HostDeviceError, Named};
use candle_core::Tensor;
use std::collections::HashMap;

impl<O> Wrapped<O> {
    /// Values that the optimizer moves, in `f32` and in the parameters' order: more bits than parameters in sixteen have.
    ///
    /// # Errors
    ///
    /// candle's.
    pub fn export_f32(&self) -> Result<Vec<Named<Vec<f32>>>, Error> {
        let one = |pair: &Pair| Ok(Named::new(pair.name.clone(), read(&pair.master)?));
        self.pairs.iter().map(one).collect()
    }

    /// Sets masters, and parameters rounded from them, to what [`export_f32`](Self::export_f32) gave.
    ///
    /// # Errors
    ///
    /// If a parameter is without values, values are without a parameter, or values are of another length, before anything is set;
    /// candle's.
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
