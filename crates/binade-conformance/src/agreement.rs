//! Agreement of a result with the oracle: the allowed difference, and the comparison.

use crate::cases::cast::{self, neighbours, rounded, ulp};
use crate::{Arithmetic, Stored};
use binade_core::DType;
use std::fmt;

/// Allowed difference between a result and the oracle's.
///
/// Classes are compared first: any NaN matches a wanted NaN, and only the same infinity matches an infinity. Then finite values are compared. Every
/// test is a condition to pass, so that NaN passes none by accident.
///
/// Each operation declares its agreement beside its oracle. If each element is a copy, a choice or one operation of IEEE 754, bits are compared;
/// forward results also if the declared bound is for a sum in backward. Otherwise the oracle derives the mass from the roundings in `f32`, and from 2
/// ulps for a device's own `exp`, `log` and `tanh`, 4 for its `erfc`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Agreement {
    /// The wanted value rounded once to the result's type, the sign of zero included.
    Bits,
    /// Within this many `f32` units in the last place before the last rounding to the result's type.
    Ulps(u32),
    /// Within `c`·2^-24·mass before the last rounding to the result's type; the mass of a sum of n terms is n·Σ|term|.
    Bound {
        /// 1 if addition rounds, 4 if Tensor Cores add.
        c: f64,
    },
    /// `Bound` as on Tensor Cores; a result of `f32` may differ by another 2^-9·Σ|a||b|, the sum over its products. TF32 drops an operand's last 13
    /// bits ("NVIDIA A100 Tensor Core GPU Architecture", 2020, has the format): each operand loses less than 2^-10 of itself, and their product less
    /// than twice that.
    Tf32,
    /// Each element is one of the two neighbours of the wanted value. The number of elements rounded up is within this many standard deviations of
    /// its mean under unbiased stochastic rounding.
    Statistic {
        /// Standard deviations.
        sigmas: f64,
    },
}

/// `c` of a bound if Tensor Cores add.
const TENSOR_CORES: f64 = 4.0;

/// The oracle's value of one element, and the room for error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Expected {
    /// The value, before it is rounded to the result's type.
    pub(crate) value: f64,
    /// Number proportional to the error of the computation in `f32`; read by [`Agreement::Bound`] and [`Agreement::Tf32`].
    pub(crate) mass: f64,
    /// Σ|a||b| over the products of a matrix product that the value sums; read by [`Agreement::Tf32`] alone.
    pub(crate) products: f64,
    /// Extra room, whatever the arithmetic: for factors that may be rounded to the element type before they are multiplied.
    pub(crate) room: f64,
}

impl Expected {
    /// Returns a value without room for error.
    pub(crate) const fn exactly(value: f64) -> Self {
        Self { value, mass: 0.0, products: 0.0, room: 0.0 }
    }

    /// Returns a value with room for `mass`·2^-24, and for a few roundings among the subnormals of `f32`, of 2^-150 each.
    pub(crate) fn near(value: f64, mass: f64) -> Self {
        let mass = mass + 8.0 * f64::from(f32::MIN_POSITIVE);
        Self { mass, ..Self::exactly(value) }
    }
}

/// Outcome of comparing a tensor.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Comparison {
    /// Worst difference within the agreement, as a share of the allowed difference: 0 is equal, 1 is the edge.
    pub(crate) worst: f64,
    /// Indices of elements that do not agree.
    pub(crate) offenders: Vec<usize>,
}

impl Agreement {
    /// Returns the agreement of sums of products.
    ///
    /// Tensor Cores truncate where they align addends; four times the bound of rounding covers the designs measured by Fasi,
    /// Higham, Mikaitis and Pranesh (`PeerJ` Computer Science 7:e330, 2021). Where operands are read as TF32, their lost bits
    /// are added to that.
    pub(crate) const fn of_matrix_products(arithmetic: Arithmetic) -> Self {
        if arithmetic.tf32 {
            Self::Tf32
        } else if arithmetic.tensor_core {
            Self::Bound { c: TENSOR_CORES }
        } else {
            Self::Bound { c: 1.0 }
        }
    }

    /// Compares a result with the wanted values, element by element. The caller compares lengths.
    pub(crate) fn compare(self, got: &Stored, wanted: &[Expected]) -> Comparison {
        let mut comparison = Comparison::default();
        for (index, (code, wanted)) in got.codes().zip(wanted).enumerate() {
            match self.distance(code, got.dtype, wanted) {
                Some(distance) => comparison.worst = comparison.worst.max(distance),
                None => comparison.offenders.push(index),
            }
        }
        if let Self::Statistic { sigmas } = self {
            let deviation = deviation(got, wanted);
            let unbiased = deviation.abs() <= sigmas;
            comparison.worst = deviation.abs() / sigmas;
            if !unbiased {
                comparison.offenders = (0..got.len()).collect();
            }
        }
        comparison
    }

    /// Returns one element's difference as a share of the allowed one; `None` if it does not agree.
    fn distance(self, code: u64, dtype: DType, wanted: &Expected) -> Option<f64> {
        let got = cast::value(code, dtype);
        if wanted.value.is_nan() {
            return got.is_nan().then_some(0.0);
        }
        if wanted.value.is_infinite() || self == Self::Bits {
            let exact = cast::round(wanted.value, dtype);
            let both_nan = got.is_nan() && cast::value(exact, dtype).is_nan();
            return (code == exact || both_nan).then_some(0.0);
        }
        let [low, high] = self.range(dtype, wanted);
        if got == low && got == high {
            return Some(0.0);
        }
        (low <= got && got <= high).then(|| share(got, rounded(wanted.value, dtype), [low, high]))
    }

    /// Returns the least and the greatest result that agree with a finite value.
    fn range(self, dtype: DType, wanted: &Expected) -> [f64; 2] {
        let Expected { value, mass, products, room: besides } = *wanted;
        let room = match self {
            Self::Bits => 0.0,
            Self::Ulps(n) => f64::from(n) * ulp(value, DType::F32),
            Self::Bound { c } => c * 2.0_f64.powi(-24) * mass,
            Self::Tf32 => {
                let dropped = if dtype == DType::F32 { 2.0_f64.powi(-9) * products } else { 0.0 };
                TENSOR_CORES * 2.0_f64.powi(-24) * mass + dropped
            }
            Self::Statistic { .. } => {
                let [below, above] = neighbours(value, dtype);
                return if rounded(value, dtype) == value {
                    [value; 2]
                } else {
                    [below.min(above), below.max(above)]
                };
            }
        };
        [value - room - besides, value + room + besides].map(|edge| rounded(edge, dtype))
    }
}

/// Returns the distance of `got` from `middle`, as a share of the distance to the edge on its side.
fn share(got: f64, middle: f64, [low, high]: [f64; 2]) -> f64 {
    let width = if got < middle { middle - low } else { high - middle };
    let share = (got - middle).abs() / width;
    // The edge is infinite only if half of the format's largest ulp is within the room.
    if share.is_finite() { share } else { f64::from(u8::from(got != middle)) }
}

/// Returns the distance of the number of elements rounded up from its mean, in standard deviations.
fn deviation(got: &Stored, wanted: &[Expected]) -> f64 {
    let (mut surplus, mut variance) = (0.0, 0.0);
    let pairs = got.values().zip(wanted);
    for (value, wanted) in pairs.filter(|(_, wanted)| wanted.value.is_finite()) {
        let [near, far] = neighbours(wanted.value, got.dtype);
        let chance = (wanted.value - near) / (far - near);
        surplus += f64::from(u8::from(value == far)) - chance;
        variance += chance * (1.0 - chance);
    }
    if variance == 0.0 { surplus * count(got.len()) } else { surplus / variance.sqrt() }
}

/// Returns a count as a number.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub(crate) fn count(n: usize) -> f64 {
    n as f64
}

impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Bits => "bits".to_owned(),
            Self::Ulps(n) => format!("ulps({n})"),
            Self::Bound { c } => format!("bound({c})"),
            Self::Tf32 => format!("bound({TENSOR_CORES}), tf32"),
            Self::Statistic { sigmas } => format!("statistic({sigmas} sigma)"),
        };
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Agreement; 5] = [
        Agreement::Bits,
        Agreement::Ulps(1000),
        Agreement::Bound { c: 1e30 },
        Agreement::Tf32,
        Agreement::Statistic { sigmas: 1e30 },
    ];

    fn agrees(agreement: Agreement, got: f32, wanted: Expected) -> bool {
        let got = Stored::from_values(DType::F32, &[1], [f64::from(got)]);
        agreement.compare(&got, &[wanted]).offenders.is_empty()
    }

    #[test]
    fn nan_and_infinity_pass_no_tolerance_however_wide() {
        for agreement in ALL {
            for got in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                let wanted = Expected { value: 1.0, mass: 1.0, products: 1.0, room: 0.0 };
                assert!(!agrees(agreement, got, wanted), "{agreement} {got}");
            }
            for got in [0.0, f32::MAX, f32::NAN, f32::NEG_INFINITY] {
                assert!(
                    !agrees(agreement, got, Expected::exactly(f64::INFINITY)),
                    "{agreement} {got}"
                );
            }
            for got in [0.0, f32::INFINITY] {
                assert!(!agrees(agreement, got, Expected::exactly(f64::NAN)), "{agreement} {got}");
            }
        }
    }

    #[test]
    fn any_nan_equals_any_nan_and_infinities_equal_by_sign() {
        for agreement in ALL {
            assert!(agrees(agreement, f32::NAN, Expected::exactly(-f64::NAN)), "{agreement}");
            assert!(agrees(agreement, f32::INFINITY, Expected::exactly(f64::INFINITY)));
        }
    }

    #[test]
    fn bits_tell_the_zeros_apart() {
        assert!(agrees(Agreement::Bits, -0.0, Expected::exactly(-0.0)));
        assert!(!agrees(Agreement::Bits, 0.0, Expected::exactly(-0.0)));
    }

    #[test]
    fn ulps_end_where_they_say() {
        let next = |n: u32| f32::from_bits(1.0_f32.to_bits() + n);
        assert!(agrees(Agreement::Ulps(2), next(2), Expected::exactly(1.0)));
        assert!(!agrees(Agreement::Ulps(2), next(3), Expected::exactly(1.0)));
    }

    #[test]
    fn a_sixteen_bit_result_is_held_to_ulps_of_f32() {
        let got = Stored::from_codes(DType::F16, &[1], [0x3c01]);
        let agreement = Agreement::Ulps(2);
        assert_eq!(agreement.compare(&got, &[Expected::exactly(1.0)]).offenders, [0]);
        let tie = 1.0 + 2.0_f64.powi(-11);
        assert!(agreement.compare(&got, &[Expected::exactly(tie)]).offenders.is_empty());
    }

    #[test]
    fn tf32_gives_room_to_products_of_f32_and_to_nothing_else() {
        let edge = 1.0 + 2.0_f32.powi(-9);
        let beyond = f32::from_bits(edge.to_bits() + 1);
        let product = Expected { products: 1.0, ..Expected::exactly(1.0) };
        assert!(agrees(Agreement::Tf32, edge, product));
        assert!(!agrees(Agreement::Tf32, beyond, product));
        assert!(!agrees(Agreement::Tf32, edge, Expected { mass: 1.0, ..Expected::exactly(1.0) }));
        assert!(!agrees(Agreement::Bound { c: TENSOR_CORES }, edge, product));
        let f16 = Stored::from_values(DType::F16, &[1], [f64::from(edge)]);
        assert_eq!(Agreement::Tf32.compare(&f16, &[product]).offenders, [0]);
    }

    #[test]
    fn infinity_agrees_with_a_bound_only_where_the_bound_reaches_overflow() {
        let got = Stored::from_codes(DType::F16, &[1], [0x7c00]);
        let wanted = Expected { mass: 2.0_f64.powi(24), ..Expected::exactly(65519.0) };
        let within = |c| Agreement::Bound { c }.compare(&got, &[wanted]).offenders.is_empty();
        assert!(within(1.0));
        assert!(!within(0.5));
    }

    #[test]
    fn a_statistic_catches_rounding_that_is_always_to_nearest() {
        let agreement = Agreement::Statistic { sigmas: 5.0 };
        let wanted = vec![Expected::exactly(1.0 + 2.0_f64.powi(-12)); 1000];
        let third = |i: u64| if i.is_multiple_of(4) { 0x3c01 } else { 0x3c00 };
        let fair = Stored::from_codes(DType::F16, &[1000], (0..1000).map(third));
        let nearest = Stored::from_codes(DType::F16, &[1000], (0..1000).map(|_| 0x3c00));
        assert!(agreement.compare(&fair, &wanted).offenders.is_empty());
        assert_eq!(agreement.compare(&nearest, &wanted).offenders.len(), 1000);
    }
}
