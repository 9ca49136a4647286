//! Skipped steps change no byte of parameters, masters or moments.

use crate::sets;

use binade_core::{DType, FoundInf, Named, Optimizer as _, Overflow};
use binade_cpu::{Cpu, Tensor};

use binade_master_weights::MasterOptimizer;
use sets::{ALL, Random, STORES, config, name, params, rules, unscaled};

/// Type, shape and bytes of a parameter, and its slot's state as bits.
type Bytes = (DType, Vec<usize>, Vec<u8>, Vec<(&'static str, Vec<u8>)>, u64);

fn bytes(optimizer: &MasterOptimizer<Cpu>) -> Vec<Bytes> {
    let one = |param: &Named<Tensor>| {
        let slot = optimizer.masters().get(&param.name).expect("kept");
        let kept = slot.kept().into_iter().map(|kept| (kept.kind.name(), kept.values.to_bytes()));
        let tensor = &param.value;
        let shape = tensor.shape().to_vec();
        (tensor.dtype(), shape, tensor.to_bits(), kept.collect(), slot.applied)
    };
    optimizer.params.iter().map(one).collect()
}

fn stamps(optimizer: &MasterOptimizer<Cpu>) -> Vec<u64> {
    optimizer.params.iter().map(|param| param.value.stamp()).collect()
}

fn overflow() -> FoundInf {
    let (scaled, unscaled) = (f32::INFINITY, f32::INFINITY);
    let overflow = Overflow { parameter: name(0).into(), index: 0, scaled, unscaled };
    FoundInf { overflow: Some(overflow), infinities: 1, ..FoundInf::default() }
}

#[test]
fn a_raised_finding_leaves_every_byte_and_every_stamp_alone() {
    let halted = FoundInf { halted: true, ..FoundInf::default() };
    for (rule, store) in rules().into_iter().flat_map(|r| STORES.map(|s| (r, s))) {
        let dtypes = ALL.into_iter().filter(|dtype| store.takes(*dtype));
        let set: Vec<_> = dtypes.map(|dtype| Random(7).part(dtype, 100)).collect();
        let config = config(rule).with_store(store);
        let mut optimizer = MasterOptimizer::new(Cpu, params(&set), config).unwrap();
        let (grads, found) = unscaled(&set, 3);
        optimizer.step(grads.clone(), &found).unwrap();
        let before = (bytes(&optimizer), stamps(&optimizer));
        for found in [&overflow(), &halted] {
            optimizer.step(grads.clone(), found).unwrap();
            assert!((bytes(&optimizer), stamps(&optimizer)) == before, "{rule:?} {store:?}");
        }
        optimizer.step(grads, &FoundInf::default()).unwrap();
        assert!(bytes(&optimizer) != before.0, "{rule:?} {store:?}: nothing moves at all");
    }
}
