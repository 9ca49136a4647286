//! Sparse gradients: rows at repeated coordinates are added before anything is looked at.
mod common;

use binade_core::{DType, Error, ErrorKind, Named};
use binade_grad_scaler::{LossScale, ScaleState, SparseError, SparseGrad};
use common::host::Host;
use common::sgd::Sgd;
use common::{Result, first, scaler};
use half::{bf16, f16};
use proptest::prelude::*;
use std::sync::Arc;

const TORCHS: [&[usize]; 2] = [&[0, 1, 1], &[2, 0, 2]];

fn name() -> Arc<str> {
    "embedding".into()
}

/// One dimension, one value a row.
fn line<E: binade_core::Element>(size: usize, at: &[usize], values: &[E]) -> SparseGrad<E> {
    SparseGrad::new(&[size], 1, &[at], values.to_vec()).unwrap()
}

#[test]
fn torchs_example_is_unscaled_to_4_8_and_16() {
    let grad = SparseGrad::new(&[2, 3], 1, &TORCHS, vec![16.0_f32, 32.0, 64.0]).unwrap();
    let (unscaled, found) = grad.unscaled(&name(), &ScaleState::from_exponent(2));
    assert_eq!(unscaled.values(), [4.0, 8.0, 16.0]);
    assert_eq!(unscaled.positions(), [2, 3, 5]);
    assert_eq!(unscaled.dense(), [0.0, 0.0, 4.0, 8.0, 0.0, 16.0]);
    assert!(!found.is_raised() && found.magnitude == 64.0);
}

#[test]
fn an_infinity_or_nan_in_any_entry_is_found_at_its_dense_index() {
    for bad in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
        for (entry, index) in [(0, 2), (1, 3), (2, 5)] {
            let mut values = vec![16.0, 32.0, 64.0];
            values[entry] = bad;
            let grad = SparseGrad::new(&[2, 3], 1, &TORCHS, values).unwrap();
            let (_, found) = grad.unscaled(&name(), &ScaleState::from_exponent(2));
            let overflow = found.overflow.expect("one");
            assert_eq!((&*overflow.parameter, overflow.index), ("embedding", index), "{bad}");
            assert_eq!(found.infinities + found.nans, 1);
        }
    }
}

#[test]
fn an_element_of_a_row_is_found_at_its_dense_index() {
    let values = vec![1.0, f32::INFINITY, 3.0, 4.0];
    let grad = SparseGrad::new(&[4], 2, &[&[2, 0]], values).unwrap();
    let (unscaled, found) = grad.unscaled(&name(), &ScaleState::from_exponent(2));
    assert_eq!(found.overflow.expect("one").index, 5, "the second element of row 2");
    assert_eq!(unscaled.values(), [0.75, 1.0, 0.25, f32::INFINITY]);
}

#[test]
fn duplicates_that_overflow_f16_when_they_are_added_are_found_in_f16() {
    let grad = line(4, &[3, 3], &[f16::from_f32(64000.0); 2]);
    assert!(grad.values().iter().all(|x| x.is_finite()), "neither is an overflow by itself");
    let own = grad.coalesced_in_own_type();
    assert_eq!((own.positions(), own.values()), (&[3][..], &[f16::INFINITY][..]));
    let (_, found) = own.unscaled(&name(), &ScaleState::from_exponent(0));
    let overflow = found.overflow.expect("one");
    assert_eq!((overflow.index, overflow.what(), found.infinities), (3, "+inf", 1));
}

#[test]
fn the_same_duplicates_fit_f32_and_are_kept() {
    let grad = line(4, &[3, 3], &[f16::from_f32(64000.0); 2]);
    let (unscaled, found) = grad.unscaled(&name(), &ScaleState::from_exponent(2));
    assert!(!found.is_raised());
    assert_eq!((unscaled.values(), found.magnitude), (&[32000.0][..], 128_000.0));
}

#[test]
fn duplicates_that_overflow_f32_when_they_are_added_are_found() {
    let grad = line(2, &[1, 0, 1], &[3e38_f32, 1.0, 3e38]);
    let (_, found) = grad.unscaled(&name(), &ScaleState::from_exponent(16));
    assert_eq!(found.overflow.expect("one").index, 1);
}

#[test]
fn no_infinity_cancels() {
    let grad = line(1, &[0, 0, 0], &[f32::INFINITY, f32::NEG_INFINITY, 1.0]);
    let (_, found) = grad.unscaled(&name(), &ScaleState::from_exponent(0));
    assert_eq!((found.nans, found.is_raised()), (1, true));
}

#[test]
fn a_value_that_overflows_when_it_is_unscaled_is_found() {
    let grad = line(2, &[1], &[1e38_f32]);
    let (_, found) = grad.unscaled(&name(), &ScaleState::from_exponent(-4));
    let overflow = found.overflow.expect("one");
    assert!(overflow.scaled.is_finite() && overflow.unscaled.is_infinite());
}

#[test]
fn a_scale_that_has_diverged_halts() {
    let diverged = ScaleState { diverged: true, ..ScaleState::from_exponent(0) };
    assert!(line(2, &[1], &[1.0_f32]).unscaled(&name(), &diverged).1.halted);
}

#[test]
fn sixteen_bit_rows_are_added_in_f32() {
    let small = [bf16::from_f32(256.0), bf16::from_f32(1.0), bf16::from_f32(1.0)];
    assert_eq!(line(1, &[0; 3], &small).coalesced().values(), [258.0]);
    assert_eq!(line(1, &[0; 3], &small).dense(), [258.0], "added in bf16 it would be 256");
}

#[test]
fn a_gradient_without_entries_is_zeros_of_its_shape() {
    let grad = SparseGrad::<f32>::new(&[2], 3, &[&[]], vec![]).unwrap();
    assert_eq!((grad.dense(), grad.coalesced().values()), (vec![0.0; 6], &[][..]));
    assert!(!grad.unscaled(&name(), &ScaleState::from_exponent(16)).1.is_raised());
    let empty = SparseGrad::<f32>::new(&[0], 3, &[&[]], vec![]).unwrap();
    assert_eq!(empty.dense(), []);
}

#[test]
fn a_dense_gradient_made_of_rows_goes_the_way_of_any_other() -> Result {
    let (mut scaler, mut sgd) = (scaler(LossScale::dynamic()), Sgd::new(&[("e", &[1.0; 2])]));
    let grads = scaler.scale(&Host::f32(&[1.0]))?.backward(|factor| {
        let row = [f16::from_f32(0.5 * factor.data[0]), f16::from_f32(0.5 * factor.data[0])];
        Ok(vec![Named::new("e", Some(Host::new(DType::F32, &line(2, &[1, 1], &row).dense())))])
    })?;
    let grads = grads.unscale()?;
    assert_eq!(first(grads.grads()), [0.0, 1.0], "65536 is beyond f16, twice 32768 is not");
    let step = grads.step(&mut sgd)?;
    assert!(scaler.update(step)?.resolve()?.is_applied());
    Ok(())
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
    assert_eq!(
        refused(&[2], 1, &[&[2]], 1),
        SparseError::OutOfRange { dimension: 0, index: 2, size: 2 }
    );
}

proptest! {
    /// Small integers, so that every order of adding gives the same sum.
    #[test]
    fn coalescing_keeps_the_dense_gradient_and_every_position_once(
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
        let once = grad.coalesced();
        prop_assert!(once.positions().windows(2).all(|pair| pair[0] < pair[1]));
        prop_assert_eq!(&once.dense(), &expected);
        prop_assert_eq!(once.coalesced(), once);
    }
}
