//! Clock: rounds of a row, ours and PyTorch's in turn, between two canaries.

use super::{
    Options,
    peer::Peer,
    row::{Row, Spec, Work},
};
use crate::Result;
use rayon::prelude::*;
use std::thread;
use std::time::{Duration, Instant};

/// Seconds that a round takes at least, by doing small work many times.
const ROUND: f64 = 0.02;
/// Time in which the other side's threads stop waiting for work: they keep a core busy meanwhile.
const PAUSE: Duration = Duration::from_millis(10);
const LEAST_ROUNDS: usize = 5;
const MOST_ROUNDS: usize = 25;

/// Clock, with an array that is multiplied in place around each row, to measure the bandwidth there is. Two cores of a virtual machine share bandwidth with its neighbours, now more and now less: a row
/// says something only beside what the machine gave around it.
pub(crate) struct Clock {
    seconds: f64,
    is_dry: bool,
    canary: Vec<f32>,
}

impl Clock {
    pub(crate) fn new(options: &Options) -> Self {
        let elements = if options.dry_run { 1 << 12 } else { 1 << 26 };
        Self { seconds: options.seconds, is_dry: options.dry_run, canary: vec![1.0; elements] }
    }

    /// Measures a row: rounds until they have taken their seconds, or once in a dry run.
    pub(crate) fn row(
        &mut self,
        spec: Spec,
        mut peer: Option<&mut Peer>,
        peaks: [Option<u64>; 2],
    ) -> Result<Row> {
        let Spec { group, name, bytes, flops, at, .. } = spec;
        let before = self.canary();
        let mut ours = (spec.prepare)()?;
        let mut peer = match (peer.as_mut(), &spec.peer) {
            (Some(peer), Some(row)) => Some(peer.prepare(row)?),
            _ => None,
        };
        let times = self.times(&mut ours)?;
        let peer_times = peer.as_mut().map(|it| self.times(it)).transpose()?.unwrap_or(1);
        let (began, mut seconds, mut theirs) = (Instant::now(), Vec::new(), Vec::new());
        while self.goes_on(seconds.len(), began) {
            thread::sleep(PAUSE);
            seconds.push(of_one(&mut ours, times)?);
            if let Some(peer) = &mut peer {
                thread::sleep(PAUSE);
                theirs.push(of_one(peer, peer_times)?);
            }
        }
        let canary = [before, self.canary()];
        Ok(Row { group, name, bytes, flops, at, ours: seconds, peer: theirs, canary, peaks })
    }

    fn goes_on(&self, rounds: usize, began: Instant) -> bool {
        let seconds = began.elapsed().as_secs_f64();
        // Long work has fewer rounds than others.
        let least = if seconds > 8.0 * self.seconds { 1 } else { LEAST_ROUNDS };
        rounds == 0
            || !self.is_dry && rounds < MOST_ROUNDS && (rounds < least || seconds < self.seconds)
    }

    /// Warms the work up, and returns the number of times it is done in a round.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 10^6")]
    fn times(&self, work: &mut Work) -> Result<usize> {
        let first = work(1)?;
        if self.is_dry || first > self.seconds {
            return Ok(1);
        }
        let one =
            work(if first < 1e-4 { 100 } else { 1 })? / if first < 1e-4 { 100.0 } else { 1.0 };
        Ok((ROUND / one.max(1e-9)).ceil().clamp(1.0, 1e6) as usize)
    }

    /// Returns the bandwidth of multiplying in place, the best of three times, in 10^9 bytes a second.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    fn canary(&mut self) -> f64 {
        let bytes = 2.0 * size_of_val(&*self.canary) as f64;
        let mut once = || {
            let began = Instant::now();
            let chunk = self.canary.len().div_ceil(rayon::current_num_threads());
            self.canary
                .par_chunks_mut(chunk)
                .for_each(|part| part.iter_mut().for_each(|x| *x *= 0.999_999));
            bytes / began.elapsed().as_secs_f64() / 1e9
        };
        (0..3).map(|_| once()).fold(0.0, f64::max)
    }
}

#[expect(clippy::cast_precision_loss, reason = "at most 10^6")]
fn of_one(work: &mut Work, times: usize) -> Result<f64> {
    Ok(work(times)? / times as f64)
}
