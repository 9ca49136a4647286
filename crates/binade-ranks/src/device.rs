//! `Ranks`, the handle of a device that is one of several ranks.

use crate::{
    Group, Partition, RanksError,
    average::Buffers,
    header::Call,
    meeting::{self, Apart, Met, Statement},
    overlap::Exchanger,
    slices::Divided,
};
use binade_autocast::Autocast;
use binade_core::ops::{Download, Shaped, Upload};
use binade_core::{FoundInf, Handle, Named, NamedGrads};
use binade_grad_scaler::{GradOps, ScaleState};
use binade_master_weights::MasterWeights;
use std::{
    fmt,
    ops::Range,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// Device that can be one of several [`Ranks`]. Every handle with these supertraits implements it.
#[rustfmt::skip]
pub trait RankDevice:
    Autocast + Shaped + Upload + Download
    + GradOps<Grads: From<NamedGrads<<Self as Handle>::Tensor>>>
    + MasterWeights<Params = Vec<Named<<Self as Handle>::Tensor>>>
{
}

#[rustfmt::skip]
impl<D> RankDevice for D where
    D: Autocast + Shaped + Upload + Download
    + GradOps<Grads: From<NamedGrads<<Self as Handle>::Tensor>>>
    + MasterWeights<Params = Vec<Named<<Self as Handle>::Tensor>>>
{
}

/// Device `D` as one rank of the group `G`: data-parallel training of one model by several devices, processes or machines.
///
/// # Contract
///
/// * Every rank makes the same calls in the same order: it scales, unscales, clips, accumulates and steps where the others do.
/// * `masters`, and so `initialize`, gives every rank the parameters of rank 0 before they are lowered.
/// * `unscale` looks at each rank's own gradients as they were made, joins the findings in the order of ranks, and gives every rank
///   the average. Where any rank overflowed no gradient is sent, since every rank skips.
/// * The average is the `f64` sum of all shards in the order of ranks, divided by their number and rounded once to `f32`. Gradients
///   travel in their own type. The same shards in the same order give the same bits, on any number of ranks.
/// * A gradient that some shards lack counts as zero there, and the report lists it as missing. One that all lack is missing.
/// * `unscale` of an average, as at the end of a window, and clipping compare what they found: it decides if a step is skipped.
/// * `batch_norm` is each rank's own; `sync_batch_norm` normalises by the batches of all ranks, which meet in it and in its backward.
/// * Ranks that differ in the call, the loss scale, the model, the optimizer's configuration or a loaded checkpoint get a
///   [`Desync`](crate::Desync) on every rank, in that call.
/// * With [`Partition::Slices`] each rank keeps its slice of averages, masters and moments; parameters, steps and saved files have the
///   bits of [`Partition::Whole`]. Every rank saves and exports then, since these calls gather; [`with_saved_slices`](Self::with_saved_slices)
///   makes `save` give this rank's slices instead.
/// * After an error of the group or between ranks each call is that error.
/// * The scale and the findings are the host's. `unscale` and clips wait for the device.
pub struct Ranks<D, G> {
    device: D,
    partition: Partition,
    saves_slices: bool,
    shared: Arc<Shared<G>>,
}

struct Shared<G> {
    group: G,
    /// Number of meetings so far.
    meetings: AtomicU64,
    /// Error that ended the group, if there is one.
    apart: OnceLock<Apart>,
    /// Buffers of exchanges on the calling thread.
    buffers: Mutex<Buffers>,
    /// Thread that exchanges gradients during backward. It is dropped after the group, so that other ranks no longer wait for this one.
    exchanger: Option<Exchanger>,
}

/// Error type of a rank's calls.
pub(crate) type Failed<D> = RanksError<<D as Handle>::Error>;

impl<D, G: Group> Ranks<D, G> {
    /// Makes `device` this process's or thread's rank of `group`.
    pub fn new(device: D, group: G) -> Self {
        Self::made(device, group, None)
    }

    pub(crate) fn made(device: D, group: G, exchanger: Option<Exchanger>) -> Self {
        let (meetings, apart) = (AtomicU64::new(0), OnceLock::new());
        let buffers = Mutex::default();
        let shared = Arc::new(Shared { group, meetings, apart, buffers, exchanger });
        Self { device, partition: Partition::Whole, saves_slices: false, shared }
    }

    /// Sets which part of averages, masters and moments each rank keeps. Set the same partition on every rank, before `masters`.
    #[must_use]
    pub fn with_partition(self, partition: Partition) -> Self {
        Self { partition, ..self }
    }

    /// Returns which part of averages, masters and moments each rank keeps.
    pub fn partition(&self) -> Partition {
        self.partition
    }

    /// Makes `save` and `save_grads` return this rank's slices instead of gathering; `Checkpoint::write_by_rank` writes them to a file for each rank.
    /// Call it on every rank, before `masters`. With [`Partition::Whole`] saved state stays whole.
    #[must_use]
    pub fn with_saved_slices(self) -> Self {
        Self { saves_slices: true, ..self }
    }

    pub(crate) fn saves_slices(&self) -> bool {
        self.saves_slices
    }

    /// Returns the elements that this rank owns of a tensor with this name. The rank averages them, keeps them with [`Partition::Slices`], and writes
    /// them to its file of a checkpoint. The ranks' slices follow each other, and their lengths differ by at most one.
    pub fn own_slice(&self, name: &str, elements: usize) -> Range<usize> {
        Divided { name, elements, width: 1 }.slice(self.group().rank(), self.group().ranks())
    }

    /// Returns true if each rank keeps only slices. The slices of a single rank are whole.
    pub(crate) fn is_sliced(&self) -> bool {
        self.partition == Partition::Slices && self.group().ranks() > 1
    }

    pub(crate) fn exchanger(&self) -> Option<&Exchanger> {
        self.shared.exchanger.as_ref()
    }

    pub(crate) fn buffers(&self) -> MutexGuard<'_, Buffers> {
        self.shared.buffers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the group.
    pub fn group(&self) -> &G {
        &self.shared.group
    }

    pub(crate) fn device(&self) -> &D {
        &self.device
    }
}

impl<D: Handle, G: Group> Ranks<D, G> {
    /// Calls the device, without a meeting of ranks.
    pub(crate) fn alone<T>(
        &self,
        call: impl FnOnce(&D) -> Result<T, D::Error>,
    ) -> Result<T, Failed<D>> {
        self.together()?;
        Ok(call(&self.device)?)
    }

    /// Calls an operation of the device, for `forward_ops!`.
    pub(crate) fn forward<T>(
        &self,
        _name: &'static str,
        call: impl FnOnce(&D) -> Result<T, D::Error>,
    ) -> Result<T, Failed<D>> {
        self.alone(call)
    }

    /// Runs this rank's own part of a call in which ranks meet. If it fails, the other ranks get an error in their meeting.
    pub(crate) fn own_part<T>(
        &self,
        work: impl FnOnce(&D) -> Result<T, Failed<D>>,
    ) -> Result<T, Failed<D>> {
        self.together()?;
        let done = work(&self.device);
        if done.is_err() {
            self.tell_failure();
        }
        done
    }

    /// Reports to the other ranks, in their meeting, that this one has failed.
    pub(crate) fn tell_failure(&self) {
        // This rank returns its own error, which says more. The error between ranks is kept for its next call.
        drop(self.meet(Statement::of(Call::Failed, String::new())));
    }

    /// Gathers the bytes of every rank, in the order of ranks. Every rank makes this call. `setting` describes the bytes and is the same on all
    /// ranks.
    ///
    /// # Errors
    ///
    /// Returns an error if ranks make different calls, if their settings differ, or if the group has ended.
    pub fn gather(
        &self,
        setting: impl Into<String>,
        own: &[u8],
    ) -> Result<Vec<Vec<u8>>, Failed<D>> {
        // Here the field for the number of shards has the number of bytes.
        let statement = Statement::of(Call::Gather, setting.into());
        let lengths = self.meet(Statement { shards: own.len(), ..statement })?.shards;
        let mut all = vec![0; lengths.iter().sum()];
        self.kept(self.group().all_gather(own, &lengths, &mut all))?;
        let mut rest = all.into_iter();
        Ok(lengths.iter().map(|len| rest.by_ref().take(*len).collect()).collect())
    }

    /// Meets the other ranks.
    pub(crate) fn meet(&self, own: Statement) -> Result<Met, Failed<D>> {
        self.together()?;
        let number = self.shared.meetings.fetch_add(1, Ordering::Relaxed);
        self.kept(meeting::meet(&self.shared.group, number, own))
    }

    /// Keeps an error between ranks, which every later call returns.
    pub(crate) fn kept<T>(&self, done: Result<T, impl Into<Apart>>) -> Result<T, Failed<D>> {
        done.map_err(|apart| error(self.shared.apart.get_or_init(|| apart.into()).clone()))
    }

    fn together(&self) -> Result<(), Failed<D>> {
        self.shared.apart.get().map_or(Ok(()), |apart| Err(error(apart.clone())))
    }
}

fn error<E>(apart: Apart) -> RanksError<E> {
    match apart {
        Apart::Group(error) => RanksError::Group(error),
        Apart::Desync(error) => RanksError::Desync(error),
    }
}

/// Downloads a found-inf result from the device.
pub(crate) fn read<D: RankDevice>(device: &D, found: &D::Found) -> Result<FoundInf, D::Error> {
    let any = device.upload_state(ScaleState::from_exponent(0))?;
    Ok(device.read(&[found], &any)?.0.pop().unwrap_or_default())
}

impl<D: Handle, G: Group> Handle for Ranks<D, G> {
    type Tensor = D::Tensor;
    type Error = RanksError<D::Error>;
}

impl<D: Clone, G> Clone for Ranks<D, G> {
    fn clone(&self) -> Self {
        let Self { partition, saves_slices, .. } = *self;
        Self { device: self.device.clone(), partition, saves_slices, shared: self.shared.clone() }
    }
}

impl<D, G: Group> fmt::Debug for Ranks<D, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} of {}", self.group().rank(), self.group().ranks())
    }
}
