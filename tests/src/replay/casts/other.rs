//! Casts that are none of ours: from f64, which torch makes by f32, and between two narrow types.

use super::format::{Compared, FromF64, Other};
use crate::replay::bits::{equal, show};
use crate::replay::differences::Difference;
use crate::replay::dtype;
use crate::replay::error::{Wrong, same};
use crate::replay::notes::Notes;
use binade_core::DType;
use binade_core::cast::{self, OnOverflow};

pub(super) fn replay(name: &str, other: &Other, notes: &mut Notes) -> Result<(), Wrong> {
    match other {
        Other::FromF64(casts) => {
            let format = name.rsplit('_').next().unwrap_or_default();
            casts.replay(dtype::castable(format)?, notes)
        }
        Other::Narrow(compared) => by_f32(compared, notes),
        Other::Same(_) => {
            notes.skipped("bits of NaN between two narrow types", 1);
            Ok(())
        }
    }
}

impl FromF64 {
    /// torch's codes are of the number rounded to f32 first; numpy's may be of the number itself, one further.
    fn replay(&self, dtype: DType, notes: &mut Notes) -> Result<(), Wrong> {
        let written = self.f64.parse::<f64>();
        let number = written.map_err(|_| Wrong::Recording(format!("{} is no number", self.f64)))?;
        #[expect(clippy::cast_possible_truncation, reason = "what torch does first")]
        let twice = cast::round(number as f32, dtype, OnOverflow::NonFinite).unwrap_or(f32::NAN);
        for code in [self.torch_scalar, self.torch_vec] {
            let was = dtype::decode(dtype, code)?;
            if !equal(twice, was) {
                return Err(Wrong::Result(show("the number by f32", twice, was)));
            }
        }
        if self.numpy_ml != self.torch_vec {
            same("numpy's code, rounded once,", &(self.torch_vec + 1), &self.numpy_ml)?;
        }
        notes.differs(Difference::F64RoundsTwice);
        Ok(())
    }
}

fn by_f32(compared: &Compared, notes: &mut Notes) -> Result<(), Wrong> {
    same("the number that differ without being NaN", &0, &compared.differ_not_nan)?;
    notes.compared("codes that torch casts between two narrow types as by f32", compared.n);
    Ok(())
}
