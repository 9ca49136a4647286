//! Clipping of whole sets, against the plain loop.

use crate::sets;

use binade_core::{DType, Error as _, ErrorKind, FoundInf, Named};
use binade_cpu::{Cpu, Gradients, Tensor};
use binade_grad_scaler::{GradOps, Norm};
use sets::{
    NATIVE, Random, in_pools, name, native_unscaled, native_values, one, said, unscaled, values,
};

const NORMS: [Norm; 2] = [Norm::L2, Norm::Infinity];

#[test]
fn clipping_by_norm_is_the_plain_loops_to_the_bit_and_on_any_number_of_threads() {
    for (seed, norm) in (0..12).flat_map(|seed| NORMS.map(|norm| (seed, norm))) {
        let set = Random(seed).set();
        for max in [1e-3, 1.0, 1e6] {
            let (mut expected, mut verdict) = native_unscaled(&set, 4);
            NATIVE.clip_norm(&mut expected, norm, max, &mut verdict).unwrap();
            let expected = (native_values(&expected), said(&verdict));
            for clipped in in_pools(|| {
                let (mut grads, mut verdict) = unscaled(&set, 4);
                Cpu.clip_norm(&mut grads, norm, max, &mut verdict).unwrap();
                (values(&grads), said(&verdict))
            }) {
                assert!(clipped.0 == expected.0, "seed {seed}, {norm:?}, {max}");
                assert_eq!(clipped.1, expected.1, "seed {seed}, {norm:?}, {max}");
            }
        }
    }
}

#[test]
fn every_order_of_clips_is_the_plain_loops_to_the_bit() {
    let orders = [[0, 0, 0], [0, 1, 2], [2, 0, 2], [1, 2, 0], [2, 2, 1], [0, 2, 1]];
    for (seed, order) in (0..4).flat_map(|seed| orders.map(|order| (seed, order))) {
        let set = Random(100 + seed).set();
        let (mut expected, mut native) = native_unscaled(&set, -3);
        let (mut grads, mut found) = unscaled(&set, -3);
        // Each limit is tighter than the last, so that each clips.
        for (clip, max) in order.into_iter().zip([3.0, 0.7, 0.1]) {
            if let Some(norm) = NORMS.get(clip) {
                NATIVE.clip_norm(&mut expected, *norm, max, &mut native).unwrap();
                Cpu.clip_norm(&mut grads, *norm, max, &mut found).unwrap();
            } else {
                NATIVE.clip_value(&mut expected, max).unwrap();
                Cpu.clip_value(&mut grads, max).unwrap();
            }
            assert_eq!(said(&found), said(&native), "seed {seed}, {order:?}");
        }
        assert!(values(&grads) == native_values(&expected), "seed {seed}, {order:?}");
    }
}

#[test]
fn a_norm_that_unscaling_measured_is_not_measured_again_and_no_gradient_is_copied() {
    let (mut grads, mut found) = unscaled(&[Random(2).part(DType::F16, 100)], 4);
    let stamp = |of: &Gradients| of.as_stored()[0].value.as_ref().map(Tensor::stamp);
    let before = stamp(&grads);
    Cpu.clip_norm(&mut grads, Norm::L2, 1e-3, &mut found).unwrap();
    assert_eq!(stamp(&grads), before);
}

/// The elements are 64 clones of one tensor, which share them. Sums in f32 lose most of constants: torch's norm of so many is 2 %
/// off.
#[test]
fn the_norm_of_64_million_equal_elements_is_exact() {
    let tensor = Tensor::new(vec![0.1_f32; 1 << 20], &[1 << 20]).unwrap();
    let set = (0..64).map(|i| Named::new(name(i), Some(tensor.clone())));
    let (mut grads, mut found) = (Gradients::from(set.collect::<Vec<_>>()), FoundInf::default());
    Cpu.clip_norm(&mut grads, Norm::L2, f32::INFINITY, &mut found).unwrap();
    // The root of 2^26 equal squares.
    assert_eq!(found.norm, Some(8192.0 * 0.1_f32));
}

#[test]
fn a_limit_that_is_not_positive_is_refused_and_nothing_has_changed() {
    for max in [0.0, -0.0, -1.0, f32::NAN, f32::NEG_INFINITY] {
        let (mut grads, mut found) = (one(&[3.0, 4.0]), FoundInf::default());
        let by_norm = Cpu.clip_norm(&mut grads, Norm::L2, max, &mut found).unwrap_err();
        let by_value = Cpu.clip_value(&mut grads, max).unwrap_err();
        for (error, what) in [(by_norm, "clip_norm"), (by_value, "clip_value")] {
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{max}");
            let text = format!("{what}: a limit of {max} given, takes a positive number");
            assert_eq!(error.to_string(), text);
        }
        assert_eq!((found.norm, values(&grads)), (None, values(&one(&[3.0, 4.0]))));
    }
}
