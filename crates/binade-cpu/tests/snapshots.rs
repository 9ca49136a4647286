//! Optimizers and gradients as bytes and as f32: restored bit for bit, and joined by more parameters.

mod sets;

use binade_core::{DType, Finding, Named, Optimizer as _, RawTensor};
use binade_cpu::{Cpu, Gradients, Tensor};
use binade_grad_scaler::{GradOps as _, GradScaler as _, ScaleStore as _};
use binade_master_weights::{MasterOptimizer, MasterStore, Plan, UpdateRule};
use sets::{ALL, Part, Random, STORES, grads, name, params, plan, rules, said, scale, values};

/// Runs a step with gradients that the seed decides.
fn step(optimizer: &mut MasterOptimizer<Cpu>, set: &[Part], seed: u64) {
    let grads = grads(&Random(seed).grads_for(set));
    optimizer.step(grads, &Finding::default()).unwrap();
}

#[test]
fn an_optimizer_that_was_loaded_steps_as_the_one_that_was_saved() {
    for (rule, store) in rules().into_iter().flat_map(|rule| STORES.map(|store| (rule, store))) {
        let dtypes = ALL.into_iter().filter(|dtype| store.takes(*dtype));
        let set: Vec<_> = dtypes.map(|dtype| Random(7).part(dtype, 9)).collect();
        let plan = plan(rule).with_store(store);
        let [mut one, mut other] =
            [0; 2].map(|_| MasterOptimizer::new(Cpu, params(&set), plan.clone()).unwrap());
        step(&mut one, &set, 1);
        other.load(&one.save().unwrap()).unwrap();
        assert_eq!(other.save().unwrap(), one.save().unwrap(), "{rule:?} {store:?}");
        step(&mut one, &set, 2);
        step(&mut other, &set, 2);
        assert_eq!(other.save().unwrap(), one.save().unwrap(), "{rule:?} {store:?}");
    }
}

#[test]
fn a_parameter_that_joins_is_stored_and_moved_as_if_it_had_been_there() {
    let plan = plan(UpdateRule::adamw(0.1)).with_storage(DType::F16);
    let set = [1, 2].map(|seed| Random(seed).part(DType::F32, 5));
    let started = |set: &[Part]| MasterOptimizer::new(Cpu, params(set), plan.clone()).unwrap();
    let (mut whole, mut joined) = (started(&set), started(&set[..1]));
    joined.join(params(&set).split_off(1), plan.clone()).unwrap();
    assert_eq!(joined.params[1].value.dtype(), DType::F16);
    step(&mut whole, &set, 3);
    step(&mut joined, &set, 3);
    assert_eq!(joined.save().unwrap(), whole.save().unwrap());
}

/// Returns the exported values of ones that have moved by less than sixteen bits hold.
fn exported(dtype: DType, plan: Plan) -> Vec<Named<Vec<f32>>> {
    let set = [Part { dtype, data: vec![1.0; 3] }];
    let mut optimizer = MasterOptimizer::new(Cpu, params(&set), plan).unwrap();
    optimizer.step(grads(&set), &Finding::default()).unwrap();
    optimizer.export_f32().unwrap()
}

#[test]
fn the_f32_values_are_the_masters_where_there_are_any_and_the_stored_ones_elsewhere() {
    for (dtype, store) in ALL.into_iter().flat_map(|dtype| STORES.map(|store| (dtype, store))) {
        let kept = matches!(store, MasterStore::Copy | MasterStore::Remainder);
        if store.takes(dtype) && (kept || store == MasterStore::NoMaster) {
            let value = if kept || dtype == DType::F32 { 8191.0 / 8192.0 } else { 1.0_f32 };
            let found = exported(dtype, plan(UpdateRule::sgd(1.0 / 8192.0)).with_store(store));
            assert_eq!(found, [Named::new(name(0), vec![value; 3])], "{dtype} {store:?}");
        }
    }
}

#[test]
fn gradients_that_were_saved_come_back_as_what_they_stand_for() {
    let set = ALL.map(|dtype| Random(5).part(dtype, 9));
    let mut unscaled: Vec<_> = grads(&set).as_stored().to_vec();
    unscaled[1].value = None;
    let mut unscaled = Gradients::from(unscaled);
    let found = Cpu.unscale(&mut unscaled, &scale(4)).unwrap();
    let saved = Cpu.save_grads(&unscaled).unwrap();
    let forms = Cpu.grad_forms(&params(&set)).unwrap();
    for (i, (form, saved)) in forms.iter().zip(&saved).enumerate() {
        assert_eq!((&*form.name, &*saved.name), (&*name(i), &*name(i)));
        let expected = (i != 1).then_some(&form.value);
        assert_eq!(saved.value.as_ref().map(RawTensor::form), expected);
    }
    let back = Cpu.load_grads(&params(&set), &saved).unwrap();
    assert_eq!(values(&back), values(&unscaled));
    assert_eq!((forms.len(), values(&back).len()), (3, 3));
    assert_eq!(said(&Cpu.upload_found(&found).unwrap()), said(&found));
}

#[test]
fn a_tensor_as_a_file_has_it_is_its_type_its_shape_and_its_bytes() {
    let tensor = Tensor::new(vec![1.0_f32, -2.0], &[2, 1]).unwrap();
    let raw = tensor.to_raw();
    assert_eq!((raw.form(), raw.bytes()), (&tensor.form(), &*tensor.to_bits()));
    assert_eq!(Tensor::from_raw(&raw).unwrap().to_bits(), tensor.to_bits());
}
