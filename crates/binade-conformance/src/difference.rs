//! Difference between an element and its wanted value.

use crate::{Expected, Stored, cases::cast::rounded};
use std::fmt;

/// An element and its wanted value, each as bits and in decimal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Difference {
    /// Index of the element, from 0 in row-major order.
    pub(crate) index: usize,
    /// The result.
    pub(crate) got: String,
    /// The wanted value, rounded once to the result's type.
    pub(crate) wanted: String,
    /// |got - wanted|; infinite if one of the two is not finite, and 0 between the two zeros.
    pub(crate) apart: f64,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { index, got, wanted, apart } = self;
        write!(f, "{got} at {index}, where {wanted} is wanted: {apart:e} apart")
    }
}

/// Returns the element with the largest difference among those that do not agree; the first of several.
pub(crate) fn worst(offenders: &[usize], got: &Stored, wanted: &[Expected]) -> Option<Difference> {
    // One pass over the values; only the chosen element becomes text.
    let values: Vec<f64> = got.values().collect();
    let apart = |index: usize| match (values[index], rounded(wanted[index].value, got.dtype)) {
        (got, wanted) if got == wanted => 0.0,
        (got, wanted) if (got - wanted).is_finite() => (got - wanted).abs(),
        _ => f64::INFINITY,
    };
    let farther = |best: usize, next: usize| if apart(next) > apart(best) { next } else { best };
    let index = offenders.iter().copied().reduce(farther)?;
    let wish = Stored::from_values(got.dtype, &[1], [wanted[index].value]);
    let (got, wanted) = (got.element(index), wish.element(0));
    Some(Difference { index, got, wanted, apart: apart(index) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use binade_core::DType;

    fn farthest(got: &[f64], wanted: &[f64]) -> Difference {
        let got = Stored::vector(DType::F16, got.iter().copied());
        let wanted: Vec<Expected> = wanted.iter().copied().map(Expected::exactly).collect();
        worst(&(0..got.len()).collect::<Vec<_>>(), &got, &wanted).unwrap()
    }

    #[test]
    fn the_farthest_is_told_by_bits_and_in_decimal() {
        let told = farthest(&[1.0, 3.0, 2.5], &[1.5, 1.0, 1.0]);
        assert_eq!((told.index, told.apart), (1, 2.0));
        assert_eq!((&*told.got, &*told.wanted), ("0x4200 (3e0)", "0x3c00 (1e0)"));
        assert_eq!(told.to_string(), "0x4200 (3e0) at 1, where 0x3c00 (1e0) is wanted: 2e0 apart");
    }

    #[test]
    fn what_is_no_number_is_farther_than_any_number() {
        let nan = farthest(&[60000.0, f64::NAN, 0.0], &[-60000.0, 1.0, f64::INFINITY]);
        assert_eq!((nan.index, nan.apart), (1, f64::INFINITY));
        assert_eq!(farthest(&[-0.0], &[0.0]).apart, 0.0);
    }
}
