//! Devices that train, and the same training on two of them.

use crate::support::{Gpu, HAS_THE_CPUS_NORMS};
use binade_core::ops::{Ops, Upload};
use binade_core::{DType, Error, GradSet, Handle, Named, Optimizer as _};
use binade_cpu::Cpu;
use binade_grad_scaler::{GradOps, Loss, ScaleState};
use binade_master_weights::{
    HostMasters, HostParamState, MasterOptimizer, MasterStore, OptimizerConfig, Sgd, Snapshot,
};
use libtest_mimic::Failed;

pub(crate) type Result<T = (), E = Failed> = std::result::Result<T, E>;

/// A device with all abilities, whose tensors can be compared bit by bit.
pub(crate) trait Device:
    Upload
    + Ops
    + GradOps<
        Tensor: Loss<Self, Error = <Self as Handle>::Error>,
        Params = Vec<Named<<Self as Handle>::Tensor>>,
        Grads: From<Vec<Named<Option<<Self as Handle>::Tensor>>>> + Clone,
    > + Snapshot
    + Clone
    + 'static
{
    fn bits(&self, tensor: &Self::Tensor) -> Vec<u8>;
}

/// A device's set of gradients.
pub(crate) type Grads<D> = <D as GradSet>::Grads;

/// A device's finding of a pass.
pub(crate) type Found<D> = <D as GradSet>::Found;

impl Device for Gpu {
    fn bits(&self, tensor: &Self::Tensor) -> Vec<u8> {
        self.to_bits(tensor).unwrap()
    }
}

impl Device for Cpu {
    fn bits(&self, tensor: &Self::Tensor) -> Vec<u8> {
        tensor.to_bits()
    }
}

/// A vector of these values.
pub(crate) fn vector<D: Device>(device: &D, values: &[f32], dtype: DType) -> D::Tensor {
    device.upload(values, &[values.len()], dtype).unwrap()
}

/// Values between -1 and 1, the same for the same seed.
pub(crate) fn noise(seed: u64, len: usize) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..len).map(|_| random.f32() * 2.0 - 1.0).collect()
}

/// Multiples of 1/64 between -2 and 2.
pub(crate) fn coarse(seed: u64, len: usize) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..len).map(|_| f32::from(random.i16(-128..=128)) / 64.0).collect()
}

/// Values between `low` and twice that, of the same signs whatever the seed: sums of them do not cancel.
pub(crate) fn calm(seed: u64, len: usize, low: f32) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(seed);
    let sign = |place: usize| if place % 3 == 1 { -1.0 } else { 1.0 };
    (0..len).map(|place| sign(place) * low * (1.0 + random.f32())).collect()
}

/// Panics where a value is more than so many units in the last place of the other away.
pub(crate) fn assert_near(got: &[f32], want: &[f32], units: u8, what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    for (index, (got, want)) in got.iter().zip(want).enumerate() {
        let unit = want.abs().next_up() - want.abs();
        let room = unit * f32::from(units);
        assert!((got - want).abs() <= room, "{what}: {got} for {want} at {index}");
    }
}

/// A rule all of whose arithmetic on [`coarse`] values is exact, so that every device has the CPU's bits.
pub(crate) fn exact() -> Sgd {
    Sgd { lr: 0.5, momentum: 0.5, dampening: 0.5, weight_decay: 0.25, nesterov: false }
}

/// Every store.
pub(crate) const STORES: [MasterStore; 6] = [
    MasterStore::Copy,
    MasterStore::NoMaster,
    MasterStore::Remainder,
    MasterStore::Stochastic { seed: 0xfedc_ba98_7654_3210 },
    MasterStore::Kahan,
    MasterStore::ScaledF16,
];

/// A set of gradients, those without values being missing.
pub(crate) fn set<D: Device>(
    device: &D,
    grads: &[(&str, Option<Vec<f32>>)],
    dtype: DType,
) -> Grads<D> {
    let one = |(name, values): &(&str, Option<Vec<f32>>)| {
        Named::new(*name, values.as_ref().map(|values| vector(device, values, dtype)))
    };
    grads.iter().map(one).collect::<Vec<_>>().into()
}

/// An optimizer of parameters with these values.
pub(crate) fn optimizer<D: Device>(
    device: &D,
    params: &[(&str, Vec<f32>)],
    dtype: DType,
    config: OptimizerConfig,
) -> MasterOptimizer<D> {
    let param =
        |(name, values): &(&str, Vec<f32>)| Named::new(*name, vector(device, values, dtype));
    let params = params.iter().map(param).collect();
    MasterOptimizer::new(device.clone(), params, config).unwrap()
}

/// A step of `f32` gradients that were made at a scale of 2^10, so that drivers that flush subnormals see none.
pub(crate) fn step<D: Device>(
    device: &D,
    optimizer: &mut MasterOptimizer<D>,
    grads: &[(&str, Vec<f32>)],
) -> Result {
    step_in(DType::F32, device, optimizer, grads)
}

/// A step of gradients of this type that were made at a scale of 2^10.
pub(crate) fn step_in<D: Device>(
    dtype: DType,
    device: &D,
    optimizer: &mut MasterOptimizer<D>,
    grads: &[(&str, Vec<f32>)],
) -> Result {
    let scaled = |values: &Vec<f32>| values.iter().map(|x| x * 1024.0).collect();
    let grads: Vec<_> = grads.iter().map(|(name, values)| (*name, Some(scaled(values)))).collect();
    step_with(device, optimizer, set(device, &grads, dtype), 10)
}

/// A step of gradients that were made at a scale of two to this power.
pub(crate) fn step_with<D: Device>(
    device: &D,
    optimizer: &mut MasterOptimizer<D>,
    mut grads: Grads<D>,
    exponent: i32,
) -> Result {
    let scale = device.upload_state(ScaleState::from_exponent(exponent)).map_err(told)?;
    let found = device.unscale(&mut grads, &scale).map_err(told)?;
    Ok(optimizer.step(grads, &found).map_err(told)?)
}

/// An optimizer here, and the same on the CPU.
pub(crate) struct Compared {
    pub(crate) gpu: MasterOptimizer<Gpu>,
    pub(crate) cpu: MasterOptimizer<Cpu>,
}

impl Compared {
    pub(crate) fn new(
        gpu: &Gpu,
        params: &[(&str, Vec<f32>)],
        dtype: DType,
        config: &OptimizerConfig,
    ) -> Self {
        let gpu = optimizer(gpu, params, dtype, config.clone());
        Self { gpu, cpu: optimizer(&Cpu, params, dtype, config.clone()) }
    }

    /// Steps both with gradients of this type.
    pub(crate) fn step(&mut self, dtype: DType, grads: &[(&str, Vec<f32>)]) -> Result {
        step_in(dtype, &self.gpu.device().clone(), &mut self.gpu, grads)?;
        step_in(dtype, &Cpu, &mut self.cpu, grads)
    }

    /// Asserts that parameters, and what is kept beside them, have the same bits.
    pub(crate) fn assert_same(&self, what: &str) -> Result {
        for (got, want) in self.gpu.params.iter().zip(&self.cpu.params) {
            let name = &*got.name;
            assert_eq!(there(&self.gpu, name)?, here(self.cpu.masters(), name), "{what} `{name}`");
            let bits = self.gpu.device().to_bits(&got.value)?;
            assert_eq!(bits, want.value.to_bits(), "{what} `{name}`");
        }
        self.assert_same_counts(what)
    }

    /// Asserts that masters agree after a step by norms of whole tensors: to the bit, or within the rounding of quotients and roots, and
    /// of what the store keeps.
    pub(crate) fn assert_agrees(&self, what: &str) -> Result {
        if HAS_THE_CPUS_NORMS {
            return self.assert_same(what);
        }
        let room = match self.cpu.config().store {
            MasterStore::Copy | MasterStore::Remainder => 2.0_f32.powi(-20),
            MasterStore::Kahan => 2.0_f32.powi(-14),
            // Two roundings of f16.
            MasterStore::ScaledF16 => 2.0_f32.powi(-9),
            _ => 2.0_f32.powi(-7),
        };
        let names = self.gpu.params.iter().map(|param| &*param.name);
        for (name, (got, want)) in names.zip(values(&self.gpu)?.iter().zip(values(&self.cpu)?)) {
            assert_eq!(there(&self.gpu, name)?.applied, here(self.cpu.masters(), name).applied);
            for (got, want) in got.iter().zip(want) {
                let room = room * want.abs().max(1.0);
                assert!((got - want).abs() <= room, "{what} `{name}`: {got} for {want}");
            }
        }
        Ok(())
    }

    /// Asserts that as many updates were lost.
    pub(crate) fn assert_same_counts(&self, what: &str) -> Result {
        let got = self.gpu.masters().lost_updates(self.gpu.device())?;
        assert_eq!(got, self.cpu.masters().lost_updates(), "{what}");
        Ok(())
    }
}

/// An error's words, where its type is any.
pub(crate) fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// A slot of the CPU's.
pub(crate) fn here(masters: &HostMasters, name: &str) -> HostParamState {
    masters.get(name).unwrap().clone()
}

/// A slot of the device's.
pub(crate) fn there(optimizer: &MasterOptimizer<Gpu>, name: &str) -> Result<HostParamState> {
    Ok(optimizer.masters().read(optimizer.device(), name)?.ok_or("a slot")?)
}

/// The master values of each parameter.
pub(crate) fn values<D: Device>(optimizer: &MasterOptimizer<D>) -> Result<Vec<Vec<f32>>> {
    let exported = optimizer.export_f32().map_err(told)?;
    Ok(exported.into_iter().map(|one| one.value).collect())
}

/// The kind of an error, for results that must be refused.
pub(crate) fn kind<T, E: Error>(result: Result<T, E>) -> binade_core::ErrorKind {
    match result {
        Ok(_) => panic!("this must be refused"),
        Err(error) => error.kind(),
    }
}

/// A vector whose first element is `offset` elements into its buffer.
pub(crate) fn shifted(
    gpu: &Gpu,
    values: &[f32],
    dtype: DType,
    offset: usize,
) -> <Gpu as Handle>::Tensor {
    let padded = [&vec![f32::NAN; offset][..], values].concat();
    vector(gpu, &padded, dtype).slice(offset, values.len()).unwrap()
}

/// True if `BINADE_REQUIRE` has one of these names.
pub(crate) fn is_required(names: &[&str]) -> bool {
    let required = std::env::var("BINADE_REQUIRE").unwrap_or_default();
    required.split(',').any(|name| names.contains(&name.trim()))
}
