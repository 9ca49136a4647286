//! Meetings: each rank states a header, on its device, and all are compared and joined there.

use super::{CudaRank, communicator::Move, count};
use crate::{
    CaptureError, CudaError, Error,
    kernels::{RANK_HEADER, RANK_JOIN},
    launch::{
        Grid, args,
        structs::{FoundBits, ScaleBits},
    },
    memory::Buffer,
};
use binade_gpu::Driver;
use binade_grad_scaler::ScaleState;
use bytemuck::{Pod, Zeroable};
use std::sync::Arc;

/// Header of a rank: `Header` of `ranks.cu`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct HeaderBits {
    number: u64,
    call: u64,
    setting: u64,
    model: u64,
    is_shared: u32,
    pad: [u32; 3],
    scale: ScaleBits,
    found: FoundBits,
}

/// First difference between ranks: `Difference` of `ranks.cu`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct DifferenceBits {
    what: u32,
    rank: u32,
    pad: u64,
    first: HeaderBits,
    other: HeaderBits,
}

const _: () = assert!(size_of::<HeaderBits>() == 208 && size_of::<DifferenceBits>() == 432);

/// Collective call of the ranks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Call {
    Masters,
    Join,
    Load,
    Model,
    Unscale,
    UnscaleAverage,
    /// Call of a rank whose own part of some call failed.
    Failed,
}

impl Call {
    const NAMES: [&str; 7] = [
        "`masters`",
        "`join`",
        "`load`",
        "`unscale` of a gradient that no rank has had before",
        "`unscale` of its own gradients",
        "`unscale` of an average",
        "an error of its own",
    ];
}

/// Statement of a rank.
#[derive(Debug)]
pub(super) struct Statement<'b> {
    pub(super) call: Call,
    /// Hash of names, types and shapes.
    pub(super) model: u64,
    pub(super) scale: &'b Buffer,
    pub(super) found: &'b Buffer,
    /// Numbers of parameters on this device, by their places in the set; `None` if the found-inf result uses this device's numbers.
    pub(super) numbers: Option<&'b Buffer>,
}

impl CudaRank {
    /// Joins the found-inf results of all ranks on the device; the result is halted if ranks differ.
    pub(super) fn meet(&self, own: &Statement<'_>) -> Result<Arc<Buffer>, Error> {
        let (cuda, communicator) = (self.cuda(), self.communicator());
        let (ranks, each) = (communicator.ranks(), size_of::<HeaderBits>());
        let all = cuda.buffer(each * ranks)?;
        let joint = Arc::new(cuda.buffer(size_of::<FoundBits>())?);
        let header = all.address() + (each * communicator.rank()) as u64;
        let (call, setting, model) = (own.call as u64, self.settled(), own.model);
        let is_shared = u32::from(own.call == Call::UnscaleAverage);
        let (scale, found) = (own.scale, own.found);
        let args = args![header, self.meetings(), call, setting, model, is_shared, scale, found];
        cuda.launch(RANK_HEADER, Grid::one(1), &args)?;
        let gather = Move::AllGather { own: header, at: all.address(), bytes: each };
        self.kept(communicator.run("all_gather", &[gather]))?;
        let (numbers, known) = (own.numbers, own.numbers.map_or(0, |numbers| numbers.bytes() / 4));
        let args = args![&all, count(ranks), self.difference(), &*joint, numbers, count(known)];
        cuda.launch(RANK_JOIN, Grid::one(1), &args)?;
        Ok(joint)
    }

    /// Meets the other ranks for a call without scale and found-inf result, and waits for the outcome.
    pub(super) fn agree(&self, call: Call, setting: u64, model: u64) -> Result<(), Error> {
        self.communicator().refuse_capture("a meeting outside a step")?;
        self.settles(setting);
        let cuda = self.cuda();
        let [scale, found] = [size_of::<ScaleBits>(), size_of::<FoundBits>()];
        let (scale, found) = (cuda.zeros(scale)?, cuda.zeros(found)?);
        self.meet(&Statement { call, model, scale: &scale, found: &found, numbers: None })?;
        self.compare()
    }

    /// Waits for the device, and returns the error of ranks that differ, which ends the communicator.
    pub(super) fn compare(&self) -> Result<(), Error> {
        self.wait()?;
        self.told()?.map_or(Ok(()), |error| Err(self.communicator().ends(error)))
    }

    /// Waits for the device, as long as the communicator knows of no failure and patience lasts.
    pub(super) fn wait(&self) -> Result<(), Error> {
        let cuda = self.cuda();
        let event =
            cuda.outside("event", CaptureError::Read, |stream| stream.record_event(None))?;
        let is_past = || {
            cuda.bind()?;
            cuda.check("poll", event.try_is_complete())
        };
        self.kept(self.communicator().wait_for(is_past))
    }

    /// Ends the communicator after an error of its calls. The difference between ranks that has led to it is the better error, if there is
    /// one.
    pub(super) fn kept<T>(&self, outcome: Result<T, Error>) -> Result<T, Error> {
        outcome.map_err(|error| match error {
            Error::Driver(CudaError::Communication { .. } | CudaError::RankTimeout { .. }) => {
                self.communicator().abort();
                self.communicator().ends(self.told().ok().flatten().unwrap_or(error))
            }
            other => other,
        })
    }

    /// Waits for the device, and returns the difference between ranks.
    fn told(&self) -> Result<Option<Error>, Error> {
        let buffer = self.difference();
        let bytes = self.cuda().read_bytes(buffer, 0..buffer.bytes())?;
        Ok(difference(&bytemuck::pod_read_unaligned(&bytes)))
    }
}

/// Returns the error of a difference.
fn difference(bits: &DifferenceBits) -> Option<Error> {
    let [first, other] = [&bits.first, &bits.other];
    let both = |text: fn(&HeaderBits) -> String| [text(first), text(other)];
    let (what, values) = match bits.what {
        0 => return None,
        1 => (
            "their call",
            both(|header| {
                let name = usize::try_from(header.call).ok().and_then(|call| Call::NAMES.get(call));
                format!("{} in meeting {}", name.unwrap_or(&"an unknown call"), header.number)
            }),
        ),
        2 => (
            match first.call {
                0 | 1 => "the configuration of the optimizer",
                2 => "the checkpoint",
                _ => "the limits of clips or the rule of the scale",
            },
            both(|header| format!("settings of the hash {:x}", header.setting)),
        ),
        3 => (
            "the loss scale",
            both(|header| {
                let state = ScaleState::from(header.scale);
                format!("{} of {state:?}", state.factor())
            }),
        ),
        4 => ("the model", both(|header| format!("parameters of the hash {:x}", header.model))),
        _ => ("what they found in their averages", both(|header| format!("{:?}", header.found))),
    };
    let rank = usize::try_from(bits.rank).unwrap_or(usize::MAX);
    Some(Error::Driver(CudaError::Desync { what, rank, values }))
}
