//! Our norm, the exact one, and torch's.

use super::format::Measured;
use super::gradients::Set;
use crate::replay::bits::narrow;
use crate::replay::differences::Difference::{ErrorIfNonFinite, NonFiniteTotal, SquaresInF32};
use crate::replay::dtype;
use crate::replay::error::Wrong;
use crate::replay::notes::Notes;
use binade_core::DType;
use binade_grad_scaler::Norm;

/// The exact norm of a set.
pub(super) struct Total<'a> {
    norm: Norm,
    set: &'a Set,
    exact: f64,
}

impl<'a> Total<'a> {
    /// As recorded, or by the plain loop where gradients that are not finite left it out.
    pub(super) fn new(norm: Norm, set: &'a Set, recorded: Option<f64>) -> Self {
        Self { norm, set, exact: recorded.unwrap_or_else(|| plain(norm, set)) }
    }

    pub(super) fn compare(
        &self,
        ours: f32,
        measured: Option<&Measured>,
        notes: &mut Notes,
    ) -> Result<(), Wrong> {
        self.recorded_exactly()?;
        // Sums are f64: what is left is one rounding, far less than the n 2^-24 that is asked for.
        if !self.near(f64::from(ours), self.summing().min(2_f64.powi(-23)), 0.0)
            && !same(ours, narrow(self.exact))
        {
            let exact = self.exact;
            return Err(Wrong::Result(format!("the total is {ours:e}, and is {exact:e} exactly")));
        }
        notes.compared("totals within n 2^-24 of the exact one", 1);
        let Some(measured) = measured else { return self.raised(ours, notes) };
        let dtype = dtype::castable(&measured.total_dtype)?;
        self.torch(ours, dtype::decode(dtype, measured.total)?, dtype, notes)
    }

    /// Compares the total recorded as exact with what the plain loop gives in f64, but for its own roundings.
    fn recorded_exactly(&self) -> Result<(), Wrong> {
        let (exact, plain) = (self.exact, plain(self.norm, self.set));
        let slack = count(self.set.values().count()) * 2_f64.powi(-50) * plain;
        if exact == plain || (exact - plain).abs() <= slack || exact.is_nan() && plain.is_nan() {
            return Ok(());
        }
        Err(Wrong::Recording(format!("the exact total is {plain:e}, and was {exact:e}")))
    }

    /// Returns true if the exact total is finite and `total` is within the tolerance of it.
    fn near(&self, total: f64, relative: f64, absolute: f64) -> bool {
        self.exact.is_finite() && (total - self.exact).abs() <= relative * self.exact + absolute
    }

    /// torch's total is as far off as its arithmetic makes it, or differs for a reason that has a name.
    fn torch(&self, ours: f32, was: f32, dtype: DType, notes: &mut Notes) -> Result<(), Wrong> {
        if !ours.is_finite() && same(ours, was) {
            notes.differs(NonFiniteTotal);
        } else if !self.rounded(was, dtype)? {
            let overflows = self.squares_overflow() && was == f32::INFINITY;
            if !overflows && !self.squares_underflow(was) {
                return Err(Wrong::Result(format!("the total is {ours:e}, and was {was:e}")));
            }
            notes.differs(SquaresInF32);
        }
        Ok(())
    }

    /// Returns the relative error that summing in f32 may have: n roundings. The largest element needs none.
    fn summing(&self) -> f64 {
        match self.norm {
            Norm::L2 => count(self.set.values().count()) * 2_f64.powi(-24),
            Norm::Infinity => 0.0,
        }
    }

    /// Returns true if torch's total is off by no more than rounding to `dtype` explains, for each tensor and for all.
    fn rounded(&self, was: f32, dtype: DType) -> Result<bool, Wrong> {
        let roundings = match self.norm {
            Norm::L2 => count(self.set.tensors() + 2),
            Norm::Infinity => 0.0,
        };
        let format = dtype::format(dtype)?;
        let relative = self.summing() + roundings * format.epsilon / 2.0;
        Ok(self.near(f64::from(was), relative, roundings * format.min_subnormal))
    }

    /// torch raised for a total that is not finite: so is ours, or the difference has a name.
    fn raised(&self, ours: f32, notes: &mut Notes) -> Result<(), Wrong> {
        if !ours.is_finite() {
            notes.differs(ErrorIfNonFinite);
        } else if self.squares_overflow() {
            notes.differs(SquaresInF32);
        } else {
            return Err(Wrong::Result(format!("the total is {ours:e}, and had raised")));
        }
        Ok(())
    }

    /// Returns true if f32 squares overflow.
    fn squares_overflow(&self) -> bool {
        matches!(self.norm, Norm::L2) && self.exact >= 2_f64.powf(63.5)
    }

    /// Returns true if f32 squares fall below its normal numbers, and so may be flushed to zero, and `was` is off by no more.
    fn squares_underflow(&self, was: f32) -> bool {
        let (exact, was) = (self.exact.powi(2), f64::from(was).powi(2));
        let lost = count(self.set.values().count()) * 2_f64.powi(-126);
        matches!(self.norm, Norm::L2)
            && self.exact < 2_f64.powi(-50)
            && (was - exact).abs() <= lost + 2_f64.powi(-6) * exact
    }
}

fn plain(norm: Norm, set: &Set) -> f64 {
    let values = set.values().map(f64::from);
    match norm {
        Norm::L2 => values.map(|x| x * x).sum::<f64>().sqrt(),
        Norm::Infinity => values
            .fold(0.0, |most, x| if most.is_nan() || x.abs() <= most { most } else { x.abs() }),
    }
}

/// Returns true if both are the same number, or NaN.
fn same(a: f32, b: f32) -> bool {
    a == b || a.is_nan() && b.is_nan()
}

#[expect(clippy::cast_precision_loss, reason = "far fewer than 2^53 elements")]
fn count(n: usize) -> f64 {
    n as f64
}
