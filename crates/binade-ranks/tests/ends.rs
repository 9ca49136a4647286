//! Ranks that stall, leave, panic or fail: the other ranks get an error, and so does every later call.

use crate::common::{Error, PATIENCE, Rank, each, each_within, set, tensor};
use binade_core::ops::Upload;
use binade_core::{DType, Error as _, ErrorKind, FoundInf, Named};
use binade_cpu::Cpu;
use binade_grad_scaler::{GradScaler, ScaleState};
use binade_master_weights::{MasterWeights, OptimizerConfig, UpdateRule};
use binade_ranks::{Group, GroupError, RankGrads, Ranks, RanksError, threads};
use std::{
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

fn unscale(rank: &Rank) -> Result<FoundInf, Error> {
    let mut grads = RankGrads::from(set(&[("w", &[1.0, 2.0])], DType::F16));
    rank.unscale(&mut grads, &ScaleState::from_exponent(0))
}

/// Asserts that each kind of call returns the error that ended the group.
fn assert_ended(rank: &Rank, end: &GroupError) {
    let is_end = |error: Error| matches!(error, RanksError::Group(error) if error == *end);
    assert!(is_end(unscale(rank).unwrap_err()));
    let config = OptimizerConfig::new(UpdateRule::sgd(0.1)).unwrap();
    let mut params = vec![Named::new("w", tensor(&[1.0], DType::F32))];
    assert!(is_end(rank.masters(&mut params, &config).unwrap_err()));
    assert!(is_end(rank.upload(&[1.0], &[1], DType::F32).unwrap_err()));
}

#[test]
fn a_rank_that_stalls_is_named_within_the_patience() {
    let (patience, ready, done) = (Duration::from_secs(4), Barrier::new(3), Barrier::new(3));
    let ends = each_within(patience, 3, |group| {
        let rank = Ranks::new(Cpu, group);
        ready.wait();
        // Before the call in which all meet: a rank may leave it later than another begins to wait.
        let begun = Instant::now();
        unscale(&rank).unwrap();
        let stalls = rank.group().rank() == 1;
        if stalls {
            // It calls after the others have given up, and gets the error that it is late.
            done.wait();
        }
        let error = unscale(&rank).unwrap_err();
        if !stalls {
            done.wait();
        }
        assert_eq!(error.kind(), ErrorKind::DeviceLost);
        let RanksError::Group(end) = error else { panic!("{error}") };
        assert_ended(&rank, &end);
        (end, begun.elapsed())
    });
    for (end, waited) in ends {
        let GroupError::TimedOut { missing, ranks, .. } = &end else { panic!("{end}") };
        assert_eq!((&missing[..], *ranks), (&[1][..], 3));
        assert!(end.to_string().contains("ranks [1] of 3 did not come"), "{end}");
        assert!(waited >= patience && waited < PATIENCE, "{waited:?}");
    }
}

#[test]
fn a_rank_that_is_gone_is_named_at_once() {
    let begun = Instant::now();
    let ends = each(3, |group| {
        let rank = Ranks::new(Cpu, group);
        unscale(&rank).unwrap();
        if rank.group().rank() == 2 {
            return None;
        }
        let RanksError::Group(end) = unscale(&rank).unwrap_err() else { panic!("another error") };
        assert_ended(&rank, &end);
        Some(end)
    });
    assert!(ends[2].is_none());
    for end in ends.iter().flatten() {
        let GroupError::Lost { missing, .. } = end else { panic!("{end}") };
        assert_eq!(missing[0], 2);
    }
    assert!(begun.elapsed() < PATIENCE);
}

#[test]
fn a_rank_that_panics_is_named_at_once() {
    let mut groups = threads(2, PATIENCE).into_iter();
    let (first, second) = (groups.next().unwrap(), groups.next().unwrap());
    let begun = Instant::now();
    let panicking = thread::spawn(move || {
        let rank = Ranks::new(Cpu, second);
        unscale(&rank).unwrap();
        let _device = rank.clone();
        panic!("a rank panics, as this test wants it to");
    });
    let rank = Ranks::new(Cpu, first);
    unscale(&rank).unwrap();
    let error = unscale(&rank).unwrap_err();
    assert!(panicking.join().is_err());
    assert!(error.to_string().contains("ranks [1] of 2 are gone"), "{error}");
    assert!(begun.elapsed() < PATIENCE);
}

#[test]
fn an_error_of_one_rank_is_its_own_and_ends_the_others_in_the_same_call() {
    let errors = each(3, |group| {
        let is_bad = group.rank() == 1;
        let rank = Ranks::new(Cpu, group);
        let mut grads = set(&[("w", &[1.0])], DType::F32);
        if is_bad {
            grads[0].value = Some(binade_cpu::Tensor::new(vec![1_i64], &[1]).unwrap());
        }
        let first = rank.unscale(&mut RankGrads::from(grads), &ScaleState::from_exponent(0));
        (first.unwrap_err(), unscale(&rank).unwrap_err())
    });
    for (rank, (first, then)) in errors.into_iter().enumerate() {
        assert_eq!(matches!(first, RanksError::Device(_)), rank == 1, "{first}");
        let RanksError::Desync(desync) = then else { panic!("{then}") };
        assert_eq!(desync.ranks, [1]);
        assert!(desync.values[1].starts_with("an error of its own"), "{desync}");
    }
}

#[test]
fn an_error_of_all_ranks_ends_nothing() {
    for rank in each(2, |group| {
        let rank = Ranks::new(Cpu, group);
        let integers = binade_cpu::Tensor::new(vec![1_i64], &[1]).unwrap();
        let mut grads = RankGrads::from(vec![Named::new("w", Some(integers))]);
        let error = rank.unscale(&mut grads, &ScaleState::from_exponent(0)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        unscale(&rank).is_ok()
    }) {
        assert!(rank);
    }
}
