//! Read-only pass over gradients: non-finite elements, and the size of the finite ones.

use super::{Gradients, Measured, supported, widened};
use crate::{
    Error, Stored, Tensor,
    parallel::{self, BLOCK, is_worth_threads},
    simd::{self, WIDTH, Widening, WideningLoop},
};
use binade_core::{DType, Element, FoundInf, Overflow};
use half::{bf16, f16};

/// Bits of infinity; larger bits, sign aside, are NaN.
const INFINITY: u32 = 0x7f80_0000;

/// Findings of one block. Blocks are joined in set order, so the result does not depend on the number of threads.
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

/// Inspects every gradient before and after the multiplication by `inverse`.
///
/// # Errors
///
/// [`Error::Unsupported`] for gradients that are not bf16, f16 or f32.
pub(crate) fn inspect(grads: &Gradients, inverse: f32) -> Result<(FoundInf, Measured), Error> {
    grads.check_rows()?;
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
            index: grads.index_in_parameter(piece.parameter, index) as u64,
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

/// Returns the whole set in pieces, in order, so that many small tensors are divided among threads like one large tensor.
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
        parallel::map(pieces.iter(), |piece| piece.look(inverse))
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
        match self.tensor.dtype() {
            DType::BF16 => self.lanes::<bf16, MULTIPLIES>(inverse),
            DType::F16 => self.lanes::<f16, MULTIPLIES>(inverse),
            _ => self.lanes::<f32, MULTIPLIES>(inverse),
        }
    }

    fn lanes<E: Magnitude + Stored, const MULTIPLIES: bool>(&self, inverse: f32) -> Block {
        let elements = self.tensor.as_slice::<E>().unwrap_or_default();
        let elements = &elements[self.start..elements.len().min(self.start + BLOCK)];
        let lanes = simd::widest_widening(Look::<E, MULTIPLIES> { elements, inverse });
        joined::<E>(&lanes, inverse)
    }

    /// Finds the places and counts of non-finite elements and the largest finite one, which `quick` does not find.
    fn carefully(&self, inverse: f32, quick: Block) -> Block {
        let mut block = Block { magnitude: 0.0, ..quick };
        let end = self.tensor.len().min(self.start + BLOCK);
        widened(self.tensor, self.start..end, |first, elements| {
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

/// Magnitude from which on subnormal products, which may be rounded, change no sum of squares.
const FAR_ABOVE_SUBNORMAL: f32 = f32::from_bits(67 << 23);

/// Returns true for a power of two. Products with it are exact unless they are subnormal, so that a sum of squares may be multiplied by its
/// square.
fn is_power_of_two(x: f32) -> bool {
    x.is_normal() && x.to_bits() << 9 == 0
}

/// Element whose magnitudes are compared as bits; those of NaN are the largest.
trait Magnitude: Element {
    type Bits: Copy + Default + Ord;

    /// Returns the bits without the sign.
    fn magnitude(self) -> Self::Bits;

    /// Returns the element of these bits, widened.
    fn of(bits: Self::Bits) -> f32;
}

macro_rules! magnitude {
    ($($element:ty, $bits:ty);*) => { $(
        impl Magnitude for $element {
            type Bits = $bits;

            #[inline(always)]
            fn magnitude(self) -> $bits {
                self.to_bits() & (<$bits>::MAX >> 1)
            }

            fn of(bits: $bits) -> f32 {
                Self::from_bits(bits).to_f32()
            }
        }
    )* };
}

magnitude!(f16, u16; bf16, u16; f32, u32);

/// Maxima and sums side by side, so that the compiler keeps them in registers.
#[derive(Clone, Copy, Default)]
struct Lanes<B> {
    magnitude: [B; WIDTH],
    squares: [f64; WIDTH],
}

/// Look at the elements of a block. If `MULTIPLIES`, elements are multiplied by `inverse` before they are squared.
struct Look<'a, E, const MULTIPLIES: bool> {
    elements: &'a [E],
    inverse: f32,
}

impl<E: Magnitude, const MULTIPLIES: bool> WideningLoop<E> for Look<'_, E, MULTIPLIES> {
    /// Lanes for alternate rounds, so that a sum need not wait for the previous one.
    type Output = [Lanes<E::Bits>; 2];

    #[inline(always)]
    fn run<W: Widening<E>>(self) -> [Lanes<E::Bits>; 2] {
        let Self { elements, inverse } = self;
        // Separate variables stay in registers; elements of an array do not.
        let (mut even, mut odd) = (Lanes::default(), Lanes::default());
        let (rounds, rest) = elements.as_chunks::<WIDTH>();
        let (pairs, single) = rounds.as_chunks::<2>();
        for [first, second] in pairs {
            even.add::<E, W, MULTIPLIES>(first, inverse);
            odd.add::<E, W, MULTIPLIES>(second, inverse);
        }
        if let [round] = single {
            even.add::<E, W, MULTIPLIES>(round, inverse);
        }
        if !rest.is_empty() {
            // Zeros change no sum and no maximum.
            let mut last = [E::default(); WIDTH];
            last[..rest.len()].copy_from_slice(rest);
            odd.add::<E, W, MULTIPLIES>(&last, inverse);
        }
        [even, odd]
    }
}

impl<B: Copy + Ord> Lanes<B> {
    /// Adds one element to each lane. A loop for each array is a few vector instructions; one loop for all is not.
    #[inline(always)]
    fn add<E, W, const MULTIPLIES: bool>(&mut self, scaled: &[E; WIDTH], inverse: f32)
    where
        E: Magnitude<Bits = B>,
        W: Widening<E>,
    {
        for (largest, x) in self.magnitude.iter_mut().zip(scaled) {
            *largest = x.magnitude().max(*largest);
        }
        for (sum, x) in self.squares.iter_mut().zip(W::widened(scaled)) {
            let x = f64::from(if MULTIPLIES { x * inverse } else { x });
            // The square is exact, so that both have the same bits.
            *sum = if W::HAS_FMA { x.mul_add(x, *sum) } else { x * x + *sum };
        }
    }
}

/// Returns the combined result of the lanes. The largest product is that of the largest magnitude, as rounding keeps order.
fn joined<E: Magnitude>(lanes: &[Lanes<E::Bits>; 2], inverse: f32) -> Block {
    let magnitudes = lanes.iter().flat_map(|lanes| lanes.magnitude);
    let magnitude = E::of(magnitudes.max().unwrap_or_default());
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
        measured.join(Measured { squares: self.squares, largest: self.largest });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Instructions of no processor: the definition of the others.
    struct Plain;

    impl<E: Element> Widening<E> for Plain {
        const HAS_FMA: bool = false;

        fn widened(from: &[E; WIDTH]) -> [f32; WIDTH] {
            from.map(E::to_f32)
        }
    }

    /// Finite elements of every magnitude, from any start and of any odd length.
    #[test]
    fn every_instruction_finds_the_same() {
        fn check<E: Magnitude>(from_bits: impl Fn(u16) -> E) {
            let all: Vec<E> =
                (0..=u16::MAX).map(from_bits).filter(|x| x.to_f32().is_finite()).collect();
            for (start, len) in
                [(0, all.len()), (1, 4095), (3, 17), (7, 15), (30_000, 33), (9, 1), (5, 0)]
            {
                let look = |inverse| Look::<E, true> {
                    elements: &all[start..][..len.min(all.len() - start)],
                    inverse,
                };
                for inverse in [1.0, 0.3, 2.0_f32.powi(-40)] {
                    let found = |lanes: [Lanes<E::Bits>; 2]| {
                        let Block { magnitude, squares, largest, .. } =
                            joined::<E>(&lanes, inverse);
                        (magnitude.to_bits(), squares.to_bits(), largest.to_bits())
                    };
                    let widest = found(simd::widest_widening(look(inverse)));
                    assert_eq!(
                        widest,
                        found(look(inverse).run::<Plain>()),
                        "{start} {len} {inverse}"
                    );
                }
            }
        }
        check(f16::from_bits);
        check(bf16::from_bits);
        check(|bits| f32::from_bits(u32::from(bits) << 16 | u32::from(bits)));
    }
}
