//! Sets of gradients that are divided among devices: found-inf results, norms, sums, and their bytes.

use binade_core::ops::Upload;
use binade_core::{DType, FoundInf, GradSet, Named, NamedGrads};
use binade_cpu::{Cpu, Tensor};
use binade_grad_scaler::{GradOps, GradScaler, LossScale, Norm, ScaleState, ScaleStore};
use binade_master_weights::{MasterWeights, OptimizerConfig, UpdateRule};
use binade_model_parallel::{DeviceTensor, ModelFound, ModelGradients, ModelParallel};

type Model = ModelParallel<Cpu>;

const INF: f32 = f32::INFINITY;

/// Set of `a` and `c` on device 1, and `b` on device 0.
fn set(model: &Model, values: [&[f32]; 3]) -> NamedGrads<DeviceTensor<Tensor>> {
    let grad = |((name, device), values): ((&str, usize), &[f32])| {
        let upload = |model: Model| model.upload(values, &[values.len()], DType::F32).unwrap();
        Named::new(name, (!values.is_empty()).then(|| upload(model.on(device).unwrap())))
    };
    [("a", 1), ("b", 0), ("c", 1)].into_iter().zip(values).map(grad).collect()
}

fn plain(model: &Model, grads: ModelGradients<Cpu>) -> Vec<(usize, Vec<f32>)> {
    let grads = model.materialise(grads).unwrap().into_iter();
    let values = grads.filter_map(|grad| grad.value);
    values.map(|grad| (grad.device(), grad.tensor().to_f32().to_vec())).collect()
}

fn read(model: &Model, found: &ModelFound<FoundInf>) -> FoundInf {
    let scale = model.upload_state(ScaleState::from_exponent(0)).unwrap();
    model.read(&[found], &scale).unwrap().0.remove(0)
}

fn model() -> Model {
    ModelParallel::new(vec![Cpu; 2]).unwrap()
}

#[test]
fn findings_of_all_devices_are_one_on_every_device() {
    let model = model();
    let scale = model.upload_state(ScaleState::from_exponent(1)).unwrap();
    let mut grads = set(&model, [&[1.0, INF], &[8.0], &[f32::NAN]]).into();
    let found = model.unscale(&mut grads, &scale).unwrap();
    assert!(model.is_raised(&found).unwrap());
    let told = read(&model, &found);
    assert_eq!((told.infinities, told.nans, told.magnitude), (1, 1, 8.0));
    let overflow = told.overflow.unwrap();
    assert_eq!((&*overflow.parameter, overflow.index), ("a", 1));
    // The scale of each device backs off once.
    let mut scale = model.upload_state(LossScale::dynamic().start()).unwrap();
    model.update(&mut scale, &[&found], &[&found], &LossScale::dynamic()).unwrap();
    let before = LossScale::dynamic().start().factor();
    for state in scale.values() {
        assert_eq!((state.factor(), state.overflows, state.skipped), (before / 2.0, 1, 1));
    }
}

#[test]
fn of_overflows_on_two_devices_the_first_devices_is_told() {
    let model = model();
    let scale = model.upload_state(ScaleState::from_exponent(0)).unwrap();
    let mut grads = set(&model, [&[INF], &[1.0, -INF], &[1.0]]).into();
    let found = model.unscale(&mut grads, &scale).unwrap();
    let overflow = read(&model, &found).overflow.unwrap();
    assert_eq!((&*overflow.parameter, overflow.index, overflow.what()), ("b", 1, "-inf"));
}

#[test]
fn missing_gradients_are_listed_once_in_the_order_of_the_set() {
    let model = model();
    let scale = model.upload_state(ScaleState::from_exponent(0)).unwrap();
    let mut grads: ModelGradients<Cpu> = set(&model, [&[], &[1.0], &[]]).into();
    let found = model.unscale(&mut grads, &scale).unwrap();
    assert_eq!(read(&model, &found).missing, ["a".into(), "c".into()]);
    // After `a` was seen on device 1, it is reported missing there, and `b` on device 0.
    drop(model.unscale(&mut set(&model, [&[1.0], &[], &[]]).into(), &scale).unwrap());
    let mut grads = set(&model, [&[], &[], &[1.0]]).into();
    let found = model.unscale(&mut grads, &scale).unwrap();
    assert_eq!(read(&model, &found).missing, ["a".into(), "b".into()]);
}

#[test]
fn the_norm_is_of_all_devices_and_clips_on_each() {
    let model = model();
    for (norm, expected, factor) in [(Norm::L2, 7.0, 0.5), (Norm::Infinity, 6.0, 3.5 / 6.0)] {
        let mut grads = set(&model, [&[2.0], &[-6.0], &[3.0]]).into();
        let mut verdict = model.upload_found(&FoundInf::default()).unwrap();
        model.clip_norm(&mut grads, norm, 3.5, &mut verdict).unwrap();
        assert_eq!(read(&model, &verdict).norm, Some(expected));
        let expected = [2.0, -6.0, 3.0].map(|x: f32| x * factor);
        let clipped: Vec<f32> = plain(&model, grads).into_iter().flat_map(|(_, it)| it).collect();
        assert_eq!(clipped, expected);
    }
}

#[test]
fn a_norm_that_is_not_finite_raises_the_verdict_on_every_device() {
    let model = model();
    let huge = [3.0e38_f32, 3.0e38];
    let mut grads = set(&model, [&huge, &[1.0], &[1.0]]).into();
    let mut verdict = model.upload_found(&FoundInf::default()).unwrap();
    model.clip_norm(&mut grads, Norm::L2, 1.0, &mut verdict).unwrap();
    let told = read(&model, &verdict);
    assert_eq!(&*told.overflow.unwrap().parameter, FoundInf::NORM);
    assert!(model.is_raised(&verdict).unwrap());
}

#[test]
fn sums_keep_devices_and_order_and_saved_ones_are_those_of_one_device() {
    let model = model();
    let params = set(&model, [&[0.0], &[0.0], &[0.0]]).into_iter();
    let mut params: Vec<_> = params.map(|it| Named::new(it.name, it.value.unwrap())).collect();
    // From here on the model knows the device of each parameter, also of the one without a gradient.
    let config = OptimizerConfig::new(UpdateRule::sgd(1.0)).unwrap();
    model.masters(&mut params, &config).unwrap();
    let clean = model.upload_found(&FoundInf::default()).unwrap();
    let sets = [[&[1.0_f32][..], &[2.0], &[]], [&[10.0], &[20.0], &[30.0]]];
    let mut sum = None;
    for values in sets {
        sum = Some(model.accumulate(sum, set(&model, values).into(), &clean).unwrap());
    }
    let saved = model.save_grads(sum.as_ref().unwrap()).unwrap();
    let one = |values: [&[f32]; 3]| -> NamedGrads<Tensor> {
        let on = |grad: Named<Option<DeviceTensor<Tensor>>>| Named {
            name: grad.name,
            value: grad.value.map(|grad| grad.tensor().clone()),
        };
        set(&model, values).into_iter().map(on).collect()
    };
    let mut alone = None;
    for values in sets {
        alone = Some(Cpu.accumulate(alone, one(values).into(), &FoundInf::default()).unwrap());
    }
    assert_eq!(saved, Cpu.save_grads(&alone.unwrap()).unwrap());
    let expected = [(1, vec![11.0]), (0, vec![22.0]), (1, vec![30.0])];
    assert_eq!(plain(&model, sum.unwrap()), expected);

    assert_eq!(model.grad_specs(&params).unwrap()[1].name, "b".into());
    let loaded = model.load_grads(&params, &saved).unwrap();
    assert_eq!(plain(&model, loaded), expected);
}

#[test]
fn a_bad_micro_batch_of_one_device_adds_nothing_on_another() {
    let model = model();
    let scale = model.upload_state(ScaleState::from_exponent(0)).unwrap();
    let mut grads: ModelGradients<Cpu> = set(&model, [&[INF], &[1.0], &[1.0]]).into();
    let found = model.unscale(&mut grads, &scale).unwrap();
    let sum = model.accumulate(None, grads, &found).unwrap();
    assert!(plain(&model, sum).is_empty());
}
