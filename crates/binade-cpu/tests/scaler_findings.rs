//! Findings of one pass over the gradients, against the plain loop.

use crate::sets;

use binade_core::cast::{E4M3, E5M2};
use binade_core::{DType, Error as _, ErrorKind, Named};
use binade_cpu::{Cpu, Gradients, Tensor};
use binade_grad_scaler::GradScaler;

use sets::{ALL, BLOCK, Part, Random, in_pools, name, native_unscaled, said, scale, unscaled};

const STRANGE: [f32; 3] = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN];

/// Asserts that the finding equals the plain loop's, on any number of threads.
fn assert_agrees(set: &[Part], exponent: i32) {
    let expected = said(&native_unscaled(set, exponent).1);
    for found in in_pools(|| said(&unscaled(set, exponent).1)) {
        assert_eq!(found, expected);
    }
}

#[test]
fn random_sets_with_random_overflows_give_the_plain_loops_finding() {
    for seed in 0..24 {
        let mut random = Random(seed);
        let mut set = random.set();
        for _ in 0..random.below(5) {
            let (part, strange) = (random.below(set.len()), STRANGE[random.below(3)]);
            let len = set[part].data.len();
            if len > 0 {
                set[part].data[random.below(len)] = strange;
            }
        }
        // Exponents go down to where finite values overflow as they are unscaled.
        for exponent in [16, 0, -122] {
            assert_agrees(&set, exponent);
        }
    }
}

#[test]
fn the_first_offender_is_the_lowest_by_parameter_and_then_by_index() {
    let mut set: Vec<Part> = ALL.map(|dtype| Random(1).part(dtype, 9 * BLOCK)).to_vec();
    for (part, index) in [(2, 0), (1, 8 * BLOCK), (1, 5 * BLOCK + 1), (1, 5 * BLOCK + 2)] {
        set[part].data[index] = f32::NAN;
    }
    for found in in_pools(|| unscaled(&set, 4).1) {
        let overflow = found.overflow.expect("found");
        assert_eq!((&*overflow.parameter, overflow.index), (&*name(1), 5 * BLOCK as u64 + 1));
        assert_eq!(found.nans, 4);
    }
}

#[test]
fn an_empty_set_is_a_finding_that_is_not_raised() {
    assert!(!unscaled(&[], 16).1.is_raised());
    assert!(!unscaled(&[Part { dtype: DType::F16, data: Vec::new() }], 16).1.is_raised());
}

#[test]
fn a_type_there_is_no_arithmetic_for_is_refused_by_name_and_nothing_has_changed() {
    let tensors = [
        (Tensor::scalar(1.0_f64), "f64"),
        (Tensor::scalar(E4M3::from_bits(0x38)), "e4m3"),
        (Tensor::scalar(E5M2::from_bits(0x3C)), "e5m2"),
        (Tensor::scalar(1_i64), "i64"),
    ];
    for (tensor, dtype) in tensors {
        let mut grads = Gradients::from(vec![
            Named::new("fine", Some(Tensor::scalar(1.0_f32))),
            Named::new("w", Some(tensor)),
        ]);
        let error = Cpu.unscale(&mut grads, &scale(3)).unwrap_err();
        let text = format!(
            "the CPU cannot unscale gradients of {dtype}; it computes with bf16, f16 and f32"
        );
        assert_eq!((error.kind(), error.to_string()), (ErrorKind::Unsupported, text));
        let fine = grads.as_stored()[0].value.as_ref().unwrap();
        assert_eq!(fine.as_slice(), Some(&[1.0_f32][..]));
    }
}
