//! Ranks begin with equal parameters whatever they were given. Ranks that differ get an error in that call.

use crate::common::{Error, Rank, each, set, tensor};
use binade::prelude::*;
use binade_core::FoundInf;
use binade_cpu::Cpu;
use binade_grad_scaler::Norm;
use binade_master_weights::LoadError;
use binade_ranks::{Desync, Group, RankGrads, Ranks, RanksError};

/// Returns the difference that each of `ranks` reports, after checking that it is the same on all and in later calls.
fn apart(ranks: usize, run: impl Fn(&Rank) -> Result<(), Error> + Sync) -> Desync {
    let heard = each(ranks, |group| {
        let rank = Ranks::new(Cpu, group);
        let error = run(&rank).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        let again = unscale(&rank, &[1.0], DType::F32, 0).unwrap_err();
        assert_eq!(error.to_string(), again.to_string());
        let RanksError::Desync(desync) = error else { panic!("{error}") };
        desync
    });
    assert!(heard.iter().all(|desync| *desync == heard[0]), "{heard:?}");
    heard.into_iter().next().unwrap()
}

fn unscale(
    rank: &Rank,
    grad: &[f32],
    dtype: DType,
    exponent: i32,
) -> Result<(RankGrads<Cpu>, FoundInf), Error> {
    let mut grads = RankGrads::from(set(&[("v", &[0.5]), ("w", grad)], dtype));
    let found = rank.unscale(&mut grads, &ScaleState::from_exponent(exponent))?;
    Ok((grads, found))
}

#[test]
fn ranks_at_other_scales_hear_of_the_scales() {
    let desync = apart(4, |rank| {
        let exponent = if rank.group().rank() > 1 { 15 } else { 16 };
        unscale(rank, &[1.0], DType::F16, exponent).map(drop)
    });
    assert_eq!((desync.what, &desync.ranks[..]), ("the loss scale", &[2, 3][..]));
    assert!(desync.values[0].starts_with("65536 of "), "{desync}");
    assert!(desync.values[1].starts_with("32768 of "), "{desync}");
}

#[test]
fn ranks_at_other_counts_of_one_scale_hear_of_them() {
    let desync = apart(2, |rank| {
        let good_steps = 7 + u32::from(rank.group().rank() == 1);
        let scale = ScaleState { good_steps, ..ScaleState::from_exponent(3) };
        let mut grads = RankGrads::from(set(&[("w", &[1.0])], DType::F32));
        rank.unscale(&mut grads, &scale).map(drop)
    });
    assert_eq!((desync.what, &desync.ranks[..]), ("the loss scale", &[1][..]));
    assert!(desync.values[0].contains("good_steps: 7"), "{desync}");
    assert!(desync.values[1].contains("good_steps: 8"), "{desync}");
}

#[test]
fn ranks_of_other_shapes_types_or_names_hear_of_the_first_parameter() {
    let desync = apart(3, |rank| {
        let grad: &[f32] = if rank.group().rank() == 1 { &[1.0, 2.0] } else { &[1.0] };
        unscale(rank, grad, DType::BF16, 0).map(drop)
    });
    assert_eq!((desync.what, &desync.ranks[..]), ("the model", &[1][..]));
    assert_eq!(desync.values, ["`w` bf16 [1]", "`w` bf16 [2]"]);

    let desync = apart(2, |rank| {
        let dtype = [DType::F16, DType::F32][rank.group().rank()];
        unscale(rank, &[1.0], dtype, 0).map(drop)
    });
    assert_eq!(desync.values, ["`v` f16 [1]", "`v` f32 [1]"]);

    let desync = apart(2, |rank| {
        let more: &[(&str, &[f32])] = &[("w", &[1.0]), ("x", &[1.0])];
        let own = &more[..=rank.group().rank()];
        let mut grads = RankGrads::from(set(own, DType::F32));
        rank.unscale(&mut grads, &ScaleState::from_exponent(0)).map(drop)
    });
    assert_eq!(desync.values, ["no parameter", "`x` f32 [1]"]);
}

#[test]
fn ranks_that_make_other_calls_hear_of_the_calls() {
    let desync = apart(2, |rank| {
        let (mut grads, mut found) = unscale(rank, &[1.0], DType::F32, 0)?;
        match rank.group().rank() {
            0 => rank.clip_norm(&mut grads, Norm::L2, 1.0, &mut found),
            _ => unscale(rank, &[1.0], DType::F32, 0).map(drop),
        }
    });
    assert_eq!((desync.what, &desync.ranks[..]), ("their call", &[1][..]));
    let [first, other] = &desync.values;
    assert!(first.starts_with("`clip_norm`") && other.starts_with("`unscale`"), "{desync}");
}

#[test]
fn ranks_that_clip_by_other_limits_or_norms_hear_of_them() {
    let desync = apart(2, |rank| {
        let (mut grads, mut found) = unscale(rank, &[1.0], DType::F32, 0)?;
        let max = [1.0, 2.0][rank.group().rank()];
        rank.clip_norm(&mut grads, Norm::L2, max, &mut found)
    });
    assert_eq!(desync.what, "the limit or the norm of a clip");
    assert!(desync.values[1].starts_with("L2 norm of at most 2: "), "{desync}");

    let desync = apart(2, |rank| {
        let (mut grads, mut found) = unscale(rank, &[1.0], DType::F32, 0)?;
        // One rank has changed shared state.
        if rank.group().rank() == 1 {
            rank.clip_value(&mut grads, 0.75)?;
        }
        rank.clip_norm(&mut grads, Norm::L2, 9.0, &mut found)
    });
    assert!(desync.values[1].contains("norm: Some(0.9"), "{desync}");
}

#[test]
fn shards_of_one_rank_that_differ_are_its_own_error() {
    let errors = each(2, |group| {
        let rank = Ranks::new(Cpu, group);
        let sets = [[1.0].as_slice(), &[1.0, 2.0]].map(|w| set(&[("w", w)], DType::F32));
        let of = if rank.group().rank() == 0 { [0, 1] } else { [0, 0] };
        let mut grads = RankGrads::from_iter(of.map(|set| sets[set].clone()));
        rank.unscale(&mut grads, &ScaleState::from_exponent(0)).unwrap_err()
    });
    let whats = errors.into_iter().map(|error| match error {
        RanksError::Desync(desync) => desync.what,
        error => panic!("{error}"),
    });
    assert_eq!(whats.collect::<Vec<_>>(), ["the shards of one rank", "their call"]);
}

fn start(rank: &Rank, params: Vec<Named<binade_cpu::Tensor>>, level: OptLevel) -> Amp<Rank> {
    let properties = level.with(DType::BF16);
    initialize(rank.clone(), Model::new(params), UpdateRule::adamw(0.1), properties).unwrap()
}

#[test]
fn every_rank_begins_with_the_parameters_of_rank_0_before_they_are_lowered() {
    for level in [OptLevel::O0, OptLevel::O2] {
        let saved = each(3, |group| {
            // In bf16 both are 1: only masters show that parameters were sent before the cast.
            let own = 1.0 + [0.0, 1.0, 2.0][group.rank()] / 4096.0;
            let params = vec![
                Named::new("w", tensor(&[own, 3.0 * own], DType::F32)),
                Named::new("b", tensor(&[-own], DType::F32)),
            ];
            start(&Ranks::new(Cpu, group), params, level).optimizer.save().unwrap()
        });
        assert!(saved.iter().all(|rank| *rank == saved[0]), "{level}");
        let values = [1.0_f32, 3.0].iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>();
        let first = &saved[0][0];
        let kept = first.kept.iter().map(|(_, raw)| raw.bytes()).chain([first.value.bytes()]);
        assert!(kept.into_iter().any(|bytes| bytes == values), "{level}: rank 0's, in f32");
    }
}

#[test]
fn parameters_that_join_are_those_of_rank_0() {
    let saved = each(2, |group| {
        let own = [1.0, 2.0][group.rank()];
        let one = |name: &str| vec![Named::new(name, tensor(&[own, 0.1 * own], DType::F32))];
        let mut amp = start(&Ranks::new(Cpu, group), one("w"), OptLevel::O2);
        let config = amp.optimizer.config().clone();
        amp.optimizer.join(one("v"), config).unwrap();
        amp.optimizer.save().unwrap()
    });
    assert_eq!((saved[0].len(), &saved[0]), (2, &saved[1]));
}

#[test]
fn another_checkpoint_on_one_rank_is_told_on_all_and_one_that_fits_on_none_ends_nothing() {
    let desync = apart(2, |rank| {
        let of = |value| vec![Named::new("w", tensor(&[value], DType::F32))];
        let mut amp = start(rank, of(1.0), OptLevel::O2);
        let mut saved = amp.optimizer.save().unwrap();
        amp.optimizer.load(&saved).unwrap();
        assert!(matches!(amp.optimizer.load(&[]), Err(LoadError::SpecMismatch(_))));
        if rank.group().rank() == 1 {
            let other = initialize(
                Cpu,
                Model::new(of(2.0)),
                UpdateRule::adamw(0.1),
                OptLevel::O2.with(DType::BF16),
            );
            saved = other.unwrap().optimizer.save().unwrap();
        }
        match amp.optimizer.load(&saved) {
            Err(LoadError::Device(error)) => Err(error),
            other => panic!("{other:?}"),
        }
    });
    assert_eq!((desync.what, &desync.ranks[..]), ("the checkpoint", &[1][..]));
}

#[test]
fn another_model_or_configuration_is_refused_when_ranks_begin() {
    for by_shape in [true, false] {
        let errors = each(2, |group| {
            let own = group.rank();
            let sides = if by_shape { 1 + own } else { 1 };
            let params = vec![Named::new("w", tensor(&vec![0.0; sides], DType::F32))];
            let rule = UpdateRule::sgd(if by_shape { 0.1 } else { [0.1, 0.2][own] });
            let rank = Ranks::new(Cpu, group);
            initialize(rank, Model::new(params), rule, OptLevel::O2.with(DType::F16)).unwrap_err()
        });
        for error in errors {
            assert_eq!(error.kind(), ErrorKind::Mismatch);
            let what = if by_shape { "the model" } else { "the configuration of the optimizer" };
            assert!(error.to_string().starts_with(&format!("ranks differ in {what}")), "{error}");
        }
    }
}
