//! Compares the time of gradient averaging over ranks with that of `MPI_Allreduce` in `f32`: `mpirun -n 4 exchange ELEMENTS ROUNDS [PATIENCE]`.
//! PATIENCE is the time in seconds that a call waits for other ranks, by default 300.

#[allow(unsafe_code, reason = "MPI is a library of C")]
mod allreduce;

use binade_core::{DType, Named};
use binade_cpu::{Cpu, Tensor};
use binade_grad_scaler::{GradScaler, ScaleState};
use binade_mpi::Mpi;
use binade_ranks::{Group, RankGrads, Ranks};
use std::{
    env,
    error::Error,
    process::ExitCode,
    time::{Duration, Instant},
};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// Call with its name and its times in seconds.
type Row<'r> = (&'static str, &'r mut dyn FnMut() -> Outcome, Vec<f64>);

fn main() -> ExitCode {
    let patience = env::args().nth(3).and_then(|seconds| seconds.parse().ok()).unwrap_or(300);
    binade_mpi::run(Duration::from_secs(patience), measure)
}

fn measure(group: Mpi) -> Outcome {
    let mut args = env::args().skip(1).map(|arg| arg.parse::<usize>());
    let (Some(elements), Some(rounds)) = (args.next(), args.next()) else {
        return Err("usage: mpirun -n RANKS exchange ELEMENTS ROUNDS [PATIENCE]".into());
    };
    let (elements, rounds) = (elements?, rounds?.max(1));
    let (own, ranks) = (group.rank(), group.ranks());
    let rank = Ranks::new(Cpu, group);
    let value = |at: usize| f32::from(u16::try_from((at * 7 + own) % 1000).unwrap_or(0)) / 512.0;
    let values: Vec<f32> = (0..elements).map(value).collect();
    let gradients = |dtype| Tensor::from_f32(values.clone(), &[elements], dtype);
    let [bf16, f16, f32] = [DType::BF16, DType::F16, DType::F32].map(gradients);
    let [bf16, f16, f32] = [bf16?, f16?, f32?];

    let unscale = |gradient: &Tensor| -> Outcome {
        let mut grads = RankGrads::from(vec![Named::new("w", Some(gradient.clone()))]);
        rank.unscale(&mut grads, &ScaleState::from_exponent(0))?;
        Ok(())
    };
    let mut rows: [Row<'_>; 6] = [
        ("MPI_Allreduce, f32", &mut || Ok(allreduce::sum(&values).map(drop)?), vec![]),
        ("unscale of f32: look, exchange, sum in f64, gather", &mut || unscale(&f32), vec![]),
        ("unscale of bf16", &mut || unscale(&bf16), vec![]),
        ("unscale of f16", &mut || unscale(&f16), vec![]),
        (
            "bytes of f32 alone: exchange and gather",
            &mut || bytes(rank.group(), elements, 4),
            vec![],
        ),
        ("bytes of 16 bits alone", &mut || bytes(rank.group(), elements, 2), vec![]),
    ];
    // The first round is a warm-up.
    for round in 0..=rounds {
        for (_, run, times) in &mut rows {
            let time = timed(rank.group(), run)?;
            if round > 0 {
                times.push(time);
            }
        }
    }
    if own == 0 {
        println!("{ranks} ranks, {elements} elements, median of {rounds} rounds (least, most)");
        let mut reference = f64::NAN;
        for (name, _, mut times) in rows {
            times.sort_by(f64::total_cmp);
            let median = times[times.len() / 2];
            reference = if reference.is_nan() { median } else { reference };
            let [least, most] = [times[0], times[times.len() - 1]].map(|time| time * 1e3);
            println!(
                "{:9.2} ms  {:5.2} x  {name} ({least:.2}, {most:.2})",
                median * 1e3,
                median / reference
            );
        }
    }
    Ok(())
}

/// Transfers the bytes that an average of elements of this width transfers, without adding them.
fn bytes(group: &Mpi, elements: usize, width: usize) -> Outcome {
    let ranks = group.ranks();
    let slice = elements / ranks * width;
    let lengths = vec![slice; ranks];
    let mut received = vec![0; slice * ranks];
    group.exchange(&vec![1; slice * ranks], &lengths, &mut received, &lengths)?;
    let slice = elements / ranks * 4;
    let mut received = vec![0; slice * ranks];
    group.all_gather(&vec![1; slice], &vec![slice; ranks], &mut received)?;
    Ok(())
}

/// Returns the time, in seconds on the slowest rank, of a call that all ranks begin together.
fn timed(group: &Mpi, run: &mut dyn FnMut() -> Outcome) -> Outcome<f64> {
    gathered(group, 0.0)?;
    let begun = Instant::now();
    run()?;
    let own = begun.elapsed().as_secs_f64();
    Ok(gathered(group, own)?.into_iter().fold(0.0, f64::max))
}

fn gathered(group: &Mpi, own: f64) -> Outcome<Vec<f64>> {
    let mut all = vec![0; 8 * group.ranks()];
    group.all_gather(&own.to_le_bytes(), &vec![8; group.ranks()], &mut all)?;
    Ok(all.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect())
}
