//! A host tensor of the tests' own, sets of it, and every bit that an optimizer owns.

#![allow(unreachable_pub, reason = "all of it is within the test program")]

#[path = "../../../../tests/rule/all.rs"]
mod all;
#[path = "../../../../tests/host/mod.rs"]
mod host;
#[path = "../../../../tests/rule/mod.rs"]
mod rule;
#[path = "../../../../tests/rule/whole.rs"]
mod whole;

pub(crate) use all::{all_rules, rules};
pub(crate) use host::{Host, round};

use binade_core::{DType, FoundInf, HostDevice, Named, NamedGrads, Overflow};
use binade_master_weights::{
    MasterOptimizer, MasterStore, OptimizerConfig, SavedParameter, UpdateRule,
};

pub const LOW: [DType; 2] = [DType::BF16, DType::F16];
pub const ALL: [DType; 3] = [DType::BF16, DType::F16, DType::F32];

/// Every way of keeping masters.
pub const STORES: [MasterStore; 6] = [
    MasterStore::Copy,
    MasterStore::NoMaster,
    MasterStore::Remainder,
    MasterStore::Stochastic { seed: 0xb1ade },
    MasterStore::Kahan,
    MasterStore::ScaledF16,
];

/// Every store with every type that it takes.
pub fn stores_and_types() -> impl Iterator<Item = (MasterStore, DType)> {
    let pairs = STORES.into_iter().flat_map(|store| ALL.map(|dtype| (store, dtype)));
    pairs.filter(|(store, dtype)| store.takes(*dtype))
}

pub type Optimizer = MasterOptimizer<HostDevice<Host>>;

pub fn params<'a>(
    dtype: DType,
    set: impl IntoIterator<Item = (&'a str, &'a [f32])>,
) -> Vec<Named<Host>> {
    set.into_iter().map(|(name, data)| Named::new(name, Host::new(dtype, data))).collect()
}

pub fn grads<'a>(
    dtype: DType,
    set: impl IntoIterator<Item = (&'a str, &'a [f32])>,
) -> NamedGrads<Host> {
    set.into_iter().map(|(name, data)| Named::new(name, Some(Host::new(dtype, data)))).collect()
}

pub fn optimizer(params: Vec<Named<Host>>, config: OptimizerConfig) -> Optimizer {
    MasterOptimizer::new(HostDevice::new(), params, config).unwrap()
}

/// One parameter, `w`.
pub fn of_one(dtype: DType, data: &[f32], config: OptimizerConfig) -> Optimizer {
    optimizer(params(dtype, [("w", data)]), config)
}

pub fn config(rule: UpdateRule) -> OptimizerConfig {
    OptimizerConfig::new(rule).unwrap()
}

/// Nothing was found.
pub fn fine() -> FoundInf {
    FoundInf::default()
}

/// Every way in which a finding is raised.
pub fn raised() -> [FoundInf; 2] {
    let overflow = Overflow {
        parameter: "w".into(),
        index: 0,
        rank: None,
        scaled: f32::INFINITY,
        unscaled: f32::INFINITY,
    };
    [
        FoundInf { overflow: Some(overflow), infinities: 1, ..fine() },
        FoundInf { halted: true, ..fine() },
    ]
}

/// Values within ±4 that differ from seed to seed: the upper bits of splitmix64.
#[expect(clippy::cast_precision_loss, reason = "24 bits fit")]
pub fn values(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) >> 40
    };
    (0..count).map(|_| next() as f32 / 2_097_152.0 - 4.0).collect()
}

/// Every bit that an optimizer owns.
pub fn bits(optimizer: &Optimizer) -> Vec<SavedParameter> {
    optimizer.save().expect("a host tensor")
}

/// The `f32` values that the next step of the parameter `w` starts from.
pub fn masters(optimizer: &Optimizer) -> Vec<f32> {
    optimizer.export_f32().expect("a host tensor").swap_remove(0).value
}
