//! Matrix products: sizes around tiles, sums that only a wide accumulator holds, and what is not finite.
//!
//! The oracle multiplies in `f64`, where products of `f32` are exact.

#![expect(
    clippy::many_single_char_names,
    reason = "operands go by the letters the field gives them"
)]

use super::FLOATS;
use super::ask::{Ask, Asks, Computes, HUGE, ones, refusals, too_large, uniform, values};
use super::values::{Draw, offsets};
use crate::agreement::count;
use crate::{
    Agreement, Arithmetic, CaseGroup::MatMul, Check, OpInvocation, Stored, Verdict, Wanted,
};
use binade_core::{DType, ErrorKind};

/// Rows of A, inner extent, columns of B.
type Size = [usize; 3];

const SIZES: [Size; 20] = [
    [1, 1, 1],
    [1, 7, 1],
    [2, 3, 4],
    [4, 64, 4],
    [8, 8, 8],
    [7, 9, 5],
    [16, 16, 16],
    [17, 31, 33],
    [33, 257, 9],
    [64, 64, 64],
    [1, 64, 129],
    [129, 5, 1],
    [63, 65, 31],
    [3, 256, 2],
    [2, 1000, 3],
    [3, 1100, 13],
    [5, 2100, 16],
    [2, 9300, 9],
    [3, 4095, 2],
    [2, 4096, 3],
];

pub(super) fn add_cases(cases: &mut Asks) {
    for dtype in FLOATS {
        for size in SIZES {
            random(cases, dtype, size);
        }
        sums(cases, dtype);
        starts(cases, dtype);
        classes(cases, dtype);
        gradients(cases, dtype);
    }
    let float = |shape: &[usize]| ones(DType::F32, shape);
    let all = vec![
        (OpInvocation::MatMul, vec![float(&[2, 3]), float(&[4, 5])]),
        (OpInvocation::MatMul, vec![float(&[3]), float(&[3, 5])]),
        (OpInvocation::MatMul, vec![float(&[2, 3]), ones(DType::F16, &[3, 4])]),
        (OpInvocation::MatMulBackward, vec![float(&[2, 3]), float(&[2, 3]), float(&[3, 4])]),
    ];
    refusals(cases, MatMul, "what_does_not_fit_is_a_mismatch", ErrorKind::Mismatch, all);
    let nothing = [[HUGE, 0], [0, 4]].map(|shape| Stored::from_values(DType::F32, &shape, []));
    too_large(cases, MatMul, vec![(OpInvocation::MatMul, nothing.into())]);
}

fn ask<'a>(a: &'a Stored, b: &'a Stored) -> (Ask<'a>, Vec<Wanted>) {
    let size = [a.shape[0], a.shape[1], b.shape[1]];
    (Ask::new(OpInvocation::MatMul, &[a, b]), matmul(&values(a), &values(b), size))
}

fn near(s: &dyn Computes, check: &mut Check, [a, b]: [&Stored; 2]) -> Verdict {
    let (ask, wanted) = ask(a, b);
    ask.near(s, check, [(a.dtype, wanted)])
}

/// For values whose products and sums are exact in `f32` in any order.
fn exact(s: &dyn Computes, check: &mut Check, [a, b]: [&Stored; 2]) -> Verdict {
    let (ask, wanted) = ask(a, b);
    ask.exact(s, check, [(a.dtype, wanted.iter().map(|wanted| wanted.value).collect())])
}

/// `A` and `B` of one size, element by element.
fn matrices(dtype: DType, [m, k, n]: Size, mut element: impl FnMut() -> f64) -> [Stored; 2] {
    [[m, k], [k, n]].map(|shape| {
        let values: Vec<f64> = (0..shape[0] * shape[1]).map(|_| element()).collect();
        Stored::from_values(dtype, &shape, values)
    })
}

fn random(cases: &mut Asks, dtype: DType, size: Size) {
    let [rows, inner, columns] = size;
    let sentence = format!("random_{rows}x{inner}_by_{inner}x{columns}");
    cases.add(MatMul, dtype, sentence, move |s, check| {
        let mut draw = Draw::new(rows * inner * columns);
        let [a, b] = matrices(dtype, size, || draw.within(-1.0, 1.0));
        near(s, check, [&a, &b])?;
        let [a, b] = matrices(dtype, size, || draw.spread(-6.0, 2.0));
        near(s, check, [&a, &b])
    });
}

/// Of sizes among which are odd ones, edges of tiles and nothing.
fn gradients(cases: &mut Asks, dtype: DType) {
    let odd = [[0, 4, 3], [3, 0, 2], [3, 4, 0]];
    for size in SIZES.into_iter().filter(|[_, k, _]| *k < 1000).chain(odd) {
        let [m, k, n] = size;
        let sentence = format!("gradients_of_{m}x{k}_by_{k}x{n}");
        cases.add(MatMul, dtype, sentence, move |s, check| {
            let [a, b] =
                [(1, [m, k]), (2, [k, n])].map(|(i, x)| uniform(i, dtype, &x, [-1.0, 1.0]));
            let g = uniform(3, dtype, &[m, n], [-1.0, 1.0]);
            let wanted = backward(&values(&g), &values(&a), &values(&b), size);
            Ask::new(OpInvocation::MatMulBackward, &[&g, &a, &b]).at(m % 3).near(
                s,
                check,
                wanted.map(|wanted| (dtype, wanted)),
            )
        });
    }
}

/// Integers, whose sums are exact in `f32` in any order, and in nothing narrower.
fn sums(cases: &mut Asks, dtype: DType) {
    let mut add = |sentence: &str, make: fn(DType) -> [Stored; 2]| {
        cases.add(MatMul, dtype, sentence, move |s, check| {
            let [a, b] = make(dtype);
            exact(s, check, [&a, &b])
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

/// Unaligned.
fn starts(cases: &mut Asks, dtype: DType) {
    cases.add(MatMul, dtype, "starts_anywhere_in_a_buffer", move |s, check| {
        for (offset, _) in offsets() {
            let mut draw = Draw::new(offset);
            let [a, b] = matrices(dtype, [9, 33, 7], || draw.within(-1.0, 1.0));
            let (ask, wanted) = ask(&a, &b);
            ask.at(offset).near(s, check, [(dtype, wanted)])?;
        }
        Ok(())
    });
}

fn classes(cases: &mut Asks, dtype: DType) {
    let sentence = "nan_and_infinity_stay_in_their_rows";
    cases.add(MatMul, dtype, sentence, move |s, check| {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for place in [0, 7, 14] {
                let mut draw = Draw::new(5);
                let [a, b] = matrices(dtype, [3, 5, 4], || draw.within(0.5, 1.0));
                let mut values: Vec<f64> = a.values().collect();
                values[place] = bad;
                near(s, check, [&Stored::from_values(dtype, &[3, 5], values), &b])?;
            }
        }
        Ok(())
    });
    cases.add(MatMul, dtype, "infinity_times_zero_is_nan", move |s, check| {
        let a = Stored::from_values(dtype, &[1, 2], [f64::INFINITY, 1.0]);
        let b = Stored::from_values(dtype, &[2, 2], [0.0, 1.0, 1.0, 1.0]);
        exact(s, check, [&a, &b])
    });
    if dtype == DType::F16 {
        cases.add(MatMul, dtype, "a_product_beyond_65504_is_infinite", |s, check| {
            let a = Stored::from_values(DType::F16, &[2, 1], [256.0, -256.0]);
            let b = Stored::from_values(DType::F16, &[1, 3], [255.0, 256.0, 1024.0]);
            exact(s, check, [&a, &b])
        });
    }
}

/// Returns how near a result must come: as matrix products of this arithmetic do.
pub(super) const fn agreement(arithmetic: Arithmetic) -> Agreement {
    Agreement::of_matrix_products(arithmetic)
}

// The oracle.

/// `A·B` for row-major `A` [rows, inner] and `B` [inner, columns], with the mass inner·Σ|a||b| that bounds the error of
/// summing in `f32` (Higham, Accuracy and Stability of Numerical Algorithms, 3.5).
pub(super) fn matmul(a: &[f64], b: &[f64], [rows, inner, columns]: [usize; 3]) -> Vec<Wanted> {
    let mut product = vec![Wanted::exactly(0.0); rows * columns];
    // A row's elements side by side, each still in the order of its terms.
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
fn backward(grad: &[f64], a: &[f64], b: &[f64], [m, k, n]: [usize; 3]) -> [Vec<Wanted>; 2] {
    [matmul(grad, &transposed(b, k, n), [m, n, k]), matmul(&transposed(a, m, k), grad, [k, m, n])]
}

/// A row-major matrix with its axes swapped.
pub(super) fn transposed(a: &[f64], rows: usize, columns: usize) -> Vec<f64> {
    let cells = (0..columns).flat_map(|column| (0..rows).map(move |row| row * columns + column));
    cells.map(|cell| a[cell]).collect()
}
