//! Ranks as threads, and sets of gradients.

use binade_core::{DType, FoundInf, GradSet, Named, NamedGrads};
use binade_cpu::{Cpu, Tensor};
use binade_grad_scaler::{GradScaler, ScaleState};
use binade_ranks::{Group, RankGrads, Ranks, RanksError, Threads, threads};
use std::{sync::Mutex, thread, time::Duration};

/// Patience of groups. Every test ends long before it; a rank that waits this long has failed.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) type Rank = Ranks<Cpu, Threads>;
pub(crate) type Error = RanksError<binade_cpu::Error>;

/// Runs each of `ranks` in a thread, and returns their results in order.
pub(crate) fn each<T: Send>(ranks: usize, run: impl Fn(Threads) -> T + Sync) -> Vec<T> {
    each_within(PATIENCE, ranks, run)
}

pub(crate) fn each_within<T: Send>(
    patience: Duration,
    ranks: usize,
    run: impl Fn(Threads) -> T + Sync,
) -> Vec<T> {
    thread::scope(|scope| {
        let run = &run;
        let groups = threads(ranks, patience).into_iter();
        let running: Vec<_> = groups.map(|group| scope.spawn(move || run(group))).collect();
        running.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

/// Runs each of `ranks` in a thread, with two groups of the same ranks, and returns their results in order.
pub(crate) fn each_of_two<T: Send>(
    patience: Duration,
    ranks: usize,
    run: impl Fn([Threads; 2]) -> T + Sync,
) -> Vec<T> {
    let others = threads(ranks, patience).into_iter().map(|group| Mutex::new(Some(group)));
    let others: Vec<_> = others.collect();
    each_within(patience, ranks, |group| {
        let other = others[group.rank()].lock().unwrap().take().unwrap();
        run([group, other])
    })
}

pub(crate) fn tensor(values: &[f32], dtype: DType) -> Tensor {
    Tensor::from_f32(values.to_vec(), &[values.len()], dtype).unwrap()
}

/// Set of gradients by name; an empty one is missing.
pub(crate) fn set(grads: &[(&str, &[f32])], dtype: DType) -> NamedGrads<Tensor> {
    let value = |values: &[f32]| (!values.is_empty()).then(|| tensor(values, dtype));
    grads.iter().map(|(name, values)| Named::new(*name, value(values))).collect()
}

/// Values of an average, and the found-inf result.
pub(crate) type Averaged = (Vec<Option<Vec<f32>>>, FoundInf);

/// Returns the average of these shards and the other ranks', unscaled by `2^exponent`, and the found-inf result.
pub(crate) fn averaged(
    rank: &Rank,
    shards: Vec<NamedGrads<Tensor>>,
    exponent: i32,
) -> Result<Averaged, Error> {
    unscaled(rank, RankGrads::from_iter(shards), &ScaleState::from_exponent(exponent))
}

/// Returns the unscaled average of gradients, and the found-inf result.
pub(crate) fn unscaled(
    rank: &Rank,
    mut grads: RankGrads<Cpu>,
    scale: &ScaleState,
) -> Result<Averaged, Error> {
    let found = rank.unscale(&mut grads, scale)?;
    let values = |grad: Named<Option<Tensor>>| grad.value.map(|grad| grad.to_f32().into_owned());
    Ok((rank.materialise(grads)?.into_iter().map(values).collect(), found))
}
