//! Gradients as values: unscaled, clipped, in f32.

use crate::sets;

use binade_core::{DType, Error as _, ErrorKind, GradSet as _, Named};
use binade_cpu::{Cpu, Tensor};
use binade_grad_scaler::{GradOps, GradScaler, LossScale, Norm, Scaler};
use binade_master_weights::HostOptimizer;
use sets::{
    ALL, LENGTHS, Part, Random, in_pools, name, native_unscaled, native_values, one, scale,
    unscaled, values,
};

#[test]
fn values_unscaled_lazily_are_those_unscaled_at_once() {
    for (dtype, len) in ALL.into_iter().flat_map(|dtype| LENGTHS.map(|len| (dtype, len))) {
        let set = [Random(11).part(dtype, len)];
        for exponent in [16, 0, -3] {
            let eager = native_values(&native_unscaled(&set, exponent).0);
            for lazy in in_pools(|| values(&unscaled(&set, exponent).0)) {
                assert!(lazy == eager, "{dtype}, {len} elements, 2^{exponent}");
            }
        }
    }
}

#[test]
fn unscaling_only_looks() {
    let set = [Random(12).part(DType::F16, 100)];
    let mut grads = sets::grads(&set);
    let before = grads.as_stored()[0].value.as_ref().unwrap().stamp();
    Cpu.unscale(&mut grads, &scale(5)).unwrap();
    let stored = grads.as_stored()[0].value.as_ref().unwrap();
    assert_eq!((stored.stamp(), stored.dtype()), (before, DType::F16));
}

#[test]
fn unscaling_what_was_unscaled_divides_again() {
    let (mut grads, _) = unscaled(&[Part { dtype: DType::BF16, data: vec![8.0] }], 1);
    let found = Cpu.unscale(&mut grads, &scale(1)).unwrap();
    assert_eq!((values(&grads), found.magnitude), (values(&one(&[2.0])), 4.0));
}

#[test]
fn a_clone_keeps_its_own_values() {
    let (grads, mut found) = unscaled(&[Part { dtype: DType::F32, data: vec![3.0, 4.0] }], 0);
    let mut clipped = grads.clone();
    Cpu.clip_norm(&mut clipped, Norm::L2, 2.5, &mut found).unwrap();
    Cpu.clip_value(&mut clipped, 1.75).unwrap();
    assert_eq!(values(&grads), values(&one(&[3.0, 4.0])));
    assert_eq!(values(&clipped), values(&one(&[1.5, 1.75])));
}

#[test]
fn a_type_there_is_no_arithmetic_for_is_refused_by_name() {
    let tensors = [Tensor::scalar(1.0_f64), Tensor::scalar(1_i64)];
    let small = Tensor::from_f32(vec![1.0], &[1], DType::E5M2).unwrap();
    for tensor in tensors.into_iter().chain([small]) {
        let text = format!("the CPU cannot materialise gradients of {}", tensor.dtype());
        let error = Cpu.materialise(vec![Named::new("w", Some(tensor))].into()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().starts_with(&text), "{error}");
    }
}

#[test]
fn an_optimizer_of_the_users_own_gets_unscaled_clipped_f32_and_never_a_bad_step() {
    let mut seen = Vec::new();
    let mut optimizer = HostOptimizer::new(Cpu, |grads| {
        seen.push(grads);
        Ok(())
    });
    let mut scaler = Scaler::new(Cpu, LossScale::dynamic()).unwrap();
    let mut skipped = Vec::new();
    for raw in [[3.0, 4.0], [f32::INFINITY, 0.0], [0.3, 0.4]] {
        let loss = scaler.scale(&Tensor::scalar(1.0_f32)).unwrap();
        let backward = |loss: &Tensor| {
            let scale = loss.as_slice::<f32>().unwrap()[0];
            let data = raw.iter().map(|x| x * scale).collect();
            Ok(sets::grads(&[Part { dtype: DType::BF16, data }]))
        };
        let grads = loss.backward(backward).unwrap().unscale().unwrap().clip_norm(2.5).unwrap();
        let step = grads.step(&mut optimizer).unwrap();
        let outcome = scaler.update(step).unwrap().resolve().unwrap();
        skipped.push(outcome.report().steps[0].skipped);
    }
    assert_eq!((skipped, optimizer.skipped), (vec![false, true, false], 1));
    let values: Vec<f32> = seen
        .iter()
        .flat_map(|grads| grads[0].value.as_ref().unwrap().to_f32().into_owned())
        .collect();
    let [a, b] = [0.3, 0.4].map(|x| half::bf16::from_f32(x).to_f32());
    assert_eq!((values, &*seen[0][0].name), (vec![1.5, 2.0, a, b], &*name(0)));
    assert!(seen.iter().all(|grads| grads[0].value.as_ref().unwrap().dtype() == DType::F32));
}
