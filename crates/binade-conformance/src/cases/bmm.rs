//! Batches of matrix products: each pair separately.

use super::matmul::{self, matmul};
use super::prelude::*;
use crate::OpInvocation::{Bmm, BmmBackward, MatMul};

/// Leading extents, and M, K, N.
const SIZES: &str = "1:1x1x1 3:2x3x4 2:8x8x8 2x3:7x9x5 5:16x17x15 2:33x31x9 2:3x257x2 2:3x1100x9 0:2x3x4 2:0x3x4 2:3x0x4";

/// Returns numbers of pairs, and extents for which a device may use larger tiles, forward and for both gradients. Sums have more terms than four
/// tiles of 32. Rows of one operand or the other start at odd elements, or at multiples of 4, 8 or 16 bytes. One entry has enough pairs to fill such
/// a device.
const fn large(dtype: DType) -> &'static [(usize, [usize; 3])] {
    match dtype {
        DType::F16 => &[(32, [136, 135, 132]), (2, [136, 134, 135]), (2, [136; 3])],
        DType::BF16 => &[(2, [136, 135, 134]), (32, [136, 132, 135]), (2, [136; 3])],
        _ => &[(64, [67, 69, 72])],
    }
}

pub(super) fn add_cases(cases: &mut OpCases) {
    for dtype in FLOATS {
        for [lead, size] in sized(SIZES) {
            let sentence = format!("random_{}_of_{}", name(&lead), name(&size));
            let size = [size[0], size[1], size[2]];
            cases.add(dtype, sentence, move |run| both(run, dtype, (&lead, size)));
        }
        for (pairs, size) in large(dtype) {
            let sentence = format!("nan_stays_in_its_rows_of_{pairs}_of_{}", name(size));
            cases.add(dtype, sentence, move |run| {
                let [a, b, g] = operands(dtype, &[*pairs], *size);
                // Elements after the last terms of the previous rows, which are read with them in whole vectors.
                let places =
                    [1, 33, 65].into_iter().flat_map(|row| [row * size[1], row * size[1] + 5]);
                let a = places.fold(a, |a, place| a.with(place, f64::NAN));
                of(run, [&a, &b, &g], *size)
            });
        }
        cases.starts(dtype, move |run, _, _| both(run, dtype, (&[2], [5, 9, 7])));
        cases.add(dtype, "each_product_is_that_of_the_pair_bit_for_bit", move |run| {
            let (a, b) = (
                uniform(1, dtype, &[3, 9, 33], [-1.0, 1.0]),
                uniform(2, dtype, &[3, 33, 7], [-1.0, 1.0]),
            );
            let all = run.result(&Bmm, &[&a, &b], (dtype, 3 * 63))?;
            for (i, got) in all.codes().collect::<Vec<u64>>().chunks(63).enumerate() {
                let part = |x: &Stored, shape: [usize; 2]| {
                    let size = shape[0] * shape[1];
                    Stored::from_codes(dtype, &shape, x.codes().skip(i * size).take(size))
                };
                let got = Stored::code_vector(dtype, got.iter().copied());
                run.same(MatMul, &[&part(&a, [9, 33]), &part(&b, [33, 7])], &got)?;
            }
            Ok(())
        });
    }
    mismatches(
        cases,
        [
            (Bmm, "2x3 3x4, 1x2x3 5x3x4, 2x2x3 2x4x3, f16:2x2x3 2x3x4"),
            (BmmBackward, "2x2x3 2x2x3 2x3x4"),
        ],
    );
}

/// Both operands, and the gradient of the products.
fn operands(dtype: DType, lead: &[usize], [m, k, n]: [usize; 3]) -> [Stored; 3] {
    [(1, [m, k]), (2, [k, n]), (3, [m, n])]
        .map(|(seed, shape)| uniform(seed, dtype, &[lead, &shape].concat(), [-1.0, 1.0]))
}

fn both(run: &mut OpRun<'_>, dtype: DType, (lead, size): (&[usize], [usize; 3])) -> Verdict {
    of(run, operands(dtype, lead, size).each_ref(), size)
}

/// The products, and the gradients of both operands.
fn of(run: &mut OpRun<'_>, [a, b, g]: [&Stored; 3], size: [usize; 3]) -> Verdict {
    let dtype = a.dtype;
    let mut wanted = bmm(&values(a), &values(b), size);
    // With an inner extent of 0 there are no chunks, and every product is 0.
    wanted.resize(g.len(), Expected::exactly(0.0));
    run.near(Bmm, &[a, b], [(dtype, wanted)])?;
    let wanted = backward(&values(g), &values(a), &values(b), size);
    let lengths = [a.len(), b.len()];
    let wanted = wanted.into_iter().zip(lengths).map(|(mut wanted, length)| {
        wanted.resize(length, Expected::exactly(0.0));
        (dtype, wanted)
    });
    run.near(BmmBackward, &[g, a, b], wanted)
}

// The oracle.

/// The product of each pair.
fn bmm(a: &[f64], b: &[f64], size @ [m, k, n]: [usize; 3]) -> Vec<Expected> {
    let pairs = a.chunks((m * k).max(1)).zip(b.chunks((k * n).max(1)));
    pairs.flat_map(|(a, b)| matmul(a, b, size)).collect()
}

/// `grad·Bᵀ` and `Aᵀ·grad` of each pair.
fn backward(grad: &[f64], a: &[f64], b: &[f64], [m, k, n]: [usize; 3]) -> [Vec<Expected>; 2] {
    let (mut da, mut db) = (Vec::new(), Vec::new());
    let pairs = a.chunks((m * k).max(1)).zip(b.chunks((k * n).max(1)));
    for (g, (a, b)) in grad.chunks((m * n).max(1)).zip(pairs) {
        let [of_a, of_b] = matmul::backward(g, a, b, [m, k, n]);
        da.extend(of_a);
        db.extend(of_b);
    }
    [da, db]
}
