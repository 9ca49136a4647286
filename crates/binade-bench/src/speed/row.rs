//! One figure, and what it is held against.

use super::clock::{Times, median};
use serde::Serialize;

/// What a kernel's speed is a share of.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// Half is read, half is written.
    Copy,
    /// Only read.
    Read,
    /// Written where it was read.
    InPlace,
    /// Nothing is moved.
    Nothing,
    /// Moving is not what takes the time.
    Computed,
}

/// What was done.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct What {
    /// As in the baseline for PyTorch: copy, unscale, cast, norm, step, scaler, launch, matmul, mlp.
    pub(crate) group: &'static str,
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) dtype: String,
    pub(crate) elements: usize,
    pub(crate) tensors: usize,
    /// The least that this work moves: each input read once, each output written once.
    pub(crate) bytes: usize,
    /// What the kernels move, tables and what blocks hand each other included.
    pub(crate) bytes_moved: usize,
    #[serde(flatten)]
    pub(crate) computed: Computed,
}

/// What is more than moved.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Computed {
    /// The least multiplications and additions of all matrix products; others are not counted.
    pub(crate) flops: u64,
    /// Samples that are trained on.
    pub(crate) samples: u64,
    /// Names of the rows for PyTorch that this one is held against.
    pub(crate) torch: Vec<String>,
}

/// Seconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Seconds {
    pub(crate) median_s: f64,
    pub(crate) min_s: f64,
    pub(crate) max_s: f64,
    /// `bytes` over the median.
    pub(crate) gbs: f64,
    /// `flops` over the median, in 10^12 a second.
    pub(crate) tflops: f64,
    /// `samples` over the median.
    pub(crate) samples_per_s: f64,
}

/// One line of the table.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    #[serde(flatten)]
    pub(crate) what: What,
    /// On an idle device, the host's work included.
    #[serde(flatten)]
    pub(crate) alone: Seconds,
    /// Behind other work: the device alone.
    pub(crate) queued: Seconds,
    /// What the host took to ask, its median.
    pub(crate) host_s: f64,
    /// Of `queued`, in the ceiling of the same kind.
    pub(crate) share_of_ceiling: Option<f64>,
    /// `queued`, in launches of a kernel that does nothing.
    pub(crate) empty_launches: Option<f64>,
    pub(crate) rounds: usize,
    /// The replay of a captured step is one.
    pub(crate) launches: u64,
    pub(crate) host_syncs: u64,
    pub(crate) table_uploads: u64,
    pub(crate) table_bytes: u64,
    /// The most device memory at once, what the work holds between rounds included.
    pub(crate) peak_bytes: usize,
}

impl Row {
    pub(crate) fn new(what: What, times: &Times) -> Self {
        let seconds = |sorted: &[f64]| Seconds::of(sorted, &what);
        let (alone, queued) = (seconds(&times.alone), seconds(&times.queued));
        Self {
            alone,
            queued,
            host_s: median(&times.host),
            share_of_ceiling: None,
            empty_launches: None,
            rounds: times.alone.len(),
            launches: times.ledger.launches + times.ledger.replays,
            host_syncs: times.ledger.syncs,
            table_uploads: times.ledger.tables,
            table_bytes: times.ledger.table_bytes,
            peak_bytes: times.peak_bytes,
            what,
        }
    }
}

impl Seconds {
    fn of(sorted: &[f64], what: &What) -> Self {
        let median_s = median(sorted);
        let edge = |seconds: Option<&f64>| seconds.copied().unwrap_or(f64::NAN);
        #[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 of each")]
        let rate = |count: u64| count as f64 / median_s.max(1e-12);
        let Computed { flops, samples, .. } = what.computed;
        Self {
            median_s,
            min_s: edge(sorted.first()),
            max_s: edge(sorted.last()),
            gbs: rate(what.bytes as u64) / 1e9,
            tflops: rate(flops) / 1e12,
            samples_per_s: rate(samples),
        }
    }
}
