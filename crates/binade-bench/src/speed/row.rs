//! One row of figures, and the work that it measures.

use super::{
    clock::{Times, median},
    passes::Size,
};
use serde::Serialize;

/// Kind of work, which decides the ceiling for its share.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// Reads half of the bytes and writes half.
    Copy,
    /// Reads all bytes.
    Read,
    /// Writes the bytes in place of those it reads.
    InPlace,
    /// Moves nothing.
    Nothing,
    /// Computes: moving bytes is not what takes the time.
    Computed,
}

/// Description of the work that a row measures.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct What {
    /// Group, as in PyTorch's baseline: copy, unscale, cast, norm, gradients, step, scaler, launch, matmul, mlp; upload, which it has not.
    pub(crate) group: &'static str,
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) dtype: String,
    pub(crate) elements: usize,
    pub(crate) tensors: usize,
    /// Least bytes that this work moves: each input read once, each output written once.
    pub(crate) bytes: usize,
    /// Bytes that the kernels move, with tables and the blocks' partial results.
    pub(crate) bytes_moved: usize,
    /// Least multiplications and additions of all matrix products; other arithmetic is not counted.
    pub(crate) flops: u64,
    /// Number of samples trained on.
    pub(crate) samples: u64,
}

impl What {
    /// Describes work that moves bytes of its operands, and overhead beside them.
    pub(crate) fn moving(
        group: &'static str,
        name: &str,
        kind: Kind,
        (dtype, elements, tensors): Size,
        [bytes, overhead]: [usize; 2],
    ) -> Self {
        let (name, dtype, bytes_moved) = (name.to_owned(), dtype.to_string(), bytes + overhead);
        let (flops, samples) = (0, 0);
        Self { group, name, kind, dtype, elements, tensors, bytes, bytes_moved, flops, samples }
    }
}

/// Seconds of all rounds, and rates computed from them.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Seconds {
    pub(crate) median_s: f64,
    pub(crate) min_s: f64,
    pub(crate) max_s: f64,
    /// Rate in 10^9 bytes a second: `bytes` over the median.
    pub(crate) gbs: f64,
    /// Rate in 10^12 operations a second: `flops` over the median.
    pub(crate) tflops: f64,
    /// Samples a second: `samples` over the median.
    pub(crate) samples_per_s: f64,
}

/// Line of the table.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    #[serde(flatten)]
    pub(crate) what: What,
    /// Times on an idle device, the host's work included.
    #[serde(flatten)]
    pub(crate) alone: Seconds,
    /// Times behind other work: the device alone.
    pub(crate) queued: Seconds,
    /// Median seconds that the host took to submit.
    pub(crate) host_s: f64,
    /// Rate of `queued` over that of the ceiling of the same kind.
    pub(crate) share_of_ceiling: Option<f64>,
    /// Time of `queued` over that of a kernel that does nothing.
    pub(crate) empty_launches: Option<f64>,
    pub(crate) rounds: usize,
    /// Number of launches; the replay of a captured step is one.
    pub(crate) launches: u64,
    pub(crate) host_syncs: u64,
    pub(crate) table_uploads: u64,
    pub(crate) table_bytes: u64,
    /// Greatest device memory in use at once, with what the work holds between rounds.
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
            launches: times.counters.launches + times.counters.replays,
            host_syncs: times.counters.syncs,
            table_uploads: times.counters.tables,
            table_bytes: times.counters.table_bytes,
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
        Self {
            median_s,
            min_s: edge(sorted.first()),
            max_s: edge(sorted.last()),
            gbs: rate(what.bytes as u64) / 1e9,
            tflops: rate(what.flops) / 1e12,
            samples_per_s: rate(what.samples),
        }
    }
}
