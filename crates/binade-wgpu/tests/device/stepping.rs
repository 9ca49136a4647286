//! Optimizers on the device and on the CPU, stepped alike.

use crate::support::{Device, Found, Grads, Result, set, vector};
use binade_core::{DType, Handle, Named, Optimizer as _};
use binade_grad_scaler::ScaleState;
use binade_master_weights::{
    Adam, HostMasters, MasterOptimizer, MasterStore, MasterWeights, Plan, Sgd, Slot, Snapshot,
    UpdateRule,
};
use binade_wgpu::Wgpu;

/// A device that steps.
pub(crate) trait Trains:
    Device + MasterWeights<Params = Vec<Named<<Self as Handle>::Tensor>>> + Snapshot
{
}

impl<D> Trains for D where
    D: Device + MasterWeights<Params = Vec<Named<<D as Handle>::Tensor>>> + Snapshot
{
}

/// Every store that has a shader.
pub(crate) const STORES: [MasterStore; 6] = [
    MasterStore::Copy,
    MasterStore::NoMaster,
    MasterStore::Remainder,
    MasterStore::Stochastic { seed: 0xfedc_ba98_7654_3210 },
    MasterStore::Kahan,
    MasterStore::ScaledF16,
];

/// Each of them with each low type that it takes.
pub(crate) fn stores_and_types() -> impl Iterator<Item = (MasterStore, DType)> {
    let pairs =
        STORES.into_iter().flat_map(|store| [DType::BF16, DType::F16].map(|low| (store, low)));
    pairs.filter(|(store, low)| store.takes(*low))
}

/// Every way that SGD is told apart.
pub(crate) fn descents() -> Vec<Sgd> {
    let plain = Sgd { lr: 0.1, momentum: 0.0, dampening: 0.0, weight_decay: 0.0, nesterov: false };
    let momentum = Sgd { momentum: 0.9, ..plain };
    vec![
        plain,
        Sgd { weight_decay: 0.01, ..plain },
        momentum,
        Sgd { dampening: 0.3, ..momentum },
        Sgd { nesterov: true, ..momentum },
        Sgd { dampening: 0.1, weight_decay: 0.05, ..momentum },
        Sgd { weight_decay: 0.05, nesterov: true, ..momentum },
    ]
}

/// Every way that Adam is.
pub(crate) fn adams() -> Vec<Adam> {
    let plain = Adam {
        lr: 0.01,
        betas: [0.9, 0.999],
        eps: 1e-8,
        weight_decay: 0.0,
        decoupled: false,
        amsgrad: false,
    };
    vec![
        plain,
        Adam { betas: [0.3, 0.6], ..plain },
        Adam { weight_decay: 0.01, ..plain },
        Adam { amsgrad: true, ..plain },
        Adam { weight_decay: 0.05, decoupled: true, ..plain },
        Adam { weight_decay: 0.05, decoupled: true, amsgrad: true, ..plain },
    ]
}

/// All of them.
pub(crate) fn rules() -> Vec<UpdateRule> {
    let sgd = descents().into_iter().map(UpdateRule::Sgd);
    sgd.chain(adams().into_iter().map(UpdateRule::Adam)).collect()
}

/// A rule all of whose arithmetic on [`coarse`] values is exact.
pub(crate) fn exact() -> Sgd {
    Sgd { lr: 0.5, momentum: 0.5, dampening: 0.5, weight_decay: 0.25, nesterov: false }
}

/// So many multiples of 1/64 between -2 and 2.
pub(crate) fn coarse(seed: u64, len: usize) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..len).map(|_| f32::from(random.i16(-128..=128)) / 64.0).collect()
}

/// So many values between `low` and twice that, of the signs that `calm` always gives: sums of them do not cancel.
pub(crate) fn calm(seed: u64, len: usize, low: f32) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(seed);
    let sign = |place: usize| if place % 3 == 1 { -1.0 } else { 1.0 };
    (0..len).map(|place| sign(place) * low * (1.0 + random.f32())).collect()
}

/// An optimizer of parameters with these values.
pub(crate) fn optimizer<D: Trains>(
    device: &D,
    params: &[(&str, Vec<f32>)],
    dtype: DType,
    plan: Plan,
) -> MasterOptimizer<D> {
    let param =
        |(name, values): &(&str, Vec<f32>)| Named::new(*name, vector(device, values, dtype));
    let params = params.iter().map(param).collect();
    MasterOptimizer::new(device.clone(), params, plan).unwrap()
}

/// A step of gradients of this type that were made at a scale of 2^10.
pub(crate) fn step_in<D: Trains>(
    dtype: DType,
    device: &D,
    optimizer: &mut MasterOptimizer<D>,
    grads: &[(&str, Vec<f32>)],
) -> Result {
    let scaled = |values: &Vec<f32>| values.iter().map(|x| x * 1024.0).collect();
    let grads: Vec<_> = grads.iter().map(|(name, values)| (*name, Some(scaled(values)))).collect();
    step_with(device, optimizer, set(device, &grads, dtype), 10)
}

/// The same of `f32`.
pub(crate) fn step<D: Trains>(
    device: &D,
    optimizer: &mut MasterOptimizer<D>,
    grads: &[(&str, Vec<f32>)],
) -> Result {
    step_in(DType::F32, device, optimizer, grads)
}

/// A step of gradients that were made at a scale of two to this power.
pub(crate) fn step_with<D: Trains>(
    device: &D,
    optimizer: &mut MasterOptimizer<D>,
    mut grads: Grads<D>,
    exponent: i32,
) -> Result {
    let scale = device.upload_state(ScaleState::from_exponent(exponent));
    let scale = scale.map_err(|error| error.to_string())?;
    let found: Found<D> = device.unscale(&mut grads, &scale).map_err(|error| error.to_string())?;
    Ok(optimizer.step(grads, &found).map_err(|error| error.to_string())?)
}

/// A slot of the CPU's.
pub(crate) fn here(masters: &HostMasters, name: &str) -> Slot {
    masters.get(name).unwrap().clone()
}

/// One of the device's.
pub(crate) fn there(optimizer: &MasterOptimizer<Wgpu>, name: &str) -> Result<Slot> {
    Ok(optimizer.masters().read(optimizer.device(), name)?.ok_or("a slot")?)
}

/// The master values of each parameter.
pub(crate) fn values<D: Trains>(optimizer: &MasterOptimizer<D>) -> Result<Vec<Vec<f32>>> {
    let exported = optimizer.export_f32().map_err(|error| error.to_string())?;
    Ok(exported.into_iter().map(|one| one.value).collect())
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

/// A vector whose first element is `offset` elements into its buffer.
pub(crate) fn shifted(
    wgpu: &Wgpu,
    values: &[f32],
    dtype: DType,
    offset: usize,
) -> binade_wgpu::Tensor {
    let padded: Vec<f32> =
        std::iter::repeat_n(f32::NAN, offset).chain(values.iter().copied()).collect();
    vector(wgpu, &padded, dtype).slice(offset, values.len()).unwrap()
}

/// Names and lengths of parameters.
pub(crate) const NAMES: [(&str, usize); 4] =
    [("weight", 261), ("bias", 37), ("norm", 23), ("none", 0)];

/// Parameters of calm values.
pub(crate) fn params(seed: u64) -> Vec<(&'static str, Vec<f32>)> {
    NAMES.map(|(name, len)| (name, calm(seed, len, 1.0))).into()
}

/// Gradients that move them away from zero.
pub(crate) fn grads(seed: u64) -> Vec<(&'static str, Vec<f32>)> {
    NAMES.map(|(name, len)| (name, calm(seed, len, 0.5).iter().map(|x| -x).collect())).into()
}
