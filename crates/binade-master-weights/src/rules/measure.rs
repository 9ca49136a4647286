//! Norms of whole tensors, which the steps of LAMB, `NovoGrad` and LARS need.

use super::{Constants, ElementState};

/// Elements of a block; the squares of each block are summed separately.
const BLOCK: usize = 256;

/// Sums that a pass over a tensor measured, block by block in the order of elements.
///
/// Sums are in `f64`, of blocks of 256 elements, and blocks are added in order: neither threads nor pieces that begin at multiples of
/// 256 show in a norm.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sums(Vec<BlockSums>);

/// Sums of the squares of two numbers of each element of a block, and the largest magnitude of the first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct BlockSums {
    squares: [f64; 2],
    largest: f32,
}

impl Sums {
    /// Appends the sums of the elements that come next.
    pub fn append(&mut self, mut later: Self) {
        self.0.append(&mut later.0);
    }

    /// Returns the sums of the squares of a tensor's gradients.
    pub fn of_grads(grads: impl Iterator<Item = f32>) -> Self {
        let mut sums = Self::default();
        for (index, grad) in grads.enumerate() {
            sums.add(index, [grad, 0.0]);
        }
        sums
    }

    /// Returns the root of the sum of the squares of each element's first number.
    pub fn norm(&self) -> f32 {
        self.norms().of_squares()[0]
    }

    /// Adds the numbers of the element at `index`, which comes next.
    #[inline(always)]
    fn add(&mut self, index: usize, values: [f32; 2]) {
        if index.is_multiple_of(BLOCK) {
            self.0.push(BlockSums::default());
        }
        if let Some(block) = self.0.last_mut() {
            block.add(values);
        }
    }

    pub(super) fn norms(&self) -> Norms {
        let mut all = Norms::default();
        for block in &self.0 {
            for (sum, square) in all.squares.iter_mut().zip(block.squares) {
                *sum += square;
            }
            all.largest = larger(all.largest, block.largest);
        }
        all
    }
}

impl BlockSums {
    #[inline(always)]
    fn add(&mut self, [first, second]: [f32; 2]) {
        self.squares[0] += f64::from(first) * f64::from(first);
        self.squares[1] += f64::from(second) * f64::from(second);
        self.largest = larger(self.largest, first.abs());
    }
}

/// Returns the larger, or NaN where one is.
#[inline(always)]
fn larger(a: f32, b: f32) -> f32 {
    if a.is_nan() || b <= a { a } else { b }
}

/// Norms of a whole tensor.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Norms {
    squares: [f64; 2],
    largest: f32,
}

impl Norms {
    /// Returns the roots of both sums of squares.
    #[expect(clippy::cast_possible_truncation, reason = "norms meet f32 tensors")]
    pub(super) fn of_squares(self) -> [f32; 2] {
        self.squares.map(|sum| sum.sqrt() as f32)
    }

    /// Returns the largest magnitude of each element's first number.
    pub(super) fn largest(self) -> f32 {
        self.largest
    }
}

/// Measures elements in slices, and updates their moments if the rule does so in this pass.
pub(super) fn measure<C: Constants>(
    constants: &C,
    grads: impl Iterator<Item = f32>,
    params: &[f32],
    mut moments: [&mut [f32]; 3],
) -> Sums {
    let mut sums = Sums::default();
    for (index, (param, grad)) in params.iter().zip(grads).enumerate() {
        let kept = moments.each_ref().map(|moment| moment.get(index).copied().unwrap_or_default());
        let mut element = ElementState { param: *param, moments: kept };
        sums.add(index, constants.measure(grad, &mut element));
        for (moment, value) in moments.iter_mut().zip(element.moments) {
            if let Some(to) = moment.get_mut(index) {
                *to = value;
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_magnitude_is_nan_where_an_element_is() {
        let largest = |grads: &[f32]| Sums::of_grads(grads.iter().copied()).norms().largest();
        assert_eq!([largest(&[1.0, -3.0, 2.0])], [3.0]);
        for place in [0, BLOCK - 1, BLOCK, 2 * BLOCK] {
            let mut grads = [1.0; 2 * BLOCK + 1];
            grads[place] = f32::NAN;
            assert!(largest(&grads).is_nan(), "{place}");
        }
    }
}
