//! The read-only pass: what is not finite, how large the rest is.

use super::{Gradients, Measured, supported};
use crate::{
    Error, Stored, Tensor,
    parallel::{BLOCK, WORTH_A_THREAD},
};
use binade_core::{DType, Element, Finding, Overflow};
use half::{bf16, f16};
use rayon::prelude::*;

/// The bits of infinity; what is above, sign aside, is NaN.
const INFINITY: u32 = 0x7f80_0000;

/// What one block holds; blocks are joined in set order, so that no thread count shows.
#[derive(Default)]
struct Block {
    /// Index, scaled value, unscaled value.
    first: Option<(usize, f32, f32)>,
    infinities: u64,
    nans: u64,
    magnitude: f32,
    squares: f64,
    largest: f32,
}

/// Looks at every gradient as it is and as it will be once multiplied by `inverse`.
///
/// # Errors
///
/// [`Error::Unsupported`] for gradients that are not bf16, f16 or f32.
pub(crate) fn inspect(grads: &Gradients, inverse: f32) -> Result<(Finding, Measured), Error> {
    let missing = grads.entries.iter().filter(|entry| entry.value.is_none());
    let mut found = Finding {
        missing: missing.map(|entry| entry.name.clone()).collect(),
        ..Finding::default()
    };
    let mut measured = Measured::default();
    let pieces = pieces(grads)?;
    for (piece, block) in pieces.iter().zip(blocks(&pieces, inverse)) {
        block.join(&mut found, &mut measured, |(index, scaled, unscaled)| Overflow {
            parameter: grads.entries[piece.parameter].name.clone(),
            index: (piece.start + index) as u64,
            scaled,
            unscaled,
        });
    }
    Ok((found, measured))
}

/// At most [`BLOCK`] elements of one gradient.
struct Piece<'g> {
    parameter: usize,
    start: usize,
    tensor: &'g Tensor,
}

/// The whole set in pieces, in order, so that many small tensors are shared out like one large one.
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
    if elements < WORTH_A_THREAD {
        pieces.iter().map(|piece| piece.look(inverse)).collect()
    } else {
        pieces.par_iter().map(|piece| piece.look(inverse)).collect()
    }
}

impl Piece<'_> {
    fn look(&self, inverse: f32) -> Block {
        match self.tensor.dtype() {
            DType::BF16 => Block::of(self.elements::<bf16>(), inverse),
            DType::F16 => Block::of(self.elements::<f16>(), inverse),
            _ => Block::of(self.elements::<f32>(), inverse),
        }
    }

    fn elements<E: Stored>(&self) -> &[E] {
        let all = self.tensor.as_slice().unwrap_or_default();
        &all[self.start..all.len().min(self.start + BLOCK)]
    }
}

impl Block {
    fn of<E: Element>(elements: &[E], inverse: f32) -> Self {
        let block = Self::finite(elements, inverse);
        // NaN is above infinity too; a block with either is rare, and is read again element by element.
        let fine = block.magnitude.is_finite() && block.largest.is_finite();
        if fine {
            block
        } else {
            Self { squares: block.squares, ..Self::careful(elements, inverse) }
        }
    }

    /// Eight sums side by side, so that the compiler keeps them in one register; maxima on bits, where NaN is largest.
    fn finite<E: Element>(elements: &[E], inverse: f32) -> Self {
        const LANES: usize = 8;
        let (mut magnitude, mut largest) = ([0_u32; LANES], [0_u32; LANES]);
        let mut squares = [0.0_f64; LANES];
        let mut look = |lane: usize, scaled: f32| {
            let unscaled = scaled * inverse;
            magnitude[lane] = magnitude[lane].max(scaled.abs().to_bits());
            largest[lane] = largest[lane].max(unscaled.abs().to_bits());
            squares[lane] += f64::from(unscaled) * f64::from(unscaled);
        };
        let (chunks, rest) = elements.as_chunks::<LANES>();
        for chunk in chunks {
            (0..LANES).for_each(|lane| look(lane, chunk[lane].to_f32()));
        }
        rest.iter().enumerate().for_each(|(lane, x)| look(lane, x.to_f32()));
        let top = |bits: [u32; LANES]| f32::from_bits(bits.into_iter().max().unwrap_or_default());
        let (magnitude, largest) = (top(magnitude), top(largest));
        Self { magnitude, largest, squares: squares.iter().sum(), ..Self::default() }
    }

    fn careful<E: Element>(elements: &[E], inverse: f32) -> Self {
        let (mut block, mut largest) = (Self::default(), 0);
        for (index, x) in elements.iter().enumerate() {
            let scaled = x.to_f32();
            let unscaled = scaled * inverse;
            largest = largest.max(unscaled.abs().to_bits());
            if scaled.is_finite() {
                block.magnitude = block.magnitude.max(scaled.abs());
            }
            block.count(index, scaled, unscaled);
        }
        Self { largest: f32::from_bits(largest), ..block }
    }

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
        found: &mut Finding,
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
