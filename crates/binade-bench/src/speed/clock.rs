//! The clock: CUDA events on the backend's stream, around one piece of work at a time.
//!
//! Each piece is timed in two ways. *Alone*: the device has nothing to do before it. The host's time to submit the work counts as
//! far as the device waits for it. This is the time of a caller who waits, and torch's figures are taken so. *Queued*: copies
//! before it keep the device busy until the host has submitted all of it, so that the device's time alone counts. This is the
//! time in a training loop, whose host runs ahead. The copies also drive the inputs out of the L2 cache.

use super::{Result, data, work::Work};
use binade_cuda::{
    Cuda, DeviceCounters, Tensor,
    cudarc::driver::{CudaEvent, DriverError, sys::CUevent_flags},
};
use std::{collections::VecDeque, time::Instant};

pub(crate) struct Clock {
    cuda: Cuda,
    start: CudaEvent,
    end: CudaEvent,
    rounds: usize,
    /// Tensor that is copied to keep the device busy.
    curtain: Tensor,
    /// Bytes of device memory in use before any work was prepared.
    held: usize,
}

/// Seconds of each round, sorted, and the host's work in one.
#[derive(Clone, Debug)]
pub(crate) struct Times {
    pub(crate) alone: Vec<f64>,
    pub(crate) queued: Vec<f64>,
    /// Seconds that the host took to submit.
    pub(crate) host: Vec<f64>,
    /// Counters of the last round.
    pub(crate) counters: DeviceCounters,
    /// Greatest device memory in use at once, in any round.
    pub(crate) peak_bytes: usize,
}

/// Figures of one round.
struct Round {
    device: f64,
    host: f64,
    counters: DeviceCounters,
    peak_bytes: usize,
}

impl Clock {
    /// Creates a clock for `rounds` of each work; `curtain` is the number of elements copied to keep the device busy.
    pub(crate) fn new(cuda: &Cuda, rounds: usize, curtain: usize) -> Result<Self> {
        let event = || {
            let event = cuda.stream().context().new_event(Some(CUevent_flags::CU_EVENT_DEFAULT));
            event.map_err(driver_message)
        };
        let curtain = data::noise(cuda, curtain)?;
        let held = cuda.memory_use().bytes;
        Ok(Self { cuda: cuda.clone(), start: event()?, end: event()?, rounds, curtain, held })
    }

    /// Times `work` in both ways.
    pub(crate) fn time<W: Work>(&self, work: &mut W) -> Result<Times> {
        let mut kept = VecDeque::new();
        // The warm-up loads kernels, allocates memory and uploads the tables of every turn: twice as many rounds, since outputs
        // trade places once. GPU clocks rise meanwhile.
        let warm_up = 2 * work.turns() + self.rounds.min(3);
        for round in 0..warm_up {
            self.round(work, &mut kept, round, 0)?;
        }
        let rounds = warm_up..warm_up + self.rounds;
        let alone = rounds.clone().map(|round| self.round(work, &mut kept, round, 0));
        let alone = alone.collect::<Result<Vec<_>>>()?;
        let host = sorted(alone.iter().map(|round| round.host));
        let copies = self.copies(median(&host))?;
        let queued = rounds.map(|round| self.round(work, &mut kept, round, copies));
        let queued = sorted(queued.collect::<Result<Vec<_>>>()?.iter().map(|round| round.device));
        let counters = alone.last().map(|round| round.counters).unwrap_or_default();
        let peak_bytes = alone.iter().map(|round| round.peak_bytes).max().unwrap_or_default();
        let alone = sorted(alone.iter().map(|round| round.device));
        Ok(Times { alone, queued, host, counters, peak_bytes })
    }

    /// Runs one round behind this number of copies.
    fn round<W: Work>(
        &self,
        work: &mut W,
        kept: &mut VecDeque<W::Output>,
        number: usize,
        copies: usize,
    ) -> Result<Round> {
        // The oldest output is dropped first: outputs take turns as inputs do, so that a table with both comes round again.
        if kept.len() == work.turns() {
            kept.pop_front();
        }
        let input = work.prepare(number)?;
        self.cuda.synchronize()?;
        self.draw(copies)?;
        self.cuda.reset_peak_memory();
        self.start.record(self.cuda.stream()).map_err(driver_message)?;
        let (before, began) = (self.cuda.counters(), Instant::now());
        let output = work.run(input)?;
        let (host, after) = (began.elapsed().as_secs_f64(), self.cuda.counters());
        self.end.record(self.cuda.stream()).map_err(driver_message)?;
        let device = f64::from(self.cuda.elapsed_ms(&self.start, &self.end)?) / 1e3;
        let peak_bytes = self.cuda.memory_use().peak_bytes.saturating_sub(self.held);
        kept.push_back(output);
        Ok(Round { device, host, counters: since(before, after), peak_bytes })
    }

    /// Returns the number of copies that take the device three times as long as the host takes for the work.
    fn copies(&self, host: f64) -> Result<usize> {
        self.start.record(self.cuda.stream()).map_err(driver_message)?;
        self.draw(4)?;
        self.end.record(self.cuda.stream()).map_err(driver_message)?;
        let one = f64::from(self.cuda.elapsed_ms(&self.start, &self.end)?) / 4e3;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 1 and 1000"
        )]
        Ok((3.0 * host / one.max(1e-9)).ceil().clamp(1.0, 1000.0) as usize)
    }

    fn draw(&self, copies: usize) -> Result<()> {
        for _ in 0..copies {
            self.cuda.duplicate(&self.curtain)?;
        }
        Ok(())
    }
}

/// Returns the lower median of sorted values; NaN of none.
pub(crate) fn median(sorted: &[f64]) -> f64 {
    sorted.get((sorted.len().max(1) - 1) / 2).copied().unwrap_or(f64::NAN)
}

fn sorted(seconds: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut seconds: Vec<f64> = seconds.collect();
    seconds.sort_by(f64::total_cmp);
    seconds
}

/// Returns the counters of a row between two moments; the others are as before.
fn since(before: DeviceCounters, after: DeviceCounters) -> DeviceCounters {
    DeviceCounters {
        syncs: after.syncs - before.syncs,
        launches: after.launches - before.launches,
        tables: after.tables - before.tables,
        table_bytes: after.table_bytes - before.table_bytes,
        replays: after.replays - before.replays,
        ..before
    }
}

/// Returns a message without the driver's own text, which a stand-in may not have.
fn driver_message(error: DriverError) -> String {
    format!("the CUDA driver says {:?}", error.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_lower_of_the_two_in_the_middle() {
        let of = |seconds: &[f64]| median(&sorted(seconds.iter().copied()));
        assert_eq!([of(&[3.0, 1.0, 2.0]), of(&[4.0, 1.0, 3.0, 2.0])], [2.0, 2.0]);
        assert!(of(&[]).is_nan());
    }
}
