//! Batches of matrix products: each pair by itself.

#![expect(
    clippy::many_single_char_names,
    reason = "operands go by the letters the field gives them"
)]

use super::FLOATS;
use super::ask::{Ask, Asks, Computes, ones, refusals, uniform, values};
use super::bias_add::name;
use super::matmul::{matmul, transposed};
use super::values::offsets;
use crate::{Agreement, Arithmetic, CaseGroup::Bmm, Check, OpInvocation, Stored, Verdict, Wanted};
use binade_core::{DType, ErrorKind};

/// The leading extents, and M, K, N.
const SIZES: [(&[usize], [usize; 3]); 11] = [
    (&[1], [1, 1, 1]),
    (&[3], [2, 3, 4]),
    (&[2], [8, 8, 8]),
    (&[2, 3], [7, 9, 5]),
    (&[5], [16, 17, 15]),
    (&[2], [33, 31, 9]),
    (&[2], [3, 257, 2]),
    (&[2], [3, 1100, 9]),
    (&[0], [2, 3, 4]),
    (&[2], [0, 3, 4]),
    (&[2], [3, 0, 4]),
];

/// Of so many pairs that a device may take larger tiles, forward or for either gradient: of odd extents, and of multiples of eight.
const LARGE: [[usize; 3]; 6] =
    [[67, 9, 131], [67, 131, 9], [9, 67, 131], [72, 16, 136], [72, 136, 16], [16, 72, 136]];

/// Extents of `f32` products that may take larger tiles: smaller, since `f32` is larger.
const LARGE_F32: [[usize; 3]; 6] =
    [[67, 9, 71], [67, 71, 9], [9, 67, 71], [72, 16, 72], [72, 72, 16], [16, 72, 72]];

pub(super) fn add_cases(cases: &mut Asks) {
    for dtype in FLOATS {
        let large = if dtype == DType::F32 { LARGE_F32 } else { LARGE };
        let large = large.map(|size| (&[64][..], size));
        for (lead, size) in SIZES.into_iter().chain(large) {
            let sentence = format!("random_{}_of_{}", name(lead), name(&size));
            cases.add(Bmm, dtype, sentence, move |s, check| both(s, check, dtype, (lead, size), 0));
        }
        cases.add(Bmm, dtype, "starts_anywhere_in_a_buffer", move |s, check| {
            offsets().try_for_each(|(offset, _)| both(s, check, dtype, (&[2], [5, 9, 7]), offset))
        });
        cases.add(Bmm, dtype, "each_product_is_that_of_the_pair_bit_for_bit", move |s, check| {
            let (a, b) = (
                uniform(1, dtype, &[3, 9, 33], [-1.0, 1.0]),
                uniform(2, dtype, &[3, 33, 7], [-1.0, 1.0]),
            );
            let all = Ask::new(OpInvocation::Bmm, &[&a, &b]).results(s, [(dtype, 3 * 63)])?;
            for (i, got) in all[0].codes().collect::<Vec<u64>>().chunks(63).enumerate() {
                let part = |x: &Stored, shape: [usize; 2]| {
                    let size = shape[0] * shape[1];
                    Stored::from_codes(dtype, &shape, x.codes().skip(i * size).take(size))
                };
                let got = Stored::from_codes(dtype, &[63], got.iter().copied());
                Ask::new(OpInvocation::MatMul, &[&part(&a, [9, 33]), &part(&b, [33, 7])])
                    .same(s, check, &got)?;
            }
            Ok(())
        });
    }
    let float = |shape: &[usize]| ones(DType::F32, shape);
    let all = vec![
        (OpInvocation::Bmm, vec![float(&[2, 3]), float(&[3, 4])]),
        (OpInvocation::Bmm, vec![float(&[1, 2, 3]), float(&[5, 3, 4])]),
        (OpInvocation::Bmm, vec![float(&[2, 2, 3]), float(&[2, 4, 3])]),
        (OpInvocation::Bmm, vec![ones(DType::F16, &[2, 2, 3]), float(&[2, 3, 4])]),
        (OpInvocation::BmmBackward, vec![float(&[2, 2, 3]), float(&[2, 2, 3]), float(&[2, 3, 4])]),
    ];
    refusals(cases, Bmm, "what_does_not_fit_is_a_mismatch", ErrorKind::Mismatch, all);
}

/// The products, and the gradients of both operands.
fn both(
    s: &dyn Computes,
    check: &mut Check,
    dtype: DType,
    (lead, size @ [m, k, n]): (&[usize], [usize; 3]),
    offset: usize,
) -> Verdict {
    let of = |seed, shape: [usize; 2]| uniform(seed, dtype, &[lead, &shape].concat(), [-1.0, 1.0]);
    let (a, b, g) = (of(1, [m, k]), of(2, [k, n]), of(3, [m, n]));
    let mut wanted = bmm(&values(&a), &values(&b), size);
    // No chunks of nothing: with an inner extent of 0, every product is there and 0.
    wanted.resize(g.len(), crate::Wanted::exactly(0.0));
    Ask::new(OpInvocation::Bmm, &[&a, &b]).at(offset).near(s, check, [(dtype, wanted)])?;
    let wanted = backward(&values(&g), &values(&a), &values(&b), size);
    let lengths = [a.len(), b.len()];
    let wanted = wanted.into_iter().zip(lengths).map(|(mut wanted, length)| {
        wanted.resize(length, crate::Wanted::exactly(0.0));
        (dtype, wanted)
    });
    Ask::new(OpInvocation::BmmBackward, &[&g, &a, &b]).at(offset).near(s, check, wanted)
}

/// Returns how near a result must come: as matrix products of this arithmetic do.
pub(super) const fn agreement(arithmetic: Arithmetic) -> Agreement {
    Agreement::of_matrix_products(arithmetic)
}

// The oracle.

/// The product of each pair.
fn bmm(a: &[f64], b: &[f64], size @ [m, k, n]: [usize; 3]) -> Vec<Wanted> {
    let pairs = a.chunks((m * k).max(1)).zip(b.chunks((k * n).max(1)));
    pairs.flat_map(|(a, b)| matmul(a, b, size)).collect()
}

/// `grad·Bᵀ` and `Aᵀ·grad` of each pair.
fn backward(grad: &[f64], a: &[f64], b: &[f64], [m, k, n]: [usize; 3]) -> [Vec<Wanted>; 2] {
    let (mut da, mut db) = (Vec::new(), Vec::new());
    let pairs = a.chunks((m * k).max(1)).zip(b.chunks((k * n).max(1)));
    for (g, (a, b)) in grad.chunks((m * n).max(1)).zip(pairs) {
        da.extend(matmul(g, &transposed(b, k, n), [m, n, k]));
        db.extend(matmul(&transposed(a, m, k), g, [k, m, n]));
    }
    [da, db]
}
