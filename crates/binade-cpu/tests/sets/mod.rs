//! Sets of parameters and gradients, the same for the CPU and for the plain loop that it is compared with.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

#[path = "../../../../tests/rule/all.rs"]
mod all;
#[path = "../../../../tests/rule/mod.rs"]
mod rule;
#[path = "../../../../tests/rule/whole.rs"]
mod whole;

pub(crate) use all::{all_rules, rules};
use binade_core::{
    AmpTensor, DType, FoundInf, GradSet as _, HostDevice, HostTensor, Named, NamedGrads,
};
use binade_cpu::{Cpu, Gradients, Tensor};
use binade_grad_scaler::{GradScaler, ScaleState};
use binade_master_weights::{MasterStore, OptimizerConfig, UpdateRule};

pub const ALL: [DType; 3] = [DType::BF16, DType::F16, DType::F32];

/// Ways of keeping masters.
pub const STORES: [MasterStore; 6] = [
    MasterStore::Copy,
    MasterStore::NoMaster,
    MasterStore::Remainder,
    MasterStore::Stochastic { seed: 0xb1ade },
    MasterStore::Kahan,
    MasterStore::ScaledF16,
];

/// Number of elements that the CPU gives one thread at a time.
pub const BLOCK: usize = 1 << 14;

/// Lengths around those at which loops are cut: lanes, blocks, and the cost of a second thread (2^17).
pub const LENGTHS: [usize; 10] =
    [0, 1, 7, 8, 9, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5, 9 * BLOCK + 1];

/// Handle of the plain loop.
pub const NATIVE: HostDevice<HostTensor> = HostDevice::new();

/// One tensor: its type and its values.
#[derive(Clone, Debug)]
pub struct Part {
    pub dtype: DType,
    pub data: Vec<f32>,
}

/// Stream of bits: splitmix64.
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.bits() % limit as u64).unwrap()
    }

    /// Returns a value of either sign from 2^-10 to 2^6, every binade as often.
    pub fn value(&mut self) -> f32 {
        let bits = self.bits();
        let exponent = u32::try_from(bits >> 32 & 15).unwrap() + 127 - 10;
        let [sign, fraction] = [bits >> 63, bits & 0x007f_ffff].map(|x| u32::try_from(x).unwrap());
        f32::from_bits(sign << 31 | exponent << 23 | fraction)
    }

    pub fn part(&mut self, dtype: DType, len: usize) -> Part {
        Part { dtype, data: (0..len).map(|_| self.value()).collect() }
    }

    /// Returns some tensors of mixed types and lengths.
    pub fn set(&mut self) -> Vec<Part> {
        let part = |random: &mut Self| {
            let (dtype, len) = (ALL[random.below(3)], LENGTHS[random.below(LENGTHS.len())]);
            random.part(dtype, len)
        };
        (0..=self.below(8)).map(|_| part(self)).collect()
    }

    /// Returns gradients as long as the parameters of `set`, in types of their own.
    pub fn grads_for(&mut self, set: &[Part]) -> Vec<Part> {
        let mut grad = |part: &Part| {
            let dtype = ALL[self.below(3)];
            self.part(dtype, part.data.len())
        };
        set.iter().map(&mut grad).collect()
    }
}

/// Returns the name of a parameter: its number.
pub fn name(index: usize) -> String {
    format!("layer.{index}")
}

fn named<T>(set: &[Part], make: impl Fn(&Part) -> T) -> Vec<Named<T>> {
    set.iter().enumerate().map(|(i, part)| Named::new(name(i), make(part))).collect()
}

pub fn tensor(part: &Part) -> Tensor {
    Tensor::from_f32(part.data.clone(), &[part.data.len()], part.dtype).unwrap()
}

pub fn params(set: &[Part]) -> Vec<Named<Tensor>> {
    named(set, tensor)
}

fn host(part: &Part) -> HostTensor {
    HostTensor::from(part.data.clone()).cast(part.dtype).unwrap()
}

pub fn native_params(set: &[Part]) -> Vec<Named<HostTensor>> {
    named(set, host)
}

pub fn grads(set: &[Part]) -> Gradients {
    named(set, |part| Some(tensor(part))).into()
}

pub fn native_grads(set: &[Part]) -> NamedGrads<HostTensor> {
    named(set, |part| Some(host(part)))
}

/// Returns one gradient, in f32.
pub fn one(data: &[f32]) -> Gradients {
    grads(&[Part { dtype: DType::F32, data: data.to_vec() }])
}

/// Returns the materialised values as bits; `None` for a missing gradient.
pub fn values(grads: &Gradients) -> Vec<Option<Vec<u32>>> {
    let plain = Cpu.materialise(grads.clone()).unwrap();
    plain.iter().map(|grad| grad.value.as_ref().map(f32_bits)).collect()
}

pub fn native_values(grads: &NamedGrads<HostTensor>) -> Vec<Option<Vec<u32>>> {
    let bits = |host: &HostTensor| host.to_f32().into_iter().map(f32::to_bits).collect();
    grads.iter().map(|grad| grad.value.as_ref().map(bits)).collect()
}

pub fn f32_bits(tensor: &Tensor) -> Vec<u32> {
    tensor.as_slice::<f32>().expect("f32").iter().map(|x| x.to_bits()).collect()
}

/// Returns all fields of a finding, as bits, NaNs all alike.
pub fn said(found: &FoundInf) -> String {
    let bits = |x: f32| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() };
    let overflow = found.overflow.as_ref();
    let first = overflow.map(|o| (o.parameter.clone(), o.index, bits(o.scaled), bits(o.unscaled)));
    let FoundInf { infinities, nans, magnitude, norm, halted, missing, .. } = found;
    let (magnitude, norm) = (bits(*magnitude), norm.map(bits));
    format!("{first:?} {infinities} {nans} {magnitude} {norm:?} {halted} {missing:?}")
}

pub fn scale(exponent: i32) -> ScaleState {
    ScaleState::from_exponent(exponent)
}

/// Returns a set unscaled by `2^exponent`, with its finding.
pub fn unscaled(set: &[Part], exponent: i32) -> (Gradients, FoundInf) {
    let mut grads = grads(set);
    let found = Cpu.unscale(&mut grads, &scale(exponent)).unwrap();
    (grads, found)
}

pub fn native_unscaled(set: &[Part], exponent: i32) -> (NamedGrads<HostTensor>, FoundInf) {
    let mut grads = native_grads(set);
    let found = NATIVE.unscale(&mut grads, &scale(exponent)).unwrap();
    (grads, found)
}

/// Returns the results of `work` on one thread, on two and on three.
pub fn in_pools<R: Send>(work: impl Fn() -> R + Sync) -> [R; 3] {
    [1, 2, 3].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(&work)
    })
}

pub fn config(rule: UpdateRule) -> OptimizerConfig {
    OptimizerConfig::new(rule).unwrap()
}
