//! Norms of slices. They have the same bits for every division of the elements among ranks.

use binade_grad_scaler::Norm;

/// Number of 32-bit digits of a sum of squares: 640 bits. The squares of all `f32` need 554.
const DIGITS: usize = 20;

/// Exponent of the lowest bit of a sum, which is that of the squared smallest `f32`.
const LOWEST: i32 = -298;

/// Number of bytes of one set's sizes.
pub(crate) const BYTES: usize = 8 * (DIGITS + 1);

/// Exact sum of squares and largest absolute value of a set of elements.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sizes {
    /// Digits of 32 bits of the sum divided by 2^-298, lowest first. Additions to a digit are carried later.
    squares: [u64; DIGITS],
    /// Largest absolute value; infinite or NaN if an element is.
    largest: f32,
}

impl Sizes {
    /// Adds elements.
    pub(crate) fn add(&mut self, elements: &[f32]) {
        // After 2^30 elements a digit still has room for its previous value.
        for elements in elements.chunks(1 << 30) {
            for element in elements {
                self.add_largest(element.abs());
                if element.is_finite() {
                    self.add_square(*element);
                }
            }
            self.carry();
        }
    }

    fn add_largest(&mut self, size: f32) {
        // A NaN is kept.
        if size > self.largest || size.is_nan() {
            self.largest = size;
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "digits of 32 bits")]
    fn add_square(&mut self, element: f32) {
        let bits = element.to_bits();
        let (exponent, fraction) = (bits >> 23 & 0xff, u64::from(bits & 0x7f_ffff));
        // Subnormal numbers have the lowest exponent and no implicit bit.
        let mantissa = if exponent == 0 { fraction } else { fraction | 1 << 23 };
        let place = 2 * exponent.saturating_sub(1);
        let square = u128::from(mantissa * mantissa) << (place % 32);
        for digit in 0..3 {
            self.squares[(place / 32) as usize + digit] += (square >> (32 * digit)) as u64 & MASK;
        }
    }

    /// Brings every digit below 2^32.
    fn carry(&mut self) {
        let mut carried = 0;
        for digit in &mut self.squares {
            carried += *digit;
            *digit = carried & MASK;
            carried >>= 32;
        }
    }

    /// Returns the bytes that [`add_bytes`](Self::add_bytes) takes.
    pub(crate) fn to_bytes(&self) -> impl Iterator<Item = u8> {
        let largest = u64::from(self.largest.to_bits());
        self.squares.into_iter().chain([largest]).flat_map(u64::to_le_bytes)
    }

    /// Adds the elements of another rank.
    #[expect(clippy::cast_possible_truncation, reason = "the lower half has the bits of an f32")]
    pub(crate) fn add_bytes(&mut self, bytes: &[u8; BYTES]) {
        let (words, _) = bytes.as_chunks::<8>();
        let mut words = words.iter().map(|word| u64::from_le_bytes(*word));
        self.squares.iter_mut().zip(words.by_ref()).for_each(|(sum, digit)| *sum += digit);
        self.carry();
        self.add_largest(f32::from_bits(words.next().unwrap_or_default() as u32));
    }

    /// Returns the norm of all elements; infinite or NaN if an element is.
    #[expect(clippy::cast_precision_loss, reason = "digits have 32 bits")]
    pub(crate) fn norm(&self, norm: Norm) -> f64 {
        match norm {
            Norm::L2 if self.largest.is_finite() => {
                let digits = self.squares.iter().rev();
                let sum = digits.fold(0.0, |sum, digit| sum * 2.0_f64.powi(32) + *digit as f64);
                (sum * 2.0_f64.powi(LOWEST)).sqrt()
            }
            _ => f64::from(self.largest),
        }
    }
}

const MASK: u64 = (1 << 32) - 1;

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes<'s>(slices: impl IntoIterator<Item = &'s [f32]>) -> Sizes {
        let mut all = Sizes::default();
        for slice in slices {
            let mut own = Sizes::default();
            own.add(slice);
            let bytes: Vec<u8> = own.to_bytes().collect();
            all.add_bytes(bytes.as_slice().try_into().unwrap());
        }
        all
    }

    #[test]
    fn a_norm_has_the_same_bits_however_elements_are_divided_and_ordered() {
        let mut random = fastrand::Rng::with_seed(1);
        let finite = |bits| Some(f32::from_bits(bits)).filter(|value| value.is_finite());
        let mut values: Vec<_> = (0..1000).filter_map(|_| finite(random.u32(..))).collect();
        let norms = [Norm::L2, Norm::Infinity];
        let whole = norms.map(|norm| sizes([&values[..]]).norm(norm).to_bits());
        for len in [1, 7, 500] {
            random.shuffle(&mut values);
            let divided = sizes(values.chunks(len));
            assert_eq!(norms.map(|norm| divided.norm(norm).to_bits()), whole);
        }
    }

    #[test]
    fn norms_are_exact_at_the_ends_of_f32() {
        let smallest = f32::from_bits(1);
        for (values, norm) in [
            (&[][..], 0.0),
            (&[3.0, -4.0], 5.0),
            (&[smallest], f64::from(smallest)),
            (&[f32::MIN_POSITIVE; 4], 2.0 * f64::from(f32::MIN_POSITIVE)),
            (&[f32::MAX; 4], 2.0 * f64::from(f32::MAX)),
            (&[1e30, 3e-30, -1e30], 2.0_f64.sqrt() * f64::from(1e30_f32)),
        ] {
            let found = sizes([values]).norm(Norm::L2);
            assert!((found - norm).abs() <= norm * f64::EPSILON, "{values:?}: {found:e}");
        }
    }

    #[test]
    fn an_infinity_and_a_nan_are_the_norm_wherever_they_lie() {
        for norm in [Norm::L2, Norm::Infinity] {
            let infinite = sizes([&[1.0][..], &[2.0, f32::NEG_INFINITY]]).norm(norm);
            assert_eq!(infinite, f64::INFINITY);
            for slices in [[&[f32::NAN][..], &[f32::INFINITY]], [&[f32::INFINITY], &[f32::NAN]]] {
                assert!(sizes(slices).norm(norm).is_nan());
            }
        }
    }
}
