//! Optimizers and gradients as bytes and as f32: restored bit for bit, and joined by more parameters.

use crate::sets;

use binade_core::{DType, FoundInf, Named, Optimizer as _, RawTensor};
use binade_cpu::{Cpu, Tensor};
use binade_master_weights::{MasterOptimizer, MasterStore, OptimizerConfig, UpdateRule};
use sets::{ALL, Part, Random, STORES, config, grads, name, params};

/// Runs a step with gradients that the seed decides.
fn step(optimizer: &mut MasterOptimizer<Cpu>, set: &[Part], seed: u64) {
    let grads = grads(&Random(seed).grads_for(set));
    optimizer.step(grads, &FoundInf::default()).unwrap();
}

#[test]
fn a_parameter_that_joins_is_stored_and_moved_as_if_it_had_been_there() {
    let config = config(UpdateRule::adamw(0.1)).with_storage(DType::F16);
    let set = [1, 2].map(|seed| Random(seed).part(DType::F32, 5));
    let started = |set: &[Part]| MasterOptimizer::new(Cpu, params(set), config.clone()).unwrap();
    let (mut whole, mut joined) = (started(&set), started(&set[..1]));
    joined.join(params(&set).split_off(1), config.clone()).unwrap();
    assert_eq!(joined.params[1].value.dtype(), DType::F16);
    step(&mut whole, &set, 3);
    step(&mut joined, &set, 3);
    assert_eq!(joined.save().unwrap(), whole.save().unwrap());
}

/// Returns the exported values of ones that have moved by less than sixteen bits hold.
fn exported(dtype: DType, config: OptimizerConfig) -> Vec<Named<Vec<f32>>> {
    let set = [Part { dtype, data: vec![1.0; 3] }];
    let mut optimizer = MasterOptimizer::new(Cpu, params(&set), config).unwrap();
    optimizer.step(grads(&set), &FoundInf::default()).unwrap();
    optimizer.export_f32().unwrap()
}

#[test]
fn the_f32_values_are_the_masters_where_there_are_any_and_the_stored_ones_elsewhere() {
    for (dtype, store) in ALL.into_iter().flat_map(|dtype| STORES.map(|store| (dtype, store))) {
        let kept = matches!(store, MasterStore::Copy | MasterStore::Remainder);
        if store.takes(dtype) && (kept || store == MasterStore::NoMaster) {
            let value = if kept || dtype == DType::F32 { 8191.0 / 8192.0 } else { 1.0_f32 };
            let found = exported(dtype, config(UpdateRule::sgd(1.0 / 8192.0)).with_store(store));
            assert_eq!(found, [Named::new(name(0), vec![value; 3])], "{dtype} {store:?}");
        }
    }
}

#[test]
fn a_tensor_as_a_file_has_it_is_its_type_its_shape_and_its_bytes() {
    let tensor = Tensor::new(vec![1.0_f32, -2.0], &[2, 1]).unwrap();
    let raw = RawTensor::from(&tensor);
    assert_eq!((raw.spec(), raw.bytes()), (&tensor.spec(), &*tensor.to_bits()));
    assert_eq!(Tensor::try_from(&raw).unwrap().to_bits(), tensor.to_bits());
}
