//! Slices of averages, masters and moments: they have the bits of whole ones, and use less memory.

use crate::common::{Error, Rank, each, set, tensor};
use binade_core::{DType, Error as _, ErrorKind, FoundInf, GradSet, Named, NamedGrads, Optimizer};
use binade_cpu::{Cpu, Tensor};
use binade_grad_scaler::{ClipGroup, GradOps, GradScaler, Norm, ScaleState};
use binade_master_weights::{
    LostUpdates, MasterOptimizer, MasterStore, OptimizerConfig, SavedParameter, UpdateRule,
};
use binade_ranks::{
    Alone,
    Partition::{self, Slices, Whole},
    RankGrads, Ranks, RanksError,
};

/// Runs a program on this many ranks, and returns each rank's result.
pub(crate) fn of_each<T: Send>(
    (ranks, partition): (usize, Partition),
    run: impl Fn(Rank) -> Result<T, Error> + Sync,
) -> Vec<Result<T, Error>> {
    each(ranks, |group| run(Ranks::new(Cpu, group).with_partition(partition)))
}

/// Asserts that ranks return the same result with each partition, and returns that result.
fn one<T: Send + PartialEq + std::fmt::Debug>(run: impl Fn(Rank) -> Result<T, Error> + Sync) -> T {
    let groups = [(1, Whole), (2, Whole), (2, Slices), (3, Slices), (8, Slices)];
    let all = groups.into_iter().flat_map(|group| of_each(group, &run));
    let mut all: Vec<T> = all.map(Result::unwrap).collect();
    let first = all.swap_remove(0);
    for other in all {
        assert_eq!(other, first);
    }
    first
}

pub(crate) const SHAPES: [(&str, &[usize]); 4] =
    [("w", &[5, 7]), ("b", &[7]), ("one", &[1]), ("v", &[3, 2])];

fn values(seed: u64, len: usize) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..len).map(|_| random.f32() - 0.5).collect()
}

pub(crate) fn params(shapes: &[(&str, &[usize])]) -> Vec<Named<Tensor>> {
    let param = |(name, shape): &(&str, &[usize])| {
        let values = values(name.len() as u64, shape.iter().product());
        Named::new(*name, Tensor::new(values, shape).unwrap())
    };
    shapes.iter().map(param).collect()
}

/// Gradients of a step, the same on every rank.
pub(crate) fn grads(params: &[Named<Tensor>], step: u64) -> NamedGrads<Tensor> {
    let grad = |Named { name, value }: &Named<Tensor>| {
        // One parameter has no gradient in every other step.
        let is_there = &**name != "v" || step.is_multiple_of(2);
        let grad = || Tensor::new(values(7 * step, value.len()), value.shape()).unwrap();
        Named { name: name.clone(), value: is_there.then(grad) }
    };
    params.iter().map(grad).collect()
}

pub(crate) fn average(
    rank: &Rank,
    set: NamedGrads<Tensor>,
) -> Result<(RankGrads<Cpu>, FoundInf), Error> {
    let mut grads = RankGrads::from(set);
    let found = rank.unscale(&mut grads, &ScaleState::from_exponent(3))?;
    Ok((grads, found))
}

pub(crate) fn steps(
    optimizer: &mut MasterOptimizer<Rank>,
    steps: std::ops::Range<u64>,
) -> Result<(), Error> {
    for step in steps {
        let (grads, found) = average(optimizer.device(), grads(&optimizer.params, step))?;
        optimizer.step(grads, &found)?;
    }
    Ok(())
}

/// Bits of parameters, their saved states, and their values in `f32`.
pub(crate) type Kept = (Vec<Vec<u8>>, Vec<SavedParameter>, Vec<Named<Vec<f32>>>);

pub(crate) fn kept(optimizer: &MasterOptimizer<Rank>) -> Result<Kept, Error> {
    let bits = optimizer.params.iter().map(|param| param.value.to_bits()).collect();
    Ok((bits, optimizer.save()?, optimizer.export_f32()?))
}

pub(crate) fn config(store: MasterStore, dtype: DType) -> OptimizerConfig {
    let config = OptimizerConfig::new(UpdateRule::adamw(0.01)).unwrap().with_store(store);
    let config = config.with_group(["b"], UpdateRule::sgd(0.5)).unwrap();
    config.with_storage(dtype).keep(["one"])
}

pub(crate) const STORES: [(MasterStore, DType); 8] = [
    (MasterStore::Copy, DType::BF16),
    (MasterStore::Copy, DType::F16),
    (MasterStore::Copy, DType::F32),
    (MasterStore::NoMaster, DType::BF16),
    (MasterStore::Remainder, DType::BF16),
    (MasterStore::Kahan, DType::BF16),
    (MasterStore::Kahan, DType::F16),
    (MasterStore::Stochastic { seed: 5 }, DType::BF16),
];

#[test]
fn every_store_has_the_bits_of_whole_masters_in_a_run_with_all_that_changes_it() {
    for (store, dtype) in STORES {
        one(|rank| {
            let config = config(store, dtype);
            let mut optimizer =
                MasterOptimizer::new(rank.clone(), params(&SHAPES), config.clone())?;
            let mut all = vec![kept(&optimizer)?];
            steps(&mut optimizer, 0..2)?;
            all.push(kept(&optimizer)?);
            // The learning rate changes, a parameter joins, and the program replaces one.
            let config = config.with_lr(0.003).unwrap();
            optimizer.set_config(config.clone())?;
            optimizer.join(params(&[("late", &[2, 9])]), config)?;
            let replaced = &mut optimizer.params[2].value;
            *replaced = Tensor::new(vec![9.0_f32], &[1]).unwrap();
            steps(&mut optimizer, 2..4)?;
            all.push(kept(&optimizer)?);
            Ok(all)
        });
    }
}

#[test]
fn a_file_of_any_number_of_ranks_loads_on_any_other() {
    for (store, dtype) in STORES {
        let start = |rank: Rank| MasterOptimizer::new(rank, params(&SHAPES), config(store, dtype));
        let whole = one(|rank| {
            let mut optimizer = start(rank)?;
            steps(&mut optimizer, 0..6)?;
            kept(&optimizer)
        });
        let mut saved: Option<Vec<SavedParameter>> = None;
        for (group, range) in [((4, Slices), 0..2), ((1, Whole), 2..3), ((3, Slices), 3..6)] {
            let mut all = of_each(group, |rank| {
                let mut optimizer = start(rank)?;
                if let Some(saved) = &saved {
                    optimizer.check_load(saved).unwrap();
                    optimizer.load(saved).unwrap();
                    assert_eq!(&optimizer.save()?, saved);
                }
                steps(&mut optimizer, range.clone())?;
                kept(&optimizer)
            });
            let kept = all.pop().unwrap().unwrap();
            if group == (3, Slices) {
                assert_eq!(kept, whole);
            }
            saved = Some(kept.1);
        }
    }
}

#[test]
fn a_file_that_does_not_fit_is_refused_and_changes_nothing() {
    let all = of_each((2, Slices), |rank| {
        let config = config(MasterStore::Copy, DType::BF16);
        let mut optimizer = MasterOptimizer::new(rank, params(&SHAPES), config)?;
        let before = kept(&optimizer)?;
        let mut saved = before.1.clone();
        saved.pop();
        let told = optimizer.load(&saved).unwrap_err().to_string();
        assert!(told.contains("`v`"), "{told}");
        assert_eq!(kept(&optimizer)?, before);
        Ok(())
    });
    for one in all {
        one.unwrap();
    }
}

#[test]
fn masters_and_moments_of_four_slices_take_a_quarter_of_the_whole_and_a_hundredth() {
    let shapes: [(&str, &[usize]); 4] =
        [("body.w", &[64, 32]), ("body.b", &[64]), ("head.w", &[10, 64]), ("head.b", &[10])];
    let bytes = |group| {
        let all = of_each(group, |rank| {
            let config = OptimizerConfig::new(UpdateRule::adamw(0.01)).unwrap();
            let config = config.with_storage(DType::BF16);
            let mut optimizer = MasterOptimizer::new(rank, params(&shapes), config)?;
            steps(&mut optimizer, 0..1)?;
            Ok(optimizer.masters().bytes())
        });
        all.into_iter().map(Result::unwrap).collect::<Vec<_>>()
    };
    let (masters, moments) = bytes((4, Whole))[0];
    assert_eq!((masters, moments), (4 * 2762, 8 * 2762));
    let slices = bytes((4, Slices));
    for own in &slices {
        assert!(own.0 * 100 <= masters * 26 && own.1 * 100 <= moments * 26, "{slices:?}");
    }
    assert_eq!(slices.iter().map(|own| own.0).sum::<u64>(), masters);
    assert_eq!(slices.iter().map(|own| own.1).sum::<u64>(), moments);
}

#[test]
fn a_model_of_fewer_elements_than_ranks_trains_and_is_counted_on_all() {
    let shapes: [(&str, &[usize]); 3] = [("a", &[1]), ("none", &[0, 4]), ("b", &[2])];
    let (_, saved, _) = one(|rank| {
        let config = OptimizerConfig::new(UpdateRule::adamw(0.1)).unwrap();
        let config = config.with_storage(DType::F16);
        let mut optimizer = MasterOptimizer::new(rank, params(&shapes), config)?;
        steps(&mut optimizer, 0..3)?;
        kept(&optimizer)
    });
    assert!(saved.iter().all(|param| param.applied == 3), "{saved:?}");
}

#[test]
fn clips_have_the_norms_and_the_bits_of_whole_gradients() {
    let groups =
        [ClipGroup::new(["w", "one"], Norm::L2, 0.3), ClipGroup::new(["b"], Norm::Infinity, 0.2)];
    let limits = [(Norm::L2, 0.7), (Norm::Infinity, 0.3), (Norm::L2, 100.0), (Norm::Infinity, 9.0)];
    one(|rank| {
        let mut all = Vec::new();
        for (norm, max) in limits {
            let (mut grads, mut found) = average(&rank, grads(&params(&SHAPES), 1))?;
            rank.clip_norm(&mut grads, norm, max, &mut found)?;
            // A set that is already clipped is measured again.
            rank.clip_norm(&mut grads, norm, max / 2.0, &mut found)?;
            rank.clip_groups(&mut grads, &groups, &mut found)?;
            rank.clip_value(&mut grads, 0.01)?;
            assert!(!found.is_raised());
            all.push((bits(rank.materialise(grads)?), found.norm.map(f32::to_bits)));
        }
        Ok(all)
    });
}

fn bits(grads: NamedGrads<Tensor>) -> Vec<Option<(Vec<usize>, Vec<u8>)>> {
    let bits = |grad: Tensor| (grad.shape().to_vec(), grad.to_bits());
    grads.into_iter().map(|grad| grad.value.map(bits)).collect()
}

#[test]
fn bad_limits_and_names_of_clips_are_refused_in_the_devices_words() {
    let told = one(|rank| {
        let (mut grads, mut found) = average(&rank, grads(&params(&SHAPES), 0))?;
        let limit = rank.clip_norm(&mut grads, Norm::L2, -1.0, &mut found).unwrap_err();
        let mut told = vec![(limit.to_string(), limit.kind())];
        for groups in [
            vec![ClipGroup::new(["x"], Norm::L2, 1.0)],
            vec![ClipGroup::new(["w"], Norm::L2, 0.0)],
            vec![ClipGroup::new(["w", "w"], Norm::L2, 1.0)],
        ] {
            let error = rank.clip_groups(&mut grads, &groups, &mut found).unwrap_err();
            told.push((error.to_string(), error.kind()));
        }
        rank.clip_norm(&mut grads, Norm::L2, 1.0, &mut found)?;
        Ok(told)
    });
    let kinds: Vec<_> = told.iter().map(|(_, kind)| *kind).collect();
    let (argument, mismatch) = (ErrorKind::InvalidArgument, ErrorKind::Mismatch);
    assert_eq!(kinds, [argument, mismatch, argument, mismatch], "{told:?}");
}

/// Text of a found-inf result, with every number in it.
fn told(found: &FoundInf) -> String {
    format!("{found:?}")
}

#[test]
fn an_overflow_of_a_windows_sum_is_told_as_of_the_whole() {
    // The last element of the first parameter, and the first of the last: on 2 ranks the one that is told lies on rank 1.
    let big: [(&str, &[f32]); 3] =
        [("a", &[1.0, 2.0, 3e38]), ("none", &[]), ("b", &[-3e38, 0.0, 3e38, 1.0])];
    let found = one(|rank| {
        let (none, one) = (FoundInf::default(), ScaleState::from_exponent(0));
        let unscaled = || {
            let mut grads = RankGrads::from(set(&big, DType::F32));
            rank.unscale(&mut grads, &one).map(|found| (grads, found))
        };
        let (first, found) = unscaled()?;
        assert!(!found.is_raised());
        let sum = rank.accumulate(None, first, &found)?;
        let mut sum = rank.accumulate(Some(sum), unscaled()?.0, &none)?;
        let mut found = rank.unscale(&mut sum, &one)?;
        let before = told(&found);
        rank.clip_norm(&mut sum, Norm::L2, 1.0, &mut found)?;
        assert!(found.norm.unwrap().is_infinite());
        Ok(before)
    });
    assert!(found.contains("parameter: \"a\", index: 2"), "{found}");
    assert!(found.contains("infinities: 3") && found.contains("missing: [\"none\"]"), "{found}");
}

#[test]
fn a_bad_micro_batch_adds_nothing_to_a_sum_and_a_skipped_step_moves_nothing() {
    one(|rank| {
        let params = params(&SHAPES);
        let mut spoilt = grads(&params, 0);
        spoilt[1].value = Some(tensor(&[f32::NAN; 7], DType::F32));
        let mut kept_sums = Vec::new();
        // The bad one comes first, in the middle, last, and alone.
        for order in [&[9, 0, 1][..], &[0, 9, 1], &[0, 1, 9], &[9]] {
            let mut sum = None;
            for step in order {
                let set = if *step == 9 { spoilt.clone() } else { grads(&params, *step) };
                let (grads, found) = average(&rank, set)?;
                assert_eq!(found.is_raised(), *step == 9);
                sum = Some(rank.accumulate(sum, grads, &found)?);
            }
            kept_sums.push(bits(rank.materialise(sum.unwrap())?));
        }
        let config = config(MasterStore::Copy, DType::BF16);
        let mut optimizer = MasterOptimizer::new(rank.clone(), params, config)?;
        let before = kept(&optimizer)?;
        let (mut grads, mut found) = average(&rank, spoilt)?;
        rank.clip_norm(&mut grads, Norm::L2, 1.0, &mut found)?;
        assert!(found.norm.unwrap().is_nan());
        optimizer.step(grads, &found)?;
        assert_eq!(kept(&optimizer)?, before);
        Ok(kept_sums)
    });
}

#[test]
fn the_sum_of_a_window_is_saved_whole_and_loads_on_any_number_of_ranks() {
    let params = params(&SHAPES);
    let sum = |rank: &Rank| {
        let (grads, found) = average(rank, grads(&params, 1))?;
        rank.accumulate(None, grads, &found)
    };
    let saved = one(|rank| rank.save_grads(&sum(&rank)?));
    assert_eq!(saved[0].value.as_ref().unwrap().spec().shape, [5, 7]);
    assert_eq!(saved[3].value, None);
    one(|rank| {
        let loaded = rank.load_grads(&params, &saved)?;
        let (more, found) = average(&rank, grads(&params, 2))?;
        let sum = rank.accumulate(Some(loaded), more, &found)?;
        Ok((rank.save_grads(&sum)?, bits(rank.materialise(sum)?)))
    });
}

#[test]
fn lost_updates_are_told_of_each_slice_and_sum_to_those_of_the_whole() {
    let lost = |group| {
        let all = of_each(group, |rank| {
            let config = config(MasterStore::NoMaster, DType::BF16).with_lost_updates(true);
            let config = config.with_lr(2e-4).unwrap();
            let mut optimizer = MasterOptimizer::new(rank, params(&SHAPES), config)?;
            steps(&mut optimizer, 0..1)?;
            Ok(optimizer.masters().lost_updates().unwrap())
        });
        all.into_iter().map(Result::unwrap).collect::<Vec<_>>()
    };
    let whole = lost((1, Whole))[0];
    assert!(whole.lost > 5 && whole.moved > 5, "{whole:?}");
    let mut sum = LostUpdates::default();
    for own in lost((3, Slices)) {
        sum += own;
    }
    assert_eq!(sum, whole);
}

#[test]
fn a_store_that_cannot_be_cut_is_refused_by_name_even_on_one_rank() {
    for ranks in [1, 2] {
        for outcome in of_each((ranks, Slices), |rank| {
            let config = config(MasterStore::ScaledF16, DType::BF16);
            let optimizer = MasterOptimizer::new(rank.clone(), params(&SHAPES), config);
            let error = optimizer.map(drop).unwrap_err();
            assert!(error.to_string().contains("`MasterStore::ScaledF16`"), "{error}");
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            // The ranks continue together.
            average(&rank, grads(&params(&SHAPES), 0)).map(drop)
        }) {
            outcome.unwrap();
        }
    }
    let (whole, config) = (Ranks::new(Cpu, Alone), config(MasterStore::ScaledF16, DType::BF16));
    MasterOptimizer::new(whole, params(&SHAPES), config).unwrap();
}

#[test]
fn a_gradient_of_another_shape_is_refused_though_its_slices_have_one_length() {
    let all = of_each((2, Slices), |rank| {
        let config = config(MasterStore::Copy, DType::BF16);
        let mut optimizer = MasterOptimizer::new(rank.clone(), params(&SHAPES), config)?;
        let mut turned = grads(&optimizer.params, 0);
        turned[3].value = Some(Tensor::new(vec![1.0_f32; 6], &[2, 3]).unwrap());
        let (turned, found) = average(&rank, turned)?;
        let error = optimizer.step(turned, &found).unwrap_err();
        assert!(matches!(&error, RanksError::Mismatch(of) if &*of.parameter == "v"), "{error}");
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        steps(&mut optimizer, 0..1)
    });
    for one in all {
        one.unwrap();
    }
}
