//! Sparse gradients: rows at repeated coordinates are added before anything is looked at.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use binade_core::{Element, Error, ErrorKind, SparseGrad};
use half::f16;
use proptest::prelude::*;

/// One dimension, one value a row.
fn line<E: Element>(size: usize, at: &[usize], values: &[E]) -> SparseGrad<E> {
    SparseGrad::new(&[size], 1, &[at], values.to_vec()).unwrap()
}

#[test]
fn duplicates_that_overflow_f16_when_they_are_added_are_infinite_in_f16_alone() {
    let grad = line(4, &[3, 3], &[f16::from_f32(64000.0); 2]);
    assert_eq!(grad.dense(), [0.0, 0.0, 0.0, 128_000.0]);
    assert_eq!(grad.dense_in_own_type(), [0.0, 0.0, 0.0, f32::INFINITY]);
}

#[test]
fn no_infinity_cancels_and_no_sign_is_lost() {
    let grad = line(2, &[0, 0, 1, 0], &[f32::INFINITY, f32::NEG_INFINITY, -0.0, 1.0]);
    let dense = grad.dense();
    assert!(dense[0].is_nan() && dense[1].is_sign_negative(), "{dense:?}");
}

#[test]
fn a_gradient_without_entries_is_zeros_of_its_shape() {
    let grad = SparseGrad::<f32>::new(&[2], 3, &[&[]], vec![]).unwrap();
    assert_eq!(grad.dense(), vec![0.0; 6]);
    let empty = SparseGrad::<f32>::new(&[0], 3, &[&[]], vec![]).unwrap();
    assert!(empty.dense().is_empty());
}

#[test]
fn lists_that_make_no_gradient_are_refused_by_value() {
    let refused = |shape: &[usize], width, indices: &[&[usize]], values: usize| {
        SparseGrad::new(shape, width, indices, vec![1.0_f32; values]).unwrap_err()
    };
    let cases = [
        (refused(&[2, 3], 1, &[&[0]], 1), ErrorKind::Mismatch, "1 dimensions"),
        (refused(&[], 1, &[], 1), ErrorKind::Mismatch, "0 dimensions"),
        (refused(&[2, 3], 1, &[&[0], &[0, 1]], 1), ErrorKind::Mismatch, "dimension 1 has 2"),
        (refused(&[2, 3], 1, &[&[0], &[3]], 1), ErrorKind::InvalidArgument, "size is 3"),
        (refused(&[2], 2, &[&[0, 1]], 3), ErrorKind::Mismatch, "3 values for 2 entries of 2"),
        (refused(&[usize::MAX, 2], 1, &[&[0], &[0]], 1), ErrorKind::InvalidArgument, "counted"),
        (refused(&[2], usize::MAX, &[&[0]], 1), ErrorKind::InvalidArgument, "counted"),
    ];
    for (error, kind, part) in cases {
        let text = error.to_string();
        assert!(error.kind() == kind && text.contains(part), "{text}");
    }
}

proptest! {
    /// Small integers, so that every order of adding gives the same sum.
    #[test]
    fn the_dense_gradient_has_each_row_at_its_coordinates(
        entries in prop::collection::vec((0_usize..3, 0_usize..4, -64_i16..64, -64_i16..64), 0..40),
    ) {
        let mut expected = vec![0.0_f32; 24];
        for &(i, j, a, b) in &entries {
            expected[(4 * i + j) * 2] += f32::from(a);
            expected[(4 * i + j) * 2 + 1] += f32::from(b);
        }
        let (i, j): (Vec<_>, Vec<_>) = entries.iter().map(|e| (e.0, e.1)).unzip();
        let values = entries.iter().flat_map(|e| [e.2, e.3]).map(|x| f16::from_f32(x.into()));
        let grad = SparseGrad::new(&[3, 4], 2, &[&i, &j], values.collect()).unwrap();
        prop_assert_eq!(&grad.dense(), &expected);
    }
}
