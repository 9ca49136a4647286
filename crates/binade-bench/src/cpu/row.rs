//! Rows: the work that each measures, and its figures.

use crate::Result;
use serde::Serialize;
use serde_json::Value;
use std::hint::black_box;
use std::time::Instant;

/// Work that is done this many times, and takes so many seconds together.
pub(crate) type Work = Box<dyn FnMut(usize) -> Result<f64>>;

/// Function that prepares a row's work.
type Prepare = Box<dyn FnOnce() -> Result<Work>>;

/// Makes work of a function that does it once.
pub(crate) fn timed<T>(mut once: impl FnMut() -> Result<T> + 'static) -> Work {
    Box::new(move |times| {
        let began = Instant::now();
        for _ in 0..times {
            drop(black_box(once()?));
        }
        Ok(began.elapsed().as_secs_f64())
    })
}

/// Row before it is measured.
pub(crate) struct Spec {
    pub(crate) group: &'static str,
    pub(crate) name: String,
    /// Least bytes that the work moves; 0 if moving bytes is not what takes the time.
    pub(crate) bytes: usize,
    /// Multiplications and additions of all matrix products.
    pub(crate) flops: u64,
    /// Same work as `torch_cpu.py` takes it; `None` if PyTorch has nothing like it.
    pub(crate) peer: Option<Value>,
    pub(crate) prepare: Prepare,
    pub(crate) measures_memory: bool,
    /// Place on the horizontal axis of a plot, in parameters or tensors.
    pub(crate) at: Option<usize>,
}

impl Spec {
    pub(crate) fn new(
        group: &'static str,
        name: impl Into<String>,
        peer: impl Into<Option<Value>>,
        prepare: impl FnOnce() -> Result<Work> + 'static,
    ) -> Self {
        let (name, peer, prepare) = (name.into(), peer.into(), Box::new(prepare));
        let (bytes, flops, measures_memory, at) = (0, 0, false, None);
        Self { group, name, bytes, flops, peer, prepare, measures_memory, at }
    }
}

/// Figures of a row. Seconds are of doing the work once.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) group: &'static str,
    pub(crate) name: String,
    pub(crate) bytes: usize,
    pub(crate) flops: u64,
    pub(crate) at: Option<usize>,
    /// Seconds in each round.
    pub(crate) ours: Vec<f64>,
    /// PyTorch's seconds in each round.
    pub(crate) peer: Vec<f64>,
    /// Bandwidth of multiplying in place before and after the row, in 10^9 bytes a second.
    pub(crate) canary: [f64; 2],
    /// Greatest memory of either side's process beyond what it held before, in bytes.
    pub(crate) peaks: [Option<u64>; 2],
}

impl Row {
    /// Returns how many times as fast as PyTorch ours is: the median of the rounds' ratios; NaN without PyTorch.
    pub(crate) fn ratio(&self) -> f64 {
        median(self.ours.iter().zip(&self.peer).map(|(ours, peer)| peer / ours))
    }

    /// Returns the bandwidth in 10^9 bytes a second as a share of the canary's.
    pub(crate) fn share(&self) -> f64 {
        self.rate(self.bytes) / (self.canary.iter().sum::<f64>() / 2.0)
    }

    /// Returns 10^9 of `each` a second.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    pub(crate) fn rate(&self, each: usize) -> f64 {
        each as f64 / median(self.ours.iter().copied()) / 1e9
    }
}

/// Returns the lower median; NaN of none.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    crate::speed::clock::median(&sorted)
}
