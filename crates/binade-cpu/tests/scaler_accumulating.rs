//! Sums of whole sets, against the plain loop.

use crate::sets;

use binade_core::FoundInf;
use binade_cpu::{Cpu, Gradients};
use binade_grad_scaler::{GradOps, Norm};
use sets::{
    NATIVE, Part, Random, in_pools, native_unscaled, native_values, one, said, unscaled, values,
};

/// Returns sets alike in types and lengths, each with the exponent of the scale it was made with.
fn micro_batches(seed: u64) -> Vec<(Vec<Part>, i32)> {
    let mut random = Random(seed);
    let like = random.set();
    let again = |random: &mut Random| {
        like.iter().map(|part| random.part(part.dtype, part.data.len())).collect::<Vec<_>>()
    };
    [5, 4, -2].map(|exponent| (again(&mut random), exponent)).to_vec()
}

fn sum(batches: &[(Vec<Part>, i32)]) -> Gradients {
    let add = |so_far, (set, exponent): &(Vec<Part>, i32)| {
        let (grads, found) = unscaled(set, *exponent);
        Some(Cpu.accumulate(so_far, grads, &found).unwrap())
    };
    batches.iter().fold(None, add).expect("a batch")
}

#[test]
fn sums_are_the_plain_loops_to_the_bit_across_changes_of_scale() {
    for seed in 0..8 {
        let batches = micro_batches(seed);
        let mut expected = None;
        for (set, exponent) in &batches {
            let (grads, found) = native_unscaled(set, *exponent);
            expected = Some(NATIVE.accumulate(expected, grads, &found).unwrap());
        }
        let expected = native_values(&expected.expect("a batch"));
        for found in in_pools(|| values(&sum(&batches))) {
            assert!(found == expected, "seed {seed}");
        }
    }
}

#[test]
fn clipping_a_sum_is_the_plain_loops_to_the_bit() {
    for seed in 20..24 {
        let batches = micro_batches(seed);
        let mut expected = None;
        for (set, exponent) in &batches {
            let (grads, found) = native_unscaled(set, *exponent);
            expected = Some(NATIVE.accumulate(expected, grads, &found).unwrap());
        }
        let (mut expected, mut native) = (expected.expect("a batch"), FoundInf::default());
        NATIVE.clip_norm(&mut expected, Norm::L2, 0.5, &mut native).unwrap();
        let (mut grads, mut found) = (sum(&batches), FoundInf::default());
        Cpu.clip_norm(&mut grads, Norm::L2, 0.5, &mut found).unwrap();
        assert_eq!(said(&found), said(&native), "seed {seed}");
        assert!(values(&grads) == native_values(&expected), "seed {seed}");
    }
}

#[test]
fn a_sum_that_was_never_settled_is_added_to_as_what_it_stands_for() {
    for dtype in sets::ALL {
        let set = [Part { dtype, data: vec![4.0, -8.0] }];
        let (mut first, mut found) = unscaled(&set, 2);
        Cpu.clip_norm(&mut first, Norm::Infinity, 1.0, &mut found).unwrap();
        let (second, _) = unscaled(&set, 1);
        let sum = Cpu.accumulate(Some(first), second, &FoundInf::default()).unwrap();
        assert_eq!(values(&sum), values(&one(&[0.5 + 2.0, -1.0 - 4.0])), "{dtype}");
    }
}
