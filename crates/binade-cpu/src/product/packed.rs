//! Operands packed into panels, and the result's tiles computed of them.

use super::tile::{COLUMNS, Kernel, ROWS};
use super::{Beta, Elements, Matrix, PER_OPERATION};
use crate::parallel::{self, is_worth_threads};
use crate::pool::{Buffer, pooled};
use crate::simd;
use binade_core::Element;
use half::{bf16, f16};
use std::ops::Range;

pooled!(u32);

/// Words of a panel's lane that a tile is computed of at once: a panel of so many stays in the first cache.
const DEPTH: usize = 256;

/// Columns that are packed at once.
const WIDTH: usize = 2048;

/// Number of words of the right-hand matrix that are packed at once. They stay in the last-level cache while all rows are multiplied by them.
const BLOCK: usize = DEPTH * WIDTH;

/// Maximum number of row panels of a task; the words for a tile stay in the second-level cache.
const PANELS: usize = 16;

/// Number of words packed for a lane before the next lane, so that their destination stays in the cache.
const RUN: usize = 256;

/// Computes `c = a·b + beta·c` with `kernel`, of operands of at least one element.
pub(super) fn multiply(kernel: Kernel, [a, b]: [Matrix<'_>; 2], beta: Beta, c: &mut [f32]) {
    let ([rows, k], columns) = (a.extents, b.extents[1]);
    let is_shared = is_worth_threads(rows * k * columns / PER_OPERATION);
    let depth = k.div_ceil(kernel.elements());
    let b = b.transposed();
    let width = columns.min(WIDTH);
    let deep = (BLOCK / width.next_multiple_of(COLUMNS) / DEPTH * DEPTH).min(depth);
    let packed_a = pack::<ROWS>(kernel, a);
    let (packed_a, _) = packed_a.as_chunks::<ROWS>();
    let mut packed_b = Buffer::scratch(width.next_multiple_of(COLUMNS) * deep);
    let block = panels_of_task(rows) * ROWS;
    for first_column in (0..columns).step_by(width) {
        let lanes = first_column..columns.min(first_column + width);
        for first in (0..depth).step_by(deep) {
            let words = first..depth.min(first + deep);
            pack_block::<COLUMNS>(kernel, b, [lanes.clone(), words.clone()], &mut packed_b);
            let (packed_b, _) = packed_b.as_chunks::<COLUMNS>();
            let task = |(number, c): (usize, &mut [f32])| {
                let a = &packed_a[number * block / ROWS * depth..];
                for range in steps(words.clone()) {
                    let beta = if range.start == 0 { beta } else { Beta::One };
                    let in_block = range.start - words.start..range.end - words.start;
                    let panels = packed_b.chunks_exact(words.len());
                    for (column, b) in lanes.clone().step_by(COLUMNS).zip(panels) {
                        for (rows, a) in c.chunks_mut(ROWS * columns).zip(a.chunks_exact(depth)) {
                            let (a, b) = (&a[range.clone()], &b[in_block.clone()]);
                            kernel.multiply((a, b), beta, &mut rows[column..], columns);
                        }
                    }
                }
            };
            if is_shared {
                parallel::each(c.chunks_mut(block * columns).enumerate(), task);
            } else {
                c.chunks_mut(block * columns).enumerate().for_each(task);
            }
        }
    }
}

/// Returns the number of panels of rows of a task. Threads have equally many tasks, and how many there are changes no bit.
fn panels_of_task(rows: usize) -> usize {
    let (panels, threads) = (rows.div_ceil(ROWS), rayon::current_num_threads());
    panels.div_ceil(panels.div_ceil(threads * PANELS) * threads).max(1)
}

/// Divides words into the ranges for one computation of a tile.
fn steps(words: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    words.clone().step_by(DEPTH).map(move |first| first..words.end.min(first + DEPTH))
}

/// Packs a matrix into panels of `LANES` rows: a word of each row, then the next word of each. Missing rows and elements are zeros.
fn pack<const LANES: usize>(kernel: Kernel, matrix: Matrix<'_>) -> Buffer<u32> {
    let [lanes, k] = matrix.extents;
    let depth = k.div_ceil(kernel.elements());
    let mut packed = Buffer::scratch(lanes.next_multiple_of(LANES) * depth);
    pack_block::<LANES>(kernel, matrix, [0..lanes, 0..depth], &mut packed);
    packed
}

/// Packs these words of these rows of a matrix, as [`pack`] does the whole. The first row begins a panel.
fn pack_block<const LANES: usize>(
    kernel: Kernel,
    matrix: Matrix<'_>,
    block: [Range<usize>; 2],
    packed: &mut [u32],
) {
    match (matrix.elements, kernel) {
        (Elements::BF16(all), Kernel::Pairs) => {
            panels::<Pairs, bf16, LANES>(all, matrix, block, packed);
        }
        (Elements::BF16(all), Kernel::Single) => {
            panels::<Singles, bf16, LANES>(all, matrix, block, packed);
        }
        (Elements::F16(all), _) => panels::<Singles, f16, LANES>(all, matrix, block, packed),
        (Elements::F32(all), _) => panels::<Singles, f32, LANES>(all, matrix, block, packed),
    }
}

/// Way of making words of elements.
trait Words<E> {
    /// Number of elements of a word.
    const ELEMENTS: usize;

    /// Makes words of neighbouring elements of a lane.
    fn along(elements: &[E], words: &mut [u32]);

    /// Makes one word for each lane, from an element of this line and one of the next line, which may be missing.
    fn across(line: &[E], next: &[E], words: &mut [u32]);
}

/// Elements as f32, one a word.
struct Singles;

impl<E: Element> Words<E> for Singles {
    const ELEMENTS: usize = 1;

    fn along(elements: &[E], words: &mut [u32]) {
        let mut wide = [0.0; 64];
        for (elements, words) in elements.chunks(wide.len()).zip(words.chunks_mut(wide.len())) {
            simd::widen(elements, &mut wide);
            words.iter_mut().zip(&wide[..elements.len()]).for_each(|(word, x)| *word = x.to_bits());
        }
    }

    fn across(line: &[E], _: &[E], words: &mut [u32]) {
        Self::along(line, words);
    }
}

/// Two bf16 a word, the first in its low half.
struct Pairs;

impl Words<bf16> for Pairs {
    const ELEMENTS: usize = 2;

    fn along(elements: &[bf16], words: &mut [u32]) {
        let (pairs, rest) = elements.as_chunks();
        words.iter_mut().zip(pairs).for_each(|(word, [low, high])| *word = pair(*low, *high));
        let last = words.iter_mut().skip(pairs.len());
        last.zip(rest).for_each(|(word, low)| *word = pair(*low, bf16::ZERO));
    }

    fn across(line: &[bf16], next: &[bf16], words: &mut [u32]) {
        if next.is_empty() {
            words.iter_mut().zip(line).for_each(|(word, low)| *word = pair(*low, bf16::ZERO));
        } else {
            let pairs = line.iter().zip(next);
            words.iter_mut().zip(pairs).for_each(|(word, (low, high))| *word = pair(*low, *high));
        }
    }
}

fn pair(low: bf16, high: bf16) -> u32 {
    u32::from(low.to_bits()) | u32::from(high.to_bits()) << 16
}

/// Packs panels of words.
fn panels<W: Words<E>, E: Element, const LANES: usize>(
    all: &[E],
    matrix: Matrix<'_>,
    [lanes, words]: [Range<usize>; 2],
    packed: &mut [u32],
) {
    let k = matrix.extents[1];
    let panel = |(number, panel): (usize, &mut [[u32; LANES]])| {
        let first = lanes.start + number * LANES;
        let lanes = first..lanes.end.min(first + LANES);
        if lanes.len() < LANES {
            panel.fill([0; LANES]);
        }
        if matrix.is_transposed {
            pack_lines::<W, E, LANES>(all, matrix.extents, [lanes, words.clone()], panel);
        } else {
            let rows = &all[lanes.start * k..lanes.end * k];
            pack_rows::<W, E, LANES>(rows, k, words.clone(), panel);
        }
    };
    let (packed, _) = packed.as_chunks_mut();
    let packed = &mut packed[..lanes.len().div_ceil(LANES) * words.len()];
    if is_worth_threads(lanes.len() * words.len()) {
        parallel::each(packed.chunks_mut(words.len()).enumerate(), panel);
    } else {
        packed.chunks_mut(words.len()).enumerate().for_each(panel);
    }
}

/// Packs `lanes` of a matrix whose lines each have an element of every lane.
fn pack_lines<W: Words<E>, E, const LANES: usize>(
    all: &[E],
    [width, k]: [usize; 2],
    [lanes, words]: [Range<usize>; 2],
    panel: &mut [[u32; LANES]],
) {
    let of_line = |line: usize| &all[line * width + lanes.start..line * width + lanes.end];
    let starts = (words.start * W::ELEMENTS..k).step_by(W::ELEMENTS);
    for (words, line) in panel.iter_mut().zip(starts) {
        let next = if W::ELEMENTS == 2 && line + 1 < k { of_line(line + 1) } else { &[] };
        W::across(of_line(line), next, &mut words[..lanes.len()]);
    }
}

/// Packs words of rows of `k` elements, each of them a lane.
fn pack_rows<W: Words<E>, E, const LANES: usize>(
    rows: &[E],
    k: usize,
    words: Range<usize>,
    panel: &mut [[u32; LANES]],
) {
    let mut run = [0; RUN];
    for (first, panel) in words.step_by(RUN).zip(panel.chunks_mut(RUN)) {
        let elements = first * W::ELEMENTS..k.min((first + panel.len()) * W::ELEMENTS);
        for (lane, row) in rows.chunks_exact(k).enumerate() {
            let run = &mut run[..panel.len()];
            W::along(&row[elements.clone()], run);
            panel.iter_mut().zip(&*run).for_each(|(to, word)| to[lane] = *word);
        }
    }
}
