//! Sums and clips of whole sets, against the plain loop.

use crate::sets;

use binade_core::{DType, Error as _, ErrorKind, FoundInf, Named};
use binade_cpu::{Cpu, Gradients, Tensor};
use binade_grad_scaler::{ClipGroup, GradOps, Norm};
use sets::{
    NATIVE, Part, Random, grads, in_pools, name, native_unscaled, native_values, one, said,
    unscaled, values,
};

const NORMS: [Norm; 2] = [Norm::L2, Norm::Infinity];

#[derive(Clone, Debug)]
enum Clip {
    Norm(Norm, f32),
    Value(f32),
    Groups(Vec<ClipGroup>),
}

impl Clip {
    /// Draws a clip to about `max` of a set of so many parameters.
    fn drawn(random: &mut Random, len: usize, max: f32) -> Self {
        match random.below(4) {
            0 => Self::Value(max),
            1 => Self::Norm(NORMS[random.below(2)], max),
            _ => Self::Groups(groups(random, len, max)),
        }
    }

    fn run<D: GradOps>(&self, device: &D, grads: &mut D::Grads, found: &mut D::Found) {
        match self {
            Self::Norm(norm, max) => device.clip_norm(grads, *norm, *max, found),
            Self::Value(max) => device.clip_value(grads, *max),
            Self::Groups(groups) => device.clip_groups(grads, groups, found),
        }
        .unwrap();
    }
}

/// Puts some of a set's parameters into groups, each with a limit of its own, in no order.
fn groups(random: &mut Random, len: usize, max: f32) -> Vec<ClipGroup> {
    let mut groups: Vec<ClipGroup> = (0..=random.below(3))
        .map(|_| {
            let limit = if random.below(2) == 0 { max } else { random.value().abs() };
            ClipGroup::new(Vec::<String>::new(), NORMS[random.below(2)], limit)
        })
        .collect();
    for place in (0..len).rev() {
        // An index past the last group puts the parameter in none.
        let at = random.below(groups.len() + 1);
        if let Some(group) = groups.get_mut(at) {
            group.parameters.push(name(place));
        }
    }
    groups
}

/// Unscales a set by its exponent, or adds up several, and clips the result.
fn clipped<D: GradOps<Found = FoundInf>>(
    device: &D,
    unscaled: impl Fn(&[Part], i32) -> (D::Grads, FoundInf),
    sets: &[(Vec<Part>, i32)],
    clips: &[Clip],
) -> (D::Grads, String) {
    let mut parts = sets.iter().map(|(set, exponent)| unscaled(set, *exponent));
    let (mut grads, mut found) = parts.next().expect("a set");
    if sets.len() > 1 {
        let first = device.accumulate(None, grads, &found).unwrap();
        grads = parts.fold(first, |sum, (grads, found)| {
            device.accumulate(Some(sum), grads, &found).unwrap()
        });
        found = FoundInf::default();
    }
    for clip in clips {
        clip.run(device, &mut grads, &mut found);
    }
    (grads, said(&found))
}

#[test]
fn sums_and_clips_in_any_order_are_the_plain_loops_to_the_bit_on_any_number_of_threads() {
    for seed in 0..120 {
        let mut random = Random(seed);
        let like = random.set();
        let exponents = if seed % 3 == 0 { &[5, 4, -2][..] } else { &[[4, -3][random.below(2)]] };
        let mut again = || like.iter().map(|p| random.part(p.dtype, p.data.len())).collect();
        let sets: Vec<_> = exponents.iter().map(|exponent| (again(), *exponent)).collect();
        // Each limit is tighter than the last, so that each clips.
        let limits = &[1e6, 3.0, 0.7, 0.1, 1e-3][random.below(5)..];
        let clips: Vec<_> =
            limits.iter().map(|max| Clip::drawn(&mut random, like.len(), *max)).collect();
        let (expected, told) = clipped(&NATIVE, native_unscaled, &sets, &clips);
        let expected = native_values(&expected);
        for (found, said) in in_pools(|| {
            let (grads, said) = clipped(&Cpu, unscaled, &sets, &clips);
            (values(&grads), said)
        }) {
            assert_eq!(said, told, "seed {seed}, {clips:?}");
            assert!(found == expected, "seed {seed}, {clips:?}");
        }
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
