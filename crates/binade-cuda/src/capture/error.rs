//! Reasons why a step cannot be captured, or replayed.

use crate::{CudaError, Error};

/// Reason in a [`CudaError::Capture`](crate::CudaError::Capture) why a step cannot be captured, or its capture not replayed.
#[non_exhaustive]
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum CaptureError {
    /// Read by the host of a value that only the device knows.
    #[error(
        "it waits for the device, which does not work while it is captured; read between replays"
    )]
    Read,
    /// Upload of values from the host, which a replay would not send.
    #[error(
        "it uploads {bytes} bytes, which no replay would; make the tensor before, and `Cuda::write` to it between replays"
    )]
    Upload {
        /// Size of the upload.
        bytes: usize,
    },
    /// Table of addresses or constants that is not on the device.
    #[error(
        "its table of {bytes} bytes is not the one of the last warm-up: an address or a constant has changed; drop what \
         warm-ups gave before the next run, and let the step be the same each time"
    )]
    Table {
        /// Size of the table.
        bytes: usize,
    },
    /// Request for memory that the warm-ups have not made.
    #[error(
        "after it {bytes} bytes are asked for that the warm-ups have left no memory for; drop what they gave before the \
         next run, and let the step be the same each time"
    )]
    Unserved {
        /// Size of the request.
        bytes: usize,
    },
    /// Drop, within the run, of memory from before it.
    #[error(
        "after it {bytes} bytes are dropped that were there before, and that replays would find used by others; keep them \
         for as long as the capture"
    )]
    Freed {
        /// Size of the memory.
        bytes: usize,
    },
    /// Operation that differs from the last warm-up's.
    #[error(
        "as operation {number} it is not what the last warm-up did there: its name, an address or a value differs, and each \
         replay would repeat this one; bring what changes to the device in fixed tensors"
    )]
    Changed {
        /// Index among the run's operations, from 0.
        number: usize,
    },
    /// Operation that the last warm-up did and the captured run did not.
    #[error("the last warm-up did it as operation {number}, and the captured run ended before")]
    Missing {
        /// Index among the run's operations, from 0.
        number: usize,
    },
    /// Update of more findings than one report has room for.
    #[error(
        "an update of {found} findings has no report that a replay could send, which takes {most}; take fewer micro-batches \
         in a captured step"
    )]
    Findings {
        /// Number of findings of the update.
        found: usize,
        /// Greatest number of findings of a report.
        most: usize,
    },
    /// Write to memory that has a clone elsewhere, so that the write would go to a copy at another address.
    #[error(
        "it moves what somebody else holds a clone of to another address, and a captured step knows only the first; before it, \
         drop the tape that the parameters are on, outcomes, and clones of parameters and scales; or else the capture"
    )]
    Moved,
    /// Write to memory that has a clone elsewhere, whose values would change.
    #[error(
        "it would change what somebody holds a clone of: a parameter, or the scale of a loss, of gradients or of an ordinary \
         outcome; use these up or drop them, tapes among them, and copy parameters by `Cuda::duplicate`"
    )]
    Held,
    /// Capture by another thread in the same stream.
    #[error(
        "another thread captures a step of this handle; wait until it has, or open another handle"
    )]
    Thread,
    /// Capture by another handle in the same stream.
    #[error(
        "another handle captures a step in this stream; wait until it has, or give each handle a stream of its own"
    )]
    Shared,
    /// Capture within a run of another.
    #[error("a run of a capture is under way; let one end before the next begins")]
    Nested,
    /// Stream that CUDA does not capture.
    #[error(
        "the default stream cannot be captured, nor one of a context with cudarc's event tracking; open the device by \
         `Cuda::open`, or give a stream of a context whose tracking is disabled"
    )]
    Stream,
    /// Memory of the captured step that has been dropped or replaced.
    #[error("what the captured step works on has been dropped or replaced; capture the step anew")]
    Stale,
    /// Copy from another device's memory, as between ranks without NCCL and between the devices of one model.
    #[error(
        "it copies between devices, whose streams a capture of one does not follow; let the step run uncaptured, or connect ranks \
         by NCCL"
    )]
    Peers,
    /// Adoption of another program's memory, or an order of streams by an event.
    #[error(
        "it orders this stream and another program's by an event, which no replay would; adopt memory before the capture and keep it, \
         and call `Cuda::wait_for` and `Cuda::precede` between replays"
    )]
    OtherStream,
    /// Outcome of a captured step that has not been replayed yet.
    #[error(
        "no replay of the captured step has sent it; replay the step before its outcome is read"
    )]
    Unplayed,
    /// Beta too near 1, or a decay of the learning rate: its corrections need more rows than a table on the device holds.
    #[error(
        "the correction {of} does not end within the table on the device, which holds {most} steps; take smaller betas, and a \
         schedule in place of `lr_decay`"
    )]
    Correction {
        /// The correction.
        of: String,
        /// Rows of the longest table.
        most: u64,
    },
}

impl CaptureError {
    /// Returns the error of an operation.
    pub(crate) fn of(self, operation: &'static str) -> Error {
        Error::Driver(CudaError::Capture { operation, why: self })
    }
}
