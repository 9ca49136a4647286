//! Sets that do not fit are refused by name, before anything has moved.

use crate::sets;

use binade_core::{DType, Error as _, ErrorKind, FoundInf, Named, Optimizer as _};
use binade_cpu::{Cpu, Error, Gradients, Tensor};
use binade_master_weights::{MasterOptimizer, MasterStore, MasterWeights, UpdateRule};
use sets::{Part, config, name, params};

fn zeros(dtype: DType, shape: &[usize]) -> Tensor {
    Tensor::from_f32(vec![0.0; shape.iter().product()], shape, dtype).unwrap()
}

fn ones(name: &str, shape: &[usize]) -> Named<Option<Tensor>> {
    let values = vec![1.0_f32; shape.iter().product()];
    Named::new(name, Some(Tensor::new(values, shape).unwrap()))
}

/// Returns an optimizer of two parameters, `layer.0` of 2 elements and `layer.1` of 3.
fn optimizer(rule: UpdateRule) -> MasterOptimizer<Cpu> {
    let set = [2, 3].map(|len| Part { dtype: DType::F16, data: vec![1.0; len] });
    MasterOptimizer::new(Cpu, params(&set), config(rule)).unwrap()
}

/// Returns the refusal of a step with `grads`, having moved nothing.
fn refusal(optimizer: &mut MasterOptimizer<Cpu>, grads: Vec<Named<Option<Tensor>>>) -> Error {
    let stamps = |of: &MasterOptimizer<Cpu>| -> Vec<u64> {
        of.params.iter().map(|param| param.value.stamp()).collect()
    };
    let before = (stamps(optimizer), optimizer.masters().clone());
    let error = optimizer.step(Gradients::from(grads), &FoundInf::default()).unwrap_err();
    assert_eq!((stamps(optimizer), optimizer.masters()), (before.0, &before.1), "{error}");
    error
}

fn assert_mismatch(error: &Error, name: &str) {
    assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
    assert!(error.to_string().starts_with(&format!("`{name}`: ")), "{error}");
}

#[test]
fn a_gradient_of_a_type_there_is_no_arithmetic_for_is_unsupported() {
    let mut optimizer = optimizer(UpdateRule::sgd(0.1));
    let bad = Named::new(name(1), Some(zeros(DType::F64, &[3])));
    let error = refusal(&mut optimizer, vec![ones("layer.0", &[2]), bad]);
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().starts_with("the CPU cannot step with gradients of f64"), "{error}");
}

#[test]
fn a_parameter_replaced_since_its_master_was_made_is_a_mismatch() {
    let mut optimizer = optimizer(UpdateRule::adam(0.1));
    optimizer.params[1].value = zeros(DType::F16, &[7]);
    let error = refusal(&mut optimizer, vec![ones("layer.0", &[2]), ones("layer.1", &[7])]);
    assert_mismatch(&error, "layer.1");
}

#[test]
fn a_parameter_that_joins_an_optimizer_started_empty_is_refused() {
    let mut optimizer = MasterOptimizer::new(Cpu, vec![], config(UpdateRule::sgd(0.1))).unwrap();
    optimizer.params.push(Named::new("late", zeros(DType::F32, &[2])));
    let error = refusal(&mut optimizer, vec![ones("late", &[2])]);
    assert_mismatch(&error, "late");
    assert!(error.to_string().ends_with("start a new optimizer"), "{error}");
}

#[test]
fn a_parameter_lowered_after_its_optimizer_was_made_is_refused_where_masters_are_kept() {
    for store in [MasterStore::Copy, MasterStore::NoMaster] {
        let set = params(&[Part { dtype: DType::F32, data: vec![1.0; 2] }]);
        let config = config(UpdateRule::sgd(0.25)).with_store(store);
        let mut optimizer = MasterOptimizer::new(Cpu, set, config).unwrap();
        optimizer.params[0].value = optimizer.params[0].value.cast(DType::F16).unwrap();
        if store == MasterStore::NoMaster {
            optimizer.step(vec![ones("layer.0", &[2])].into(), &FoundInf::default()).unwrap();
            assert_eq!(*optimizer.params[0].value.to_f32(), [0.75, 0.75]);
        } else {
            let error = refusal(&mut optimizer, vec![ones("layer.0", &[2])]);
            assert_mismatch(&error, "layer.0");
            assert!(error.to_string().contains("`with_storage`"), "{error}");
        }
    }
}

#[test]
fn parameters_that_are_not_trained_in_f32_are_refused_whatever_they_would_be_stored_as() {
    for tensor in [zeros(DType::F64, &[1]), Tensor::scalar(1_i64), zeros(DType::E5M2, &[1])] {
        let dtype = tensor.dtype();
        for stored in [DType::F16, DType::F32] {
            let mut params = vec![Named::new("w", tensor.clone())];
            let config = config(UpdateRule::sgd(0.1)).with_storage(stored);
            let error = Cpu.masters(&mut params, &config).unwrap_err();
            let text = format!("the CPU cannot train parameters of {dtype}");
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            assert!(error.to_string().starts_with(&text), "{error}");
        }
    }
}

#[test]
fn a_storage_that_cannot_be_trained_is_refused_and_no_parameter_is_lowered() {
    for stored in [DType::F64, DType::E4M3, DType::E5M2, DType::I64, DType::Bool] {
        let mut params = params(&[Part { dtype: DType::F32, data: vec![1.0] }]);
        let config = config(UpdateRule::sgd(0.1)).with_storage(stored);
        let error = Cpu.masters(&mut params, &config).unwrap_err();
        assert_eq!((error.kind(), params[0].value.dtype()), (ErrorKind::Unsupported, DType::F32));
    }
}

#[test]
fn a_plan_that_needs_other_moments_is_refused_and_the_old_one_stays() {
    let mut optimizer = optimizer(UpdateRule::sgd(0.5));
    let error = optimizer.set_config(config(UpdateRule::adam(0.5))).unwrap_err();
    let text = "`layer.0` has 0 moments and the new rule needs 2; start a new optimizer to change the rule's kind";
    assert_eq!((error.kind(), error.to_string()), (ErrorKind::Mismatch, text.into()));
    let grads = vec![ones("layer.0", &[2]), ones("layer.1", &[3])];
    optimizer.step(grads.into(), &FoundInf::default()).unwrap();
    let halves = |i: usize| optimizer.params[i].value.to_f32().iter().all(|x| *x == 0.5);
    assert!(halves(0) && halves(1));
}
