//! Operands packed into panels, and the result's tiles computed of them.

use super::tile::{COLUMNS, Kernel, ROWS};
use super::{Elements, Matrix, PER_OPERATION};
use crate::parallel::{self, is_worth_threads};
use crate::pool::{Buffer, pooled};
use crate::simd;
use binade_core::Element;
use half::{bf16, f16};
use rayon::prelude::*;
use std::ops::Range;

pooled!(u32);

/// Words of a panel's lane that a tile is computed of at once: a panel of so many stays in the first cache.
const DEPTH: usize = 256;

/// Most panels of rows of a task.
const PANELS: usize = 8;

/// Number of tasks that a result is divided into, if it has rows enough.
const TASKS: usize = 8;

/// Words of a lane that are packed before the next lane's, so that their place stays in the cache.
const RUN: usize = 64;

/// Computes `c += a·b` with `kernel`. A thread outside the pool goes there once, and not for each of the three parts.
pub(super) fn add_product(kernel: Kernel, a: Matrix<'_>, b: Matrix<'_>, c: &mut [f32]) {
    if is_worth_threads(multiplications(a, b) / PER_OPERATION) {
        rayon::scope(|_| add_in_pool(kernel, a, b, c));
    } else {
        add_in_pool(kernel, a, b, c);
    }
}

fn multiplications(a: Matrix<'_>, b: Matrix<'_>) -> usize {
    a.extents[0] * a.extents[1] * b.extents[1]
}

fn add_in_pool(kernel: Kernel, a: Matrix<'_>, b: Matrix<'_>, c: &mut [f32]) {
    let is_shared = is_worth_threads(multiplications(a, b) / PER_OPERATION);
    let ([rows, k], columns) = (a.extents, b.extents[1]);
    let (a, b) = (pack::<ROWS>(kernel, a), pack::<COLUMNS>(kernel, b.transposed()));
    let ((a, _), (b, _)) = (a.as_chunks::<ROWS>(), b.as_chunks::<COLUMNS>());
    let depth = k.div_ceil(kernel.elements());
    let panels = rows.div_ceil(ROWS).div_ceil(TASKS).min(PANELS);
    let task = |(number, c): (usize, &mut [f32])| {
        let a = &a[number * panels * depth..];
        for first in (0..depth).step_by(DEPTH) {
            let range = first..depth.min(first + DEPTH);
            for (column, b) in (0..columns).step_by(COLUMNS).zip(b.chunks_exact(depth)) {
                for (rows, a) in c.chunks_mut(ROWS * columns).zip(a.chunks_exact(depth)) {
                    kernel.add(&a[range.clone()], &b[range.clone()], &mut rows[column..], columns);
                }
            }
        }
    };
    let block = panels * ROWS * columns;
    if is_shared {
        c.par_chunks_mut(block).enumerate().for_each(task);
    } else {
        c.chunks_mut(block).enumerate().for_each(task);
    }
}

/// Packs a matrix into panels of `LANES` rows: a word of each row, then the next word of each. Rows and elements that it lacks are zeros.
fn pack<const LANES: usize>(kernel: Kernel, matrix: Matrix<'_>) -> Buffer<u32> {
    match (matrix.elements, kernel) {
        (Elements::BF16(all), Kernel::Pairs) => panels::<Pairs, bf16, LANES>(all, matrix),
        (Elements::BF16(all), Kernel::Single) => panels::<Singles, bf16, LANES>(all, matrix),
        (Elements::F16(all), _) => panels::<Singles, f16, LANES>(all, matrix),
        (Elements::F32(all), _) => panels::<Singles, f32, LANES>(all, matrix),
    }
}

/// Way of making words of elements.
trait Words<E> {
    /// Number of elements of a word.
    const ELEMENTS: usize;

    /// Makes words of neighbouring elements of a lane, at most [`RUN`] words at once.
    fn along(elements: &[E], words: &mut [u32]);

    /// Makes a word of each lane, of an element of this line and one of the next, which may be missing.
    fn across(line: &[E], next: &[E], words: &mut [u32]);
}

/// Elements as f32, one a word.
struct Singles;

impl<E: Element> Words<E> for Singles {
    const ELEMENTS: usize = 1;

    fn along(elements: &[E], words: &mut [u32]) {
        let mut wide = [0.0; RUN];
        let wide = &mut wide[..elements.len()];
        simd::widen(elements, wide);
        words.iter_mut().zip(wide).for_each(|(word, x)| *word = x.to_bits());
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
) -> Buffer<u32> {
    let [lanes, k] = matrix.extents;
    let depth = k.div_ceil(W::ELEMENTS);
    let mut packed = Buffer(parallel::zeros(lanes.div_ceil(LANES) * depth * LANES));
    let panel = |(number, panel): (usize, &mut [[u32; LANES]])| {
        let lanes = number * LANES..lanes.min((number + 1) * LANES);
        if matrix.is_transposed {
            pack_lines::<W, E, LANES>(all, matrix.extents, lanes, panel);
        } else {
            pack_rows::<W, E, LANES>(&all[lanes.start * k..lanes.end * k], k, panel);
        }
    };
    let (words, _) = packed.as_chunks_mut();
    if is_worth_threads(lanes * k) {
        words.par_chunks_mut(depth).enumerate().for_each(panel);
    } else {
        words.chunks_mut(depth).enumerate().for_each(panel);
    }
    packed
}

/// Packs `lanes` of a matrix whose lines each have an element of every lane.
fn pack_lines<W: Words<E>, E, const LANES: usize>(
    all: &[E],
    [width, k]: [usize; 2],
    lanes: Range<usize>,
    panel: &mut [[u32; LANES]],
) {
    let of_line = |line: usize| &all[line * width + lanes.start..line * width + lanes.end];
    for (words, line) in panel.iter_mut().zip((0..k).step_by(W::ELEMENTS)) {
        let next = if W::ELEMENTS == 2 && line + 1 < k { of_line(line + 1) } else { &[] };
        W::across(of_line(line), next, &mut words[..lanes.len()]);
    }
}

/// Packs rows of `k` elements, each of them a lane.
fn pack_rows<W: Words<E>, E, const LANES: usize>(rows: &[E], k: usize, panel: &mut [[u32; LANES]]) {
    let mut words = [0; RUN];
    for (number, panel) in panel.chunks_mut(RUN).enumerate() {
        let run = number * RUN * W::ELEMENTS..k.min((number + 1) * RUN * W::ELEMENTS);
        for (lane, row) in rows.chunks_exact(k).enumerate() {
            let words = &mut words[..panel.len()];
            W::along(&row[run.clone()], words);
            panel.iter_mut().zip(&*words).for_each(|(to, word)| to[lane] = *word);
        }
    }
}
