//! Matrix products: sizes around tiles, sums that need a wide accumulator, and values that are not finite.
//!
//! The oracle multiplies in `f64`, where products of `f32` are exact.

use super::prelude::*;
use crate::OpInvocation::{MatMul, MatMulBackward};

/// Rows of A, inner extent, columns of B.
type Size = [usize; 3];

const SIZES: &str = "1x1x1 1x7x1 2x3x4 4x64x4 8x8x8 7x9x5 16x16x16 17x31x33 33x257x9 64x64x64 1x64x129 129x5x1 \
    63x65x31 3x256x2 2x1000x3 3x1100x13 5x2100x16 2x9300x9 3x4095x2 2x4096x3";

pub(super) fn add_cases(cases: &mut OpCases) {
    for dtype in FLOATS {
        for size in sizes(SIZES) {
            random(cases, dtype, size);
        }
        sums(cases, dtype);
        cases.starts(dtype, move |run, seed, _| {
            let mut draw = Draw::new(seed);
            let [a, b] = matrices(dtype, [9, 33, 7], || draw.within(-1.0, 1.0));
            near(run, [&a, &b])
        });
        classes(cases, dtype);
        gradients(cases, dtype);
    }
    mismatches(cases, [(MatMul, "2x3 4x5, 3 3x5, 2x3 f16:3x4"), (MatMulBackward, "2x3 2x3 3x4")]);
    too_large(cases, [(MatMul, &*format!("{HUGE}x0 0x4"))]);
}

fn wanted(a: &Stored, b: &Stored) -> Vec<Expected> {
    matmul(&values(a), &values(b), [a.shape[0], a.shape[1], b.shape[1]])
}

fn near(run: &mut OpRun<'_>, [a, b]: [&Stored; 2]) -> Verdict {
    run.near(MatMul, &[a, b], [(a.dtype, wanted(a, b))])
}

/// Compares products bit by bit, for values whose products and sums are exact in `f32` in any order.
fn exact(run: &mut OpRun<'_>, [a, b]: [&Stored; 2]) -> Verdict {
    let wanted = wanted(a, b).iter().map(|wanted| wanted.value).collect();
    run.exact(MatMul, &[a, b], [(a.dtype, wanted)])
}

/// `A` and `B` of one size, element by element.
fn matrices(dtype: DType, [m, k, n]: Size, mut element: impl FnMut() -> f64) -> [Stored; 2] {
    [[m, k], [k, n]].map(|shape| {
        let values: Vec<f64> = (0..shape[0] * shape[1]).map(|_| element()).collect();
        Stored::from_values(dtype, &shape, values)
    })
}

fn random(cases: &mut OpCases, dtype: DType, size: Size) {
    let [rows, inner, columns] = size;
    let sentence = format!("random_{rows}x{inner}_by_{inner}x{columns}");
    cases.add(dtype, sentence, move |run| {
        let mut draw = Draw::new(rows * inner * columns);
        let [a, b] = matrices(dtype, size, || draw.within(-1.0, 1.0));
        near(run, [&a, &b])?;
        let [a, b] = matrices(dtype, size, || draw.spread(-6.0, 2.0));
        near(run, [&a, &b])
    });
}

/// Adds cases of gradients, for sizes at the edges of tiles, odd sizes and empty ones.
fn gradients(cases: &mut OpCases, dtype: DType) {
    let odd = [[0, 4, 3], [3, 0, 2], [3, 4, 0]];
    for size in sizes(SIZES).filter(|[_, k, _]| *k < 1000).chain(odd) {
        let [m, k, n] = size;
        let sentence = format!("gradients_of_{m}x{k}_by_{k}x{n}");
        cases.add(dtype, sentence, move |run| {
            let [a, b] =
                [(1, [m, k]), (2, [k, n])].map(|(i, x)| uniform(i, dtype, &x, [-1.0, 1.0]));
            let g = uniform(3, dtype, &[m, n], [-1.0, 1.0]);
            let wanted = backward(&values(&g), &values(&a), &values(&b), size);
            run.at(m % 3).near(MatMulBackward, &[&g, &a, &b], wanted.map(|wanted| (dtype, wanted)))
        });
    }
}

/// Integers, whose sums are exact in `f32` in any order, and in nothing narrower.
fn sums(cases: &mut OpCases, dtype: DType) {
    let mut add = |sentence: &str, make: fn(DType) -> [Stored; 2]| {
        cases.add(dtype, sentence, move |run| {
            let [a, b] = make(dtype);
            exact(run, [&a, &b])
        });
    };
    add("256_ones_add_up", |dtype| matrices(dtype, [2, 256, 3], || 1.0));
    add("4096_ones_add_up", |dtype| matrices(dtype, [2, 4096, 3], || 1.0));
    add("no_rows_give_nothing", |dtype| matrices(dtype, [0, 4, 3], || 1.0));
    add("no_columns_give_nothing", |dtype| matrices(dtype, [3, 4, 0], || 1.0));
    add("an_inner_extent_of_nothing_gives_zeros", |dtype| matrices(dtype, [3, 0, 2], || 1.0));
    add("partial_sums_may_leave_the_range_of_sixteen_bits", |dtype| {
        let a = Stored::from_values(dtype, &[1, 4], [256.0, 256.0, -256.0, 1.0]);
        let b = Stored::from_values(dtype, &[4, 1], [240.0, 240.0, 240.0, 256.0]);
        [a, b]
    });
    add("products_below_the_smallest_number_still_add_up", |dtype| {
        matrices(dtype, [1, 1024, 1], || 2.0_f64.powi(-14))
    });
}

fn classes(cases: &mut OpCases, dtype: DType) {
    let sentence = "nan_and_infinity_stay_in_their_rows";
    cases.add(dtype, sentence, move |run| {
        for bad in NON_FINITE {
            for place in [0, 7, 14] {
                let mut draw = Draw::new(5);
                let [a, b] = matrices(dtype, [3, 5, 4], || draw.within(0.5, 1.0));
                near(run, [&a.with(place, bad), &b])?;
            }
        }
        Ok(())
    });
    cases.add(dtype, "infinity_times_zero_is_nan", move |run| {
        let a = Stored::from_values(dtype, &[1, 2], [f64::INFINITY, 1.0]);
        let b = Stored::from_values(dtype, &[2, 2], [0.0, 1.0, 1.0, 1.0]);
        exact(run, [&a, &b])
    });
    if dtype == DType::F16 {
        cases.add(dtype, "a_product_beyond_65504_is_infinite", |run| {
            let a = Stored::from_values(DType::F16, &[2, 1], [256.0, -256.0]);
            let b = Stored::from_values(DType::F16, &[1, 3], [255.0, 256.0, 1024.0]);
            exact(run, [&a, &b])
        });
    }
}

// The oracle.

/// `A·B` for row-major `A` [rows, inner] and `B` [inner, columns], with the mass inner·Σ|a||b| that bounds the error of
/// summing in `f32` (Higham, Accuracy and Stability of Numerical Algorithms, 3.5).
pub(super) fn matmul(a: &[f64], b: &[f64], [rows, inner, columns]: [usize; 3]) -> Vec<Expected> {
    let mut product = vec![Expected::exactly(0.0); rows * columns];
    // The elements of a row are computed together, each still in the order of its terms.
    for (a, row) in a.chunks(inner.max(1)).zip(product.chunks_mut(columns.max(1))) {
        for (a, b) in a.iter().zip(b.chunks(columns.max(1))) {
            for (wanted, b) in row.iter_mut().zip(b) {
                wanted.value += a * b;
                wanted.products += (a * b).abs();
            }
        }
        for wanted in row {
            wanted.mass = count(inner) * wanted.products;
        }
    }
    product
}

/// `grad·Bᵀ` and `Aᵀ·grad`, sums over columns and over rows.
pub(super) fn backward(
    grad: &[f64],
    a: &[f64],
    b: &[f64],
    [m, k, n]: [usize; 3],
) -> [Vec<Expected>; 2] {
    [matmul(grad, &transposed(b, k, n), [m, n, k]), matmul(&transposed(a, m, k), grad, [k, m, n])]
}

/// A row-major matrix with its axes swapped.
pub(super) fn transposed(a: &[f64], rows: usize, columns: usize) -> Vec<f64> {
    let cells = (0..columns).flat_map(|column| (0..rows).map(move |row| row * columns + column));
    cells.map(|cell| a[cell]).collect()
}
