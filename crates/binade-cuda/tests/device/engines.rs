//! Engines that connect ranks, and training on ranks that are threads.

use crate::support::{Result, noise};
use binade_core::ops::Upload;
use binade_core::{DType, Handle, Named, NamedGrads};
use binade_cuda::{Communicator, Cuda, CudaRank, Error, Tensor, cudarc::driver::CudaContext};
use binade_grad_scaler::{GradOps, Loss, LossScale, Scaler, Step, StepOutcome};
use binade_master_weights::{MasterOptimizer, OptimizerConfig, Snapshot, UpdateRule};
use std::{fmt::Display, thread, time::Duration};

/// Time within which every test ends by far.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

pub(crate) const NAMES: [&str; 3] = ["a", "b", "c"];
pub(crate) const LENGTHS: [usize; 3] = [3000, 5, 66];
pub(crate) const TYPES: [DType; 3] = [DType::F16, DType::BF16, DType::F32];

/// Engine that connects ranks.
pub(crate) trait Engine {
    /// Number of ranks that a device can be.
    const RANKS_A_DEVICE: usize;
    /// True if a step of several ranks can be captured.
    const CAPTURES: bool;

    /// Calls `run` with the communicator of each rank, in a thread of its own, and returns their results in order.
    fn connect<T: Send>(
        devices: Vec<Cuda>,
        patience: Duration,
        run: impl Fn(Result<Communicator, Error>) -> T + Sync,
    ) -> Vec<T>;
}

/// Copies between devices of this process.
pub(crate) struct Peers;

impl Engine for Peers {
    const RANKS_A_DEVICE: usize = 2;
    const CAPTURES: bool = false;

    fn connect<T: Send>(
        devices: Vec<Cuda>,
        patience: Duration,
        run: impl Fn(Result<Communicator, Error>) -> T + Sync,
    ) -> Vec<T> {
        let ranks = Communicator::peers(devices, patience);
        in_threads(ranks, |communicator| run(Ok(communicator)))
    }
}

/// NCCL.
#[cfg(feature = "nccl")]
pub(crate) struct Nccl;

#[cfg(feature = "nccl")]
impl Engine for Nccl {
    const RANKS_A_DEVICE: usize = 1;
    const CAPTURES: bool = true;

    fn connect<T: Send>(
        devices: Vec<Cuda>,
        patience: Duration,
        run: impl Fn(Result<Communicator, Error>) -> T + Sync,
    ) -> Vec<T> {
        let (id, ranks) = (Communicator::nccl_id().unwrap(), devices.len());
        in_threads(devices.into_iter().enumerate(), |(rank, cuda)| {
            run(Communicator::nccl(&cuda, id, [rank, ranks], patience))
        })
    }
}

/// Lists of tests, by the names of their functions: for each engine one.
#[macro_export]
macro_rules! by_engine {
    ($($name:ident),* $(,)?) => {
        pub(crate) const PEERS: &[$crate::shared::Test] =
            &[$((stringify!($name), $name::<$crate::engines::Peers>)),*];
        #[cfg(feature = "nccl")]
        pub(crate) const NCCL: &[$crate::shared::Test] =
            &[$((stringify!($name), $name::<$crate::engines::Nccl>)),*];
    };
}

pub(crate) fn in_threads<A: Send, T: Send>(
    all: impl IntoIterator<Item = A>,
    run: impl Fn(A) -> T + Sync,
) -> Vec<T> {
    thread::scope(|scope| {
        let run = &run;
        let running: Vec<_> = all.into_iter().map(|one| scope.spawn(move || run(one))).collect();
        running.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

fn devices() -> usize {
    CudaContext::device_count().map_or(0, |count| usize::try_from(count).unwrap())
}

/// Returns handles of as many devices, some of them of one.
pub(crate) fn opened(ranks: usize) -> Vec<Cuda> {
    (0..ranks).map(|rank| Cuda::open(rank % devices()).unwrap()).collect()
}

/// Returns the numbers of ranks that there are devices for.
pub(crate) fn counts<E: Engine>() -> impl Iterator<Item = usize> {
    [1, 2, 4].into_iter().filter(|ranks| *ranks <= devices() * E::RANKS_A_DEVICE)
}

/// Runs each rank in a thread of its own, and returns their results in order.
pub(crate) fn each<E: Engine, T: Send>(ranks: usize, run: impl Fn(CudaRank) -> T + Sync) -> Vec<T> {
    E::connect(opened(ranks), PATIENCE, |communicator| {
        run(CudaRank::new(communicator.unwrap()).unwrap())
    })
}

/// Returns the gradients of a rank in step `number`, of three types.
pub(crate) fn backward<D: Upload>(device: &D, number: u64, rank: usize) -> NamedGrads<D::Tensor>
where
    D::Error: Display,
{
    let one = |at: usize| {
        let values = noise(1000 * number + 10 * rank as u64 + at as u64, LENGTHS[at]);
        let value = device.upload(&values, &[LENGTHS[at]], TYPES[at]);
        Named::new(NAMES[at], Some(value.unwrap_or_else(|error| panic!("{error}"))))
    };
    (0..3).map(one).collect()
}

/// Training on any device.
pub(crate) struct Run<D: Snapshot + GradOps> {
    device: D,
    pub(crate) scaler: Scaler<D>,
    pub(crate) optimizer: MasterOptimizer<D>,
    loss: D::Tensor,
}

impl<D> Run<D>
where
    D: Upload
        + GradOps<
            Tensor: Loss<D, Error = <D as Handle>::Error>,
            Params = Vec<Named<<D as Handle>::Tensor>>,
            Grads: From<NamedGrads<<D as Handle>::Tensor>>,
        > + Snapshot
        + Clone
        + 'static,
{
    pub(crate) fn new(device: &D, first: u64) -> Self {
        let params = backward(device, first, 0).into_iter();
        let params = params.filter_map(|Named { name, value }| Some(Named { name, value: value? }));
        let config = OptimizerConfig::new(UpdateRule::adamw(1e-2)).unwrap();
        let scale = LossScale::dynamic().with_growth_interval(3).unwrap();
        Self {
            device: device.clone(),
            scaler: Scaler::new(device.clone(), scale).unwrap(),
            optimizer: MasterOptimizer::new(device.clone(), params.collect(), config).unwrap(),
            loss: device.upload(&[1.0], &[1], DType::F32).unwrap(),
        }
    }

    pub(crate) fn step(
        &mut self,
        grads: NamedGrads<D::Tensor>,
    ) -> Result<StepOutcome<D>, D::Error> {
        let grads = self.scaler.scale(&self.loss)?.backward(|_| Ok(grads.into()))?.unscale()?;
        let step = grads.clip_value(1e-5)?.step(&mut self.optimizer)?;
        self.scaler.update(step)
    }

    /// Returns masters, moments and parameters as a checkpoint has them.
    pub(crate) fn saved(&self) -> String {
        let saved = self.device.save(&self.optimizer.params, self.optimizer.masters()).unwrap();
        format!("{saved:?}")
    }
}

/// Returns the scale and the overflow of a step.
pub(crate) fn said(step: &Step) -> String {
    let report = step.report();
    let finding = &report.steps[0].parts[0].finding;
    format!("{:?} {:?} {}", report.scale, finding.overflow, finding.magnitude)
}

/// Returns the error of an outcome.
pub(crate) fn failed<T>(outcome: Result<T, Error>) -> String {
    outcome.err().map_or_else(|| "no error".to_owned(), |error| error.to_string())
}

/// Clips by a norm, in the place of a step's other settings.
pub(crate) fn clip(
    run: &mut Run<CudaRank>,
    max: f32,
    grads: NamedGrads<Tensor>,
) -> Result<StepOutcome<CudaRank>, Error> {
    let grads = run.scaler.scale(&run.loss)?.backward(|_| Ok(grads.into()))?.unscale()?;
    let step = grads.clip_norm(max)?.step(&mut run.optimizer)?;
    run.scaler.update(step)
}
