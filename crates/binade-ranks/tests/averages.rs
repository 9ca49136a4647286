//! The average and the found-inf result, which all ranks share.

use crate::common::{Averaged, Error, averaged, each, set, tensor};
use binade_core::ops::{Download, Upload};
use binade_core::{DType, Error as _, ErrorKind, Named, RawTensor};
use binade_cpu::{Cpu, Tensor};
use binade_grad_scaler::{GradOps, GradScaler, Norm, ScaleState};
use binade_ranks::{Group, RankGrads, Ranks};

type Grads<'a> = Vec<(&'a str, &'a [f32])>;

/// Averages one set of each rank.
fn average(sets: &[Grads<'_>], dtype: DType) -> Vec<Averaged> {
    let ran: Vec<Result<Averaged, Error>> = each(sets.len(), |group| {
        let own = set(&sets[group.rank()], dtype);
        averaged(&Ranks::new(Cpu, group), vec![own], 0)
    });
    ran.into_iter().map(Result::unwrap).collect()
}

#[test]
fn an_average_is_the_f64_sum_in_the_order_of_ranks_rounded_once() {
    // In f32, or in another order, 1e8 would swallow a one.
    let terms = [1e8_f32, 1.0, -1e8, 1.0].map(|x| [x, -x, 0.5]);
    let sets: Vec<Grads<'_>> = terms.iter().map(|x| vec![("w", &x[..])]).collect();
    for (values, _) in average(&sets, DType::F32) {
        assert_eq!(values, [Some(vec![0.5, -0.5, 0.5])]);
    }
    // The order alone decides here: 2^54 swallows a one that comes after it.
    let large = 2.0_f32.powi(54);
    for (terms, mean) in [([1.0, 1.0, large, -large], 0.0), ([large, -large, 1.0, 1.0], 0.5)] {
        let terms = terms.map(|term| [term]);
        let sets: Vec<Grads<'_>> = terms.iter().map(|x| vec![("w", &x[..])]).collect();
        for (values, _) in average(&sets, DType::F32) {
            assert_eq!(values, [Some(vec![mean])]);
        }
    }
}

#[test]
fn sixteen_bits_that_overflow_together_have_an_average_that_does_not() {
    for (dtype, large) in [(DType::F16, 65504.0), (DType::BF16, 3.3e38), (DType::F32, 3.4e38)] {
        let grad: &[f32] = &[large, 1.0, -large];
        for (values, found) in average(&vec![vec![("w", grad)]; 4], dtype) {
            assert!(!found.is_raised());
            let large = tensor(&[large], dtype).to_f32()[0];
            assert_eq!(values, [Some(vec![large, 1.0, -large])]);
            assert_eq!(found.magnitude, large);
        }
    }
}

#[test]
#[expect(clippy::cast_possible_truncation, reason = "rounds to f32 on purpose")]
#[expect(clippy::cast_precision_loss, reason = "shards are few")]
fn tensors_of_several_types_and_lengths_are_averaged_wherever_slices_end() {
    let forms =
        [(DType::F32, 5), (DType::BF16, 1), (DType::F16, 0), (DType::F16, 7), (DType::F32, 3)];
    for ranks in [1, 2, 3, 5, 17] {
        let mut random = fastrand::Rng::with_seed(ranks as u64);
        let mut grad = |(place, (dtype, len)): (usize, (DType, usize))| {
            let values: Vec<f32> = (0..len).map(|_| random.f32() - 0.5).collect();
            Named::new(format!("w{place}"), Some(tensor(&values, dtype)))
        };
        let mut shard = |_| forms.into_iter().enumerate().map(&mut grad).collect::<Vec<_>>();
        // Two for each rank.
        let shards: Vec<Vec<_>> = (0..2 * ranks).map(&mut shard).collect();
        for (values, _) in each(ranks, |group| {
            let own = shards[2 * group.rank()..][..2].to_vec();
            averaged(&Ranks::new(Cpu, group), own, 0).unwrap()
        }) {
            for (place, (_, len)) in forms.into_iter().enumerate() {
                let term = |shard: &Vec<Named<Option<Tensor>>>, index: usize| {
                    f64::from(shard[place].value.as_ref().unwrap().to_f32()[index])
                };
                let sum = |index| shards.iter().map(|shard| term(shard, index)).sum::<f64>();
                let mean = |index| (sum(index) / shards.len() as f64) as f32;
                assert_eq!(values[place], Some((0..len).map(mean).collect()), "w{place}");
            }
        }
    }
}

#[test]
fn a_model_of_fewer_elements_than_ranks_is_averaged() {
    let grads = [[0.0_f32], [1.0], [2.0], [3.0], [4.0]];
    let sets: Vec<Grads<'_>> = grads.iter().map(|x| vec![("w", &x[..])]).collect();
    for (values, _) in average(&sets, DType::BF16) {
        assert_eq!(values, [Some(vec![2.0])]);
    }
}

#[test]
fn a_gradient_that_some_ranks_lack_counts_as_zero_and_one_that_all_lack_is_missing() {
    let some: Grads<'_> = vec![("a", &[3.0, 6.0]), ("b", &[]), ("c", &[3.0])];
    let none: Grads<'_> = vec![("a", &[]), ("b", &[]), ("c", &[3.0])];
    for sets in [[&some, &none, &some], [&none, &some, &some]] {
        let sets = sets.map(Clone::clone);
        for (values, found) in average(&sets, DType::F16) {
            assert_eq!(values, [Some(vec![2.0, 4.0]), None, Some(vec![3.0])]);
            let missing: Vec<&str> = found.missing.iter().map(|name| &**name).collect();
            assert_eq!(missing, ["a", "b"]);
        }
    }
}

#[test]
fn ranks_may_have_other_numbers_of_shards() {
    for values in each(2, |group| {
        let shards = [1.0, 2.0, 6.0].map(|x| set(&[("w", &[x])], DType::F32));
        let own = if group.rank() == 0 { &shards[..1] } else { &shards[1..] };
        averaged(&Ranks::new(Cpu, group), own.to_vec(), 0).unwrap().0
    }) {
        assert_eq!(values, [Some(vec![3.0])]);
    }
}

#[test]
fn the_first_rank_that_overflowed_is_told_counts_add_up_and_nothing_is_sent() {
    let bad = [[1.0, 8.0], [2.0, f32::NAN], [f32::INFINITY, 1.0]];
    let sets = bad.each_ref().map(|bad| vec![("a", &[1.0_f32][..]), ("b", &bad[..])]);
    for ((values, found), own) in average(&sets, DType::F32).into_iter().zip(bad) {
        let overflow = found.overflow.unwrap();
        assert_eq!((&*overflow.parameter, overflow.index), ("b", 1));
        assert_eq!(overflow.rank, Some(1));
        assert!(overflow.scaled.is_nan() && overflow.unscaled.is_nan());
        assert_eq!((found.nans, found.infinities, found.magnitude), (1, 1, 8.0));
        // Each rank's own gradients can be inspected.
        assert_eq!(format!("{values:?}"), format!("{:?}", [Some(vec![1.0]), Some(own.to_vec())]));
    }
}

#[test]
fn an_average_of_negative_zeros_is_one() {
    let sets = vec![vec![("w", &[-0.0_f32, 0.0][..])]; 3];
    for (values, _) in average(&sets, DType::F16) {
        let bits = values[0].as_ref().map(|values| values.iter().map(|x| x.to_bits()).collect());
        assert_eq!(bits, Some(vec![1 << 31, 0]));
    }
}

#[test]
fn the_norm_of_gradients_that_were_not_sent_is_not_finite_and_a_window_adds_none() {
    for (bad, is_nan) in [(f32::INFINITY, false), (f32::NAN, true)] {
        for (norm, grads) in each(2, |group| {
            let own = if group.rank() == 0 { bad } else { 1.0 };
            let rank = Ranks::new(Cpu, group);
            let mut grads = RankGrads::from(set(&[("w", &[own])], DType::F32));
            let mut found = rank.unscale(&mut grads, &ScaleState::from_exponent(0)).unwrap();
            rank.clip_norm(&mut grads, Norm::L2, 1.0, &mut found).unwrap();
            let sum = rank.accumulate(None, grads, &found).unwrap();
            (found.norm.unwrap(), rank.save_grads(&sum).unwrap())
        }) {
            assert_eq!((norm.is_nan(), norm.is_infinite()), (is_nan, !is_nan));
            assert_eq!(grads, [Named::new("w", None)]);
        }
    }
}

#[test]
fn a_sum_that_is_saved_is_loaded_as_it_was() {
    for (saved, loaded) in each(2, |group| {
        let own = [[1.0, 2.0], [3.0, 0.5]][group.rank()];
        let rank = Ranks::new(Cpu, group);
        let params = vec![Named::new("w", tensor(&[0.0; 2], DType::BF16))];
        let mut grads = RankGrads::from(set(&[("w", &own)], DType::BF16));
        let found = rank.unscale(&mut grads, &ScaleState::from_exponent(1)).unwrap();
        let sum = rank.accumulate(None, grads, &found).unwrap();
        let saved = rank.save_grads(&sum).unwrap();
        let specs = rank.grad_specs(&params).unwrap();
        assert_eq!(specs[0].value, *saved[0].value.as_ref().unwrap().spec());
        let loaded = rank.load_grads(&params, &saved).unwrap();
        let sum = rank.accumulate(Some(loaded), sum, &found).unwrap();
        (saved, rank.save_grads(&sum).unwrap())
    }) {
        let values = |grads: &[Named<Option<RawTensor>>]| grads[0].value.as_ref()?.to_f32();
        assert_eq!(values(&saved), Some(vec![1.0, 0.625]));
        assert_eq!(values(&loaded), Some(vec![2.0, 1.25]));
    }
}

#[test]
fn gradients_are_divided_by_the_scale_after_the_average() {
    for (values, found) in each(2, |group| {
        let grad = [[8.0], [16.0]][group.rank()];
        averaged(&Ranks::new(Cpu, group), vec![set(&[("w", &grad)], DType::F16)], 3).unwrap()
    }) {
        assert_eq!((values, found.magnitude), (vec![Some(vec![1.5])], 16.0));
    }
}

#[test]
fn what_is_no_average_yet_is_refused_and_operations_are_each_ranks_own() {
    let errors = each(1, |group| {
        use binade_core::GradSet;
        let rank = Ranks::new(Cpu, group);
        let x = rank.upload(&[1.0, 2.0], &[2], DType::BF16).unwrap();
        assert_eq!(rank.download(&x).unwrap(), [1.0, 2.0]);
        rank.materialise(set(&[("w", &[1.0])], DType::F32).into()).unwrap_err()
    });
    assert_eq!(errors[0].kind(), ErrorKind::InvalidArgument);
}
