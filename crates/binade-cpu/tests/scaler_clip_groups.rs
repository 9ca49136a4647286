//! Clipping by groups, against the plain loop.

use crate::sets;

use binade_core::{DType, Error as _, ErrorKind, FoundInf};
use binade_cpu::Cpu;
use binade_grad_scaler::{ClipGroup, GradOps, Norm};
use sets::{
    NATIVE, Part, Random, grads, in_pools, name, native_unscaled, native_values, said, unscaled,
    values,
};

const NORMS: [Norm; 2] = [Norm::L2, Norm::Infinity];

/// Puts some of a set's parameters into groups, each with a limit between 2^-10 and 2^6, in no order.
fn groups(random: &mut Random, set: &[Part]) -> Vec<ClipGroup> {
    let mut groups: Vec<ClipGroup> = (0..=random.below(3))
        .map(|_| ClipGroup::new(Vec::<String>::new(), NORMS[random.below(2)], random.value().abs()))
        .collect();
    for place in (0..set.len()).rev() {
        // An index past the last group puts the parameter in none.
        if let Some(group) = {
            let at = random.below(groups.len() + 1);
            groups.get_mut(at)
        } {
            group.parameters.push(name(place));
        }
    }
    groups
}

#[test]
fn clipping_by_groups_is_the_plain_loops_to_the_bit_and_on_any_number_of_threads() {
    for seed in 0..40 {
        let mut random = Random(500 + seed);
        let set = random.set();
        let groups = groups(&mut random, &set);
        let (mut expected, mut verdict) = native_unscaled(&set, 4);
        NATIVE.clip_groups(&mut expected, &groups, &mut verdict).unwrap();
        let expected = (native_values(&expected), said(&verdict));
        for clipped in in_pools(|| {
            let (mut grads, mut verdict) = unscaled(&set, 4);
            Cpu.clip_groups(&mut grads, &groups, &mut verdict).unwrap();
            (values(&grads), said(&verdict))
        }) {
            assert!(clipped.0 == expected.0, "seed {seed}, {groups:?}");
            assert_eq!(clipped.1, expected.1, "seed {seed}, {groups:?}");
        }
    }
}

#[test]
fn every_order_of_clips_by_groups_of_all_and_by_value_is_the_plain_loops_to_the_bit() {
    let orders = [[0, 1, 0], [1, 0, 1], [0, 2, 1], [2, 0, 1], [1, 2, 0], [0, 0, 2]];
    for (seed, order) in (0..4).flat_map(|seed| orders.map(|order| (seed, order))) {
        let mut random = Random(600 + seed);
        let set = random.set();
        let (mut expected, mut native) = native_unscaled(&set, -3);
        let (mut grads, mut found) = unscaled(&set, -3);
        // Each limit is tighter than the last, so that each clips.
        for (clip, max) in order.into_iter().zip([3.0, 0.7, 0.1]) {
            match clip {
                0 => {
                    let mut groups = groups(&mut random, &set);
                    for group in &mut groups {
                        group.max = max;
                    }
                    NATIVE.clip_groups(&mut expected, &groups, &mut native).unwrap();
                    Cpu.clip_groups(&mut grads, &groups, &mut found).unwrap();
                }
                1 => {
                    NATIVE.clip_norm(&mut expected, Norm::L2, max, &mut native).unwrap();
                    Cpu.clip_norm(&mut grads, Norm::L2, max, &mut found).unwrap();
                }
                _ => {
                    NATIVE.clip_value(&mut expected, max).unwrap();
                    Cpu.clip_value(&mut grads, max).unwrap();
                }
            }
            assert_eq!(said(&found), said(&native), "seed {seed}, {order:?}");
        }
        assert!(values(&grads) == native_values(&expected), "seed {seed}, {order:?}");
    }
}

#[test]
fn groups_within_their_limits_cost_no_copy_and_no_bit() {
    let set = [DType::F16, DType::BF16].map(|dtype| Part { dtype, data: vec![3.0, 4.0] });
    let (mut grads, mut found) = unscaled(&set, 7);
    let before = values(&grads);
    let groups = [ClipGroup::new([name(0)], Norm::L2, 5.0 / 128.0)];
    Cpu.clip_groups(&mut grads, &groups, &mut found).unwrap();
    assert!(values(&grads) == before);
    let stored: Vec<_> =
        grads.as_stored().iter().filter_map(|entry| entry.value.as_ref()).collect();
    assert_eq!(
        stored.iter().map(|grad| grad.dtype()).collect::<Vec<_>>(),
        [DType::F16, DType::BF16]
    );
}

#[test]
fn groups_that_do_not_fit_are_refused_by_name_or_value_and_change_nothing() {
    let part = || Part { dtype: DType::F16, data: vec![3.0, 4.0] };
    let (mut grads, mut found) = (grads(&[part(), part()]), FoundInf::default());
    let before = values(&grads);
    let fits = || ClipGroup::new([name(0)], Norm::L2, 1.0);
    for (second, kind, named) in [
        (ClipGroup::new([name(1)], Norm::L2, -2.0), ErrorKind::InvalidArgument, "-2"),
        (ClipGroup::new([name(1)], Norm::L2, f32::NAN), ErrorKind::InvalidArgument, "NaN"),
        (ClipGroup::new([name(1), name(0)], Norm::L2, 1.0), ErrorKind::Mismatch, "`layer.0`"),
        (ClipGroup::new(["bias"], Norm::L2, 1.0), ErrorKind::Mismatch, "`bias`"),
    ] {
        let error = Cpu.clip_groups(&mut grads, &[fits(), second], &mut found).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(named), "{error}");
        assert!(values(&grads) == before);
    }
    assert_eq!(said(&found), said(&FoundInf::default()));
}
