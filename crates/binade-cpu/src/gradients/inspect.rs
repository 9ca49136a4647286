//! Read-only pass over gradients: non-finite elements, and the size of the finite ones.

use super::{Gradients, Measured, supported, widened};
use crate::{
    Error, Tensor,
    parallel::{BLOCK, is_worth_threads},
    simd::{self, Loop},
};
use binade_core::{FoundInf, Overflow};
use rayon::prelude::*;

/// Bits of infinity; larger bits, sign aside, are NaN.
const INFINITY: u32 = 0x7f80_0000;

/// Findings of one block. Blocks are joined in set order, so that the number of threads does not show.
#[derive(Clone, Copy, Default)]
struct Block {
    /// First non-finite element: index in its gradient, scaled value, unscaled value.
    first: Option<(usize, f32, f32)>,
    infinities: u64,
    nans: u64,
    magnitude: f32,
    squares: f64,
    largest: f32,
}

/// Inspects every gradient as it is, and as it will be once multiplied by `inverse`.
///
/// # Errors
///
/// [`Error::Unsupported`] for gradients that are not bf16, f16 or f32.
pub(crate) fn inspect(grads: &Gradients, inverse: f32) -> Result<(FoundInf, Measured), Error> {
    let missing = grads.entries.iter().filter(|entry| entry.value.is_none());
    let mut found = FoundInf {
        missing: missing.map(|entry| entry.name.clone()).collect(),
        ..FoundInf::default()
    };
    let mut measured = Measured::default();
    let pieces = pieces(grads)?;
    for (piece, block) in pieces.iter().zip(blocks(&pieces, inverse)) {
        block.join(&mut found, &mut measured, |(index, scaled, unscaled)| Overflow {
            parameter: grads.entries[piece.parameter].name.clone(),
            index: index as u64,
            rank: None,
            scaled,
            unscaled,
        });
    }
    Ok((found, measured))
}

/// Part of one gradient, of at most [`BLOCK`] elements.
struct Piece<'g> {
    parameter: usize,
    start: usize,
    tensor: &'g Tensor,
}

/// Returns the whole set in pieces, in order, so that many small tensors are shared out like one large one.
fn pieces(grads: &Gradients) -> Result<Vec<Piece<'_>>, Error> {
    let mut pieces = Vec::new();
    for (parameter, tensor) in grads.present() {
        supported(tensor, "unscale gradients of")?;
        let starts = (0..tensor.len()).step_by(BLOCK);
        pieces.extend(starts.map(|start| Piece { parameter, start, tensor }));
    }
    Ok(pieces)
}

fn blocks(pieces: &[Piece<'_>], inverse: f32) -> Vec<Block> {
    let elements: usize = pieces.iter().map(|piece| BLOCK.min(piece.tensor.len())).sum();
    if is_worth_threads(elements) {
        pieces.par_iter().map(|piece| piece.look(inverse)).collect()
    } else {
        pieces.iter().map(|piece| piece.look(inverse)).collect()
    }
}

impl Piece<'_> {
    fn look(&self, inverse: f32) -> Block {
        let block = self.quickly(inverse);
        // NaN is above infinity too. A block with either is rare, and is read again element by element.
        let fine = block.magnitude.is_finite() && block.largest.is_finite();
        if fine { block } else { self.carefully(inverse, block) }
    }

    fn each(&self, look: impl FnMut(usize, &[f32])) {
        let end = self.tensor.len().min(self.start + BLOCK);
        widened(self.tensor, self.start..end, look);
    }

    fn quickly(&self, inverse: f32) -> Block {
        if is_power_of_two(inverse) {
            let block = self.summed::<false>(inverse);
            if block.largest >= FAR_ABOVE_SUBNORMAL || block.magnitude == 0.0 {
                let factor = f64::from(inverse) * f64::from(inverse);
                return Block { squares: block.squares * factor, ..block };
            }
        }
        self.summed::<true>(inverse)
    }

    fn summed<const MULTIPLIES: bool>(&self, inverse: f32) -> Block {
        let mut lanes = [Lanes::default(); 2];
        self.each(|_, elements| {
            simd::widest(Look::<MULTIPLIES> { lanes: &mut lanes, elements, inverse });
        });
        joined(&lanes, inverse)
    }

    /// Finds what `quick` cannot: places and counts of non-finite elements, and the largest of the finite ones.
    fn carefully(&self, inverse: f32, quick: Block) -> Block {
        let mut block = Block { magnitude: 0.0, ..quick };
        self.each(|first, elements| {
            for (i, &scaled) in elements.iter().enumerate() {
                if scaled.is_finite() {
                    block.magnitude = block.magnitude.max(scaled.abs());
                }
                block.count(first + i, scaled, scaled * inverse);
            }
        });
        block
    }
}

/// Number of elements read at once.
const WIDTH: usize = 16;

/// Magnitude beside which products that are subnormal, and so may be rounded, change no sum of squares.
const FAR_ABOVE_SUBNORMAL: f32 = f32::from_bits(67 << 23);

/// Returns true for a power of two. Products with it are exact unless they are subnormal, so that a sum of squares may be multiplied by its
/// square.
fn is_power_of_two(x: f32) -> bool {
    x.is_normal() && x.to_bits() << 9 == 0
}

/// Maxima and sums side by side, so that the compiler keeps them in registers. Maxima are on bits, where NaN is largest.
#[derive(Clone, Copy, Default)]
struct Lanes {
    magnitude: [u32; WIDTH],
    squares: [f64; WIDTH],
}

/// Lanes for every other round, so that a sum need not wait for the one before, and the elements still to read. Elements are multiplied by
/// `inverse` before they are squared if `MULTIPLIES`.
struct Look<'a, const MULTIPLIES: bool> {
    lanes: &'a mut [Lanes; 2],
    elements: &'a [f32],
    inverse: f32,
}

impl<const MULTIPLIES: bool> Loop for Look<'_, MULTIPLIES> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { lanes, elements, inverse } = self;
        // Variables of their own stay in registers; elements of an array do not.
        let [mut even, mut odd] = *lanes;
        let (rounds, rest) = elements.as_chunks::<WIDTH>();
        let (pairs, single) = rounds.as_chunks::<2>();
        for [first, second] in pairs {
            even.add::<MULTIPLIES>(first, inverse);
            odd.add::<MULTIPLIES>(second, inverse);
        }
        if let [round] = single {
            even.add::<MULTIPLIES>(round, inverse);
        }
        if !rest.is_empty() {
            // Zeros change no sum and no maximum.
            let mut last = [0.0; WIDTH];
            last[..rest.len()].copy_from_slice(rest);
            odd.add::<MULTIPLIES>(&last, inverse);
        }
        *lanes = [even, odd];
    }
}

impl Lanes {
    /// Adds one element to each lane. A loop for each array is a few vector instructions; one loop for all is not.
    #[inline(always)]
    fn add<const MULTIPLIES: bool>(&mut self, scaled: &[f32; WIDTH], inverse: f32) {
        for (largest, x) in self.magnitude.iter_mut().zip(scaled) {
            *largest = x.abs().to_bits().max(*largest);
        }
        for (sum, x) in self.squares.iter_mut().zip(scaled) {
            let x = f64::from(if MULTIPLIES { x * inverse } else { *x });
            *sum += x * x;
        }
    }
}

/// Returns what the lanes have found together. The largest product is that of the largest magnitude, as rounding keeps order.
fn joined(lanes: &[Lanes; 2], inverse: f32) -> Block {
    let magnitudes = lanes.iter().flat_map(|lanes| lanes.magnitude);
    let magnitude = f32::from_bits(magnitudes.max().unwrap_or_default());
    let squares = lanes.iter().flat_map(|lanes| lanes.squares).sum();
    Block { magnitude, squares, largest: magnitude * inverse, ..Block::default() }
}

impl Block {
    fn count(&mut self, index: usize, scaled: f32, unscaled: f32) {
        let bits = scaled.abs().to_bits().max(unscaled.abs().to_bits());
        if bits < INFINITY {
            return;
        }
        self.nans += u64::from(bits > INFINITY);
        self.infinities += u64::from(bits == INFINITY);
        self.first.get_or_insert((index, scaled, unscaled));
    }

    fn join(
        &self,
        found: &mut FoundInf,
        measured: &mut Measured,
        overflow: impl FnOnce((usize, f32, f32)) -> Overflow,
    ) {
        found.infinities += self.infinities;
        found.nans += self.nans;
        found.magnitude = found.magnitude.max(self.magnitude);
        if found.overflow.is_none() {
            found.overflow = self.first.map(overflow);
        }
        measured.squares += self.squares;
        let larger = measured.largest.to_bits().max(self.largest.to_bits());
        measured.largest = f32::from_bits(larger);
    }
}
