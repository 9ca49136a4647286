//! Ranks of a run, which are threads: each trains on its part of every step's images.

use crate::Result;
use crate::job::Job;
use crate::report::Run;
use crate::trainer::Trainer;
use binade_cpu::Cpu;
use binade_example_shared::program::{Norm, PATIENCE, Part, Trains, each};
use binade_ranks::{Group, Ranks, threads};
use binade_tape::Var;
use indicatif::ProgressBar;

/// Part of a run that one device has.
pub(crate) struct Place<D: Trains> {
    pub(crate) part: Part<D>,
    /// Replaces numbers by their sums over all ranks.
    pub(crate) sum: fn(&D, &mut [f64]) -> Result<()>,
    /// Number of ranks, as a divisor of sums.
    pub(crate) ranks: f64,
}

impl<D: Trains> Place<D> {
    /// Returns the place of a device that has the whole run.
    pub(crate) fn alone() -> Self {
        Self { part: Part::whole(), sum: |_, _| Ok(()), ranks: 1.0 }
    }
}

/// Runs `job` on as many threads as its arguments say, and returns the figures of rank 0.
///
/// # Errors
///
/// If a rank fails, with the errors of all that did; if ranks end with different weights.
pub(crate) fn run(job: &Job<'_>, bar: &ProgressBar) -> Result<Run> {
    let one = |group, bar: &ProgressBar| {
        let device = Ranks::new(Cpu, group);
        let trainer = Trainer::new(&device, place(&device, job.args.sync_bn), job, bar)?;
        let (run, optimizer) = trainer.run()?;
        device.check_equal(&optimizer.params)?;
        Ok(run)
    };
    let runs = each(threads(job.args.ranks(), PATIENCE), bar, one)?;
    runs.into_iter().next().ok_or_else(|| "no rank ran".into())
}

fn place<G: Group>(device: &Ranks<Cpu, G>, sync_bn: bool) -> Place<Ranks<Cpu, G>> {
    let ranks = device.group().ranks();
    let norm: Norm<_> = if sync_bn { Var::sync_batch_norm } else { Var::batch_norm };
    let divisor = u32::try_from(ranks).unwrap_or(u32::MAX).into();
    Place { part: Part::of_rank(device, ranks, norm), sum: sum::<G>, ranks: divisor }
}

/// Adds numbers up in the order of ranks, so that all have the same sums.
fn sum<G: Group>(device: &Ranks<Cpu, G>, numbers: &mut [f64]) -> Result<()> {
    let own: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    let ranks = device.group().ranks();
    let mut all = vec![0; own.len() * ranks];
    device.group().all_gather(&own, &vec![own.len(); ranks], &mut all)?;
    let (all, _) = all.as_chunks::<8>();
    for (place, number) in numbers.iter_mut().enumerate() {
        let of_ranks = all.iter().skip(place).step_by(own.len() / 8);
        *number = of_ranks.map(|bytes| f64::from_le_bytes(*bytes)).sum();
    }
    Ok(())
}
