//! Programs of a rank, by name.

#![allow(
    clippy::needless_pass_by_value,
    clippy::unnecessary_wraps,
    reason = "all programs have one type"
)]

use crate::memory::memory;
use crate::resumed::resumed;
use crate::training::{BUCKET, LEVELS, STEPS, Setting, train};
use binade::OptLevel;
use binade_core::{DType, Named};
use binade_cpu::{Cpu, Tensor};
use binade_grad_scaler::{GradScaler, ScaleState};
use binade_mpi::Mpi;
use binade_ranks::{Group, GroupError, Partition, RankGrads, Ranks};
use std::{
    error::Error,
    hash::{DefaultHasher, Hash, Hasher},
    process::{self, Command, ExitCode},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

pub(crate) type Outcome = Result<(), Box<dyn Error>>;

/// Patience in tests in which a rank stalls.
pub(crate) const SHORT: Duration = Duration::from_secs(3);

/// Patience in tests that end for another reason.
const LONG: Duration = Duration::from_mins(5);

pub(crate) fn run(name: &str) -> ExitCode {
    let (patience, program): (Duration, fn(Mpi) -> Outcome) = match name {
        "calls" => (LONG, calls),
        "two_threads" => (LONG, two_threads),
        "settings" => (LONG, settings),
        "resumed" => (LONG, resumed),
        "settings_that_overlap" => (LONG, settings_that_overlap),
        "stall_in_backward" => (SHORT, stall_in_backward),
        "memory" => (LONG, memory),
        "late" => (SHORT, late),
        "unequal_ends" => (SHORT, unequal_ends),
        "stall" => (SHORT, stall),
        "stall_at_the_end" => (SHORT, stall_at_the_end),
        "mixed" => (SHORT, mixed),
        "other_lengths" => (SHORT, other_lengths),
        "error" => (LONG, error),
        "panic" => (LONG, panics),
        "panic_beside_a_call" => (LONG, panics_beside_a_call),
        "kill" => (LONG, kill),
        "desync" => (LONG, desync),
        "refused" => (LONG, refused),
        "again" => (LONG, again),
        _ => panic!("no program is {name}"),
    };
    binade_mpi::run(patience, program)
}

/// Every rank gives its number as its one byte.
fn gather(group: &Mpi) -> Result<Vec<u8>, GroupError> {
    let mut all = vec![0; group.ranks()];
    group.all_gather(&[u8::try_from(group.rank()).unwrap()], &vec![1; group.ranks()], &mut all)?;
    Ok(all)
}

fn calls(group: Mpi) -> Outcome {
    call(&group)?;
    println!("rank {} of {} called", group.rank(), group.ranks());
    Ok(())
}

/// Both groups call at once, each in a thread.
fn two_threads(group: Mpi) -> Outcome {
    let second = group.duplicate()?;
    assert_eq!((second.rank(), second.ranks()), (group.rank(), group.ranks()));
    let told = group.duplicate().unwrap_err().to_string();
    assert!(told.contains("the second was given before"), "{told}");
    thread::scope(|scope| {
        let other = scope.spawn(|| call(&second));
        call(&group)?;
        other.join().unwrap()
    })?;
    println!("rank {} called twice", group.rank());
    Ok(())
}

fn call(group: &Mpi) -> Result<(), GroupError> {
    let (own, ranks) = (group.rank(), group.ranks());
    let byte = |value: usize| u8::try_from(value).unwrap();
    for round in 0..50 {
        // Rank r gives r bytes, so that rank 0 gives none.
        let lengths: Vec<usize> = (0..ranks).collect();
        let expected: Vec<u8> = lengths.iter().flat_map(|rank| vec![byte(*rank); *rank]).collect();
        let mut all = vec![99; expected.len()];
        group.all_gather(&vec![byte(own); own], &lengths, &mut all)?;
        assert_eq!(all, expected);

        // Rank r sends s bytes to rank s, which are r and the round; rank 0 receives nothing.
        let send = vec![byte(own + round); lengths.iter().sum()];
        let expected: Vec<u8> = (0..ranks).flat_map(|rank| vec![byte(rank + round); own]).collect();
        let mut received = vec![99; expected.len()];
        group.exchange(&send, &lengths, &mut received, &vec![own; ranks])?;
        assert_eq!(received, expected);

        let root = round % ranks;
        let mut bytes = vec![byte(own); 3];
        group.broadcast(root, &mut bytes)?;
        assert_eq!(bytes, vec![byte(root); 3]);
    }
    // Empty parts, and a message larger than MPI's eager limit.
    group.all_gather(&[], &vec![0; ranks], &mut [])?;
    group.exchange(&[], &vec![0; ranks], &mut [], &vec![0; ranks])?;
    group.broadcast(ranks - 1, &mut [])?;
    let part = 1 << 20;
    let mut received = vec![99; part * ranks];
    group.exchange(
        &vec![byte(own); part * ranks],
        &vec![part; ranks],
        &mut received,
        &vec![part; ranks],
    )?;
    assert!(
        received.chunks(part).enumerate().all(|(rank, it)| it.iter().all(|it| *it == byte(rank)))
    );
    Ok(())
}

/// Settings that are trained, with their names: those of the tests of threads.
pub(crate) fn trained() -> Vec<(String, Setting)> {
    let of = |(level, dtype)| {
        let (name, plain) = (format!("{level} {dtype}"), Setting::new(level, dtype));
        [
            (format!("{name}, with windows"), plain.with_windows()),
            (format!("{name}, with an overflow"), plain.with_overflow()),
            (name, plain),
        ]
    };
    let predicted = Setting::new(OptLevel::O2, DType::F16).with_prediction();
    let all = LEVELS.into_iter().flat_map(of);
    all.chain([("predicted scale".to_owned(), predicted)]).collect()
}

/// Trains a setting, and returns the hash of weights, moments, scale and reports.
pub(crate) fn hash(rank: &Ranks<Cpu, impl Group>, setting: Setting) -> u64 {
    let mut hasher = DefaultHasher::new();
    format!("{:?}", train(rank, setting, 0..STEPS, None)).hash(&mut hasher);
    hasher.finish()
}

fn settings(group: Mpi) -> Outcome {
    let rank = Ranks::new(Cpu, group);
    for (name, setting) in trained() {
        println!("{name}: {:x}", hash(&rank, setting));
        println!("{name}: {:x}", hash(&rank.clone().with_partition(Partition::Slices), setting));
    }
    Ok(())
}

fn settings_that_overlap(group: Mpi) -> Outcome {
    let second = group.duplicate()?;
    let rank = Ranks::overlapping(Cpu, [group, second], BUCKET)?;
    for (name, setting) in trained() {
        let setting = Setting { is_told: true, ..setting };
        for partition in [Partition::Whole, Partition::Slices] {
            println!("{name}: {:x}", hash(&rank.clone().with_partition(partition), setting));
        }
    }
    Ok(())
}

/// One rank reports its gradient too late.
fn stall_in_backward(group: Mpi) -> Outcome {
    let (own, second) = (group.rank(), group.duplicate()?);
    let rank = Ranks::overlapping(Cpu, [group, second], BUCKET)?;
    let params = vec![Named::new("w", Tensor::from_f32(vec![0.0], &[1], DType::F32)?)];
    let gradient = Named::new("w", Some(params[0].value.clone()));
    let mut grads = rank.backward(&params, &[gradient], |gradient, tell| {
        if own == 1 {
            thread::sleep(LONG);
        }
        tell(gradient.clone())
    })?;
    // The meeting of `unscale` has the same patience as the exchange, which began earlier.
    heard(rank.group(), rank.unscale(&mut grads, &ScaleState::from_exponent(0)))
}

/// One rank arrives after the others have asked for its call, and before their patience ends.
fn late(group: Mpi) -> Outcome {
    for round in 0..3 {
        if group.rank() == round {
            thread::sleep(SHORT * 3 / 4);
        }
        gather(&group)?;
        // The root continues at once, without notice to the others.
        group.broadcast(0, &mut [0; 8])?;
    }
    println!("rank {} was in time", group.rank());
    Ok(())
}

fn unequal_ends(group: Mpi) -> Outcome {
    thread::sleep(SHORT * u32::try_from(group.rank()).unwrap() / 4);
    println!("rank {} ends", group.rank());
    Ok(())
}

/// Prints the error of a rank. The first rank that returns ends the others, so they must have printed theirs before.
fn heard<T>(group: &Mpi, outcome: Result<T, impl Error + 'static>) -> Outcome {
    let Err(error) = outcome else { return Err("the call ended well".into()) };
    println!("rank {}: {error}", group.rank());
    thread::sleep(SHORT);
    Err(error.into())
}

fn stall(group: Mpi) -> Outcome {
    gather(&group)?;
    match group.rank() {
        1 => thread::sleep(LONG),
        // It is late, and came.
        2 => thread::sleep(SHORT * 3 / 4),
        _ => (),
    }
    let begun = Instant::now();
    let outcome = gather(&group);
    let waited = begun.elapsed();
    assert!(waited >= SHORT && waited < 2 * SHORT, "{waited:?}");
    // Each later call is the same error, at once.
    assert_eq!(group.broadcast(0, &mut [0; 8]).unwrap_err(), outcome.clone().unwrap_err());
    assert_eq!(group.exchange(&[], &[], &mut [], &[]).unwrap_err(), outcome.clone().unwrap_err());
    heard(&group, outcome)
}

fn stall_at_the_end(group: Mpi) -> Outcome {
    gather(&group)?;
    if group.rank() == 1 {
        thread::sleep(LONG);
    }
    Ok(())
}

fn mixed(group: Mpi) -> Outcome {
    let outcome = match group.rank() {
        0 => group.broadcast(1, &mut [0; 8]),
        _ => gather(&group).map(|_| ()),
    };
    // Rank 0 gets the error at once, and the others when their patience ends.
    if group.rank() == 0 {
        thread::sleep(SHORT);
    }
    heard(&group, outcome)
}

/// Rank 1 gives more bytes than the others have room for, and rank 2 fewer.
fn other_lengths(group: Mpi) -> Outcome {
    let lengths = match group.rank() {
        1 => [2, 7, 2],
        2 => [2, 2, 1],
        _ => [2; 3],
    };
    let mut all = vec![0; lengths.iter().sum()];
    let own = vec![5; lengths[group.rank()]];
    heard(&group, group.all_gather(&own, &lengths, &mut all))
}

fn error(group: Mpi) -> Outcome {
    gather(&group)?;
    if group.rank() == 2 {
        return Err("the disk is full".into());
    }
    gather(&group).map(|_| ()).map_err(Into::into)
}

fn panics(group: Mpi) -> Outcome {
    gather(&group)?;
    assert_ne!(group.rank(), 1, "a bug");
    gather(&group).map(|_| ()).map_err(Into::into)
}

/// One rank panics while another thread of it waits in MPI.
fn panics_beside_a_call(group: Mpi) -> Outcome {
    gather(&group)?;
    if group.rank() == 1 {
        let group = Arc::new(group);
        thread::spawn(move || gather(&group));
        thread::sleep(Duration::from_millis(200));
        panic!("a bug");
    }
    thread::sleep(LONG);
    Ok(())
}

fn kill(group: Mpi) -> Outcome {
    gather(&group)?;
    if group.rank() == 3 {
        Command::new("kill").args(["-9", &process::id().to_string()]).status()?;
    }
    gather(&group).map(|_| ()).map_err(Into::into)
}

fn desync(group: Mpi) -> Outcome {
    let rank = Ranks::new(Cpu, group);
    let own = rank.group().rank();
    let grad = Tensor::from_f32(vec![1.0, 2.0], &[2], DType::F16)?;
    let mut grads = RankGrads::from(vec![Named::new("w", Some(grad))]);
    let scale = ScaleState::from_exponent(if own == 2 { 9 } else { 8 });
    heard(rank.group(), rank.unscale(&mut grads, &scale))
}

fn refused(group: Mpi) -> Outcome {
    let (own, ranks) = (group.rank(), group.ranks());
    // A group ends with its first error: each number of ranks is another error.
    let outcome = match ranks {
        1 => group.all_gather(&[], &[3_000_000_000], &mut []),
        2 => group.exchange(&[], &vec![0; ranks], &mut [], &vec![usize::MAX; ranks]),
        3 => group.broadcast(7, &mut [0; 8]),
        _ => group.all_gather(&[1], &vec![own + 2; ranks], &mut [0; 8]),
    };
    heard(&group, outcome)
}

fn again(_: Mpi) -> Outcome {
    let code = binade_mpi::run(LONG, |_| Err("a second start"));
    assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::FAILURE));
    Ok(())
}
