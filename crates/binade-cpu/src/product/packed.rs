//! Operands packed into panels, and the result's tiles computed of them.

use super::tile::{COLUMNS, Kernel, ROWS, Tile};
use super::{Elements, Matrix, PER_OPERATION};
use crate::{parallel::is_worth_threads, simd};
use binade_core::Element;
use half::bf16;
use rayon::prelude::*;

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
    let depth = k.div_ceil(kernel.elements());
    let panels = rows.div_ceil(ROWS).div_ceil(TASKS).min(PANELS);
    let task = |(number, c): (usize, &mut [f32])| {
        let (a, mut tile) = (&a[number * panels * depth..], [[0.0; COLUMNS]; ROWS]);
        for first in (0..depth).step_by(DEPTH) {
            let range = first..depth.min(first + DEPTH);
            for (column, b) in (0..columns).step_by(COLUMNS).zip(b.chunks_exact(depth)) {
                for (rows, a) in c.chunks_mut(ROWS * columns).zip(a.chunks_exact(depth)) {
                    kernel.sum(&a[range.clone()], &b[range.clone()], &mut tile);
                    add(&tile, rows, column, columns);
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

/// Adds a tile to rows of the result, from `column` on, as far as it has them.
fn add(tile: &Tile, rows: &mut [f32], column: usize, columns: usize) {
    let end = columns.min(column + COLUMNS);
    for (row, tile) in rows.chunks_exact_mut(columns).zip(tile) {
        row[column..end].iter_mut().zip(tile).for_each(|(sum, term)| *sum += term);
    }
}

/// Packs a matrix into panels of `LANES` rows: a word of each row, then the next word of each. Rows and elements that it lacks are zeros.
fn pack<const LANES: usize>(kernel: Kernel, matrix: Matrix<'_>) -> Vec<[u32; LANES]> {
    match (matrix.elements, kernel) {
        (Elements::BF16(all), Kernel::Pairs) => panels(
            all,
            matrix,
            |all, words| {
                let (pairs, rest) = all.as_chunks::<2>();
                words
                    .iter_mut()
                    .zip(pairs)
                    .for_each(|(word, [low, high])| *word = pair(*low, *high));
                words
                    .iter_mut()
                    .skip(pairs.len())
                    .zip(rest)
                    .for_each(|(word, low)| *word = pair(*low, bf16::ZERO));
            },
            |low, high, words| {
                let high = high.iter().copied().chain(std::iter::repeat(bf16::ZERO));
                words
                    .iter_mut()
                    .zip(low.iter().zip(high))
                    .for_each(|(word, (low, high))| *word = pair(*low, high));
            },
            2,
        ),
        (Elements::BF16(all), Kernel::Single) => singles(all, matrix),
        (Elements::F16(all), _) => singles(all, matrix),
        (Elements::F32(all), _) => singles(all, matrix),
    }
}

fn pair(low: bf16, high: bf16) -> u32 {
    u32::from(low.to_bits()) | u32::from(high.to_bits()) << 16
}

/// Packs elements as f32.
fn singles<E: Element, const LANES: usize>(all: &[E], matrix: Matrix<'_>) -> Vec<[u32; LANES]> {
    let widen = |all: &[E], words: &mut [u32]| {
        let mut wide = [0.0; RUN];
        let wide = &mut wide[..all.len()];
        simd::widen(all, wide);
        words.iter_mut().zip(wide).for_each(|(word, x)| *word = x.to_bits());
    };
    panels(all, matrix, widen, |line, _, words| widen(line, words), 1)
}

/// Packs panels. `along` makes words of neighbouring elements of a lane, at most [`RUN`] words at once; `across` makes a word of
/// each lane, of as many neighbouring lines as a word has elements, of which the second may be missing.
fn panels<E: Element, const LANES: usize>(
    all: &[E],
    matrix: Matrix<'_>,
    along: impl Fn(&[E], &mut [u32]) + Sync,
    across: impl Fn(&[E], &[E], &mut [u32]) + Sync,
    elements: usize,
) -> Vec<[u32; LANES]> {
    let [lanes, k] = matrix.extents;
    let depth = k.div_ceil(elements);
    let mut packed = vec![[0; LANES]; lanes.div_ceil(LANES) * depth];
    let panel = |(number, panel): (usize, &mut [[u32; LANES]])| {
        let (first, end) = (number * LANES, lanes.min((number + 1) * LANES));
        if matrix.is_transposed {
            for (words, line) in panel.iter_mut().zip((0..k).step_by(elements)) {
                let line_of = |line: usize| &all[line * lanes + first..line * lanes + end];
                let next = if elements == 2 && line + 1 < k { line_of(line + 1) } else { &[] };
                across(line_of(line), next, &mut words[..end - first]);
            }
            return;
        }
        let mut words = [0; RUN];
        for start in (0..depth).step_by(RUN) {
            let run = start..depth.min(start + RUN);
            for (lane, row) in (first..end).enumerate() {
                let words = &mut words[..run.len()];
                along(
                    &all[row * k + run.start * elements..row * k + k.min(run.end * elements)],
                    words,
                );
                panel[run.clone()].iter_mut().zip(&*words).for_each(|(to, word)| to[lane] = *word);
            }
        }
    };
    if is_worth_threads(lanes * k) {
        packed.par_chunks_mut(depth.max(1)).enumerate().for_each(panel);
    } else {
        packed.chunks_mut(depth.max(1)).enumerate().for_each(panel);
    }
    packed
}
