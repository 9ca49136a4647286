//! Errors of tensors and calls that do not fit together.

use binade_core::ops::{Add, Linear, Upload};
use binade_core::{DType, Error, ErrorKind, FoundInf, Named, Optimizer};
use binade_cpu::{Cpu, Tensor};
use binade_grad_scaler::{ClipGroup, GradOps, Norm, ScaleStore};
use binade_master_weights::{MasterOptimizer, OptimizerConfig, UpdateRule};
use binade_model_parallel::{DeviceTensor, ModelGradients, ModelParallel};

type Model = ModelParallel<Cpu>;
type Grad<'g> = (&'g str, Option<(usize, &'g [f32])>);

fn model() -> Model {
    ModelParallel::new(vec![Cpu; 2]).unwrap()
}

fn tensor(model: &Model, device: usize, values: &[f32]) -> DeviceTensor<Tensor> {
    model.on(device).unwrap().upload(values, &[values.len()], DType::F32).unwrap()
}

fn grads(model: &Model, grads: &[Grad<'_>]) -> ModelGradients<Cpu> {
    let grad = |(name, grad): &Grad<'_>| {
        Named::new(*name, grad.map(|(device, values)| tensor(model, device, values)))
    };
    grads.iter().map(grad).collect::<Vec<_>>().into()
}

/// Optimizer of `a` on device 0 and `b` on device 1.
fn optimizer(model: &Model, config: OptimizerConfig) -> MasterOptimizer<Model> {
    let param = |(device, name)| Named::new(name, tensor(model, device, &[1.0]));
    let params = [(0, "a"), (1, "b")].map(param);
    MasterOptimizer::new(model.clone(), params.into(), config).unwrap()
}

fn sgd() -> OptimizerConfig {
    OptimizerConfig::new(UpdateRule::sgd(1.0)).unwrap()
}

fn values(optimizer: &MasterOptimizer<Model>) -> Vec<f32> {
    optimizer.params.iter().map(|param| param.value.tensor().to_f32()[0]).collect()
}

#[test]
fn operands_on_different_devices_are_refused_by_both_numbers() {
    let model = model();
    let (x, y) = (tensor(&model, 0, &[1.0]), tensor(&model, 1, &[1.0]));
    let error = model.add(&x, &y).unwrap_err();
    let told = "`add`: operand 0 is on device 0 and operand 1 on device 1; move one of them, as by `x.to_device(0)`";
    assert_eq!((error.to_string().as_str(), error.kind()), (told, ErrorKind::Mismatch));
    let matrix = model.on(1).unwrap().upload(&[1.0], &[1, 1], DType::F32).unwrap();
    let error = model.linear(&matrix, &matrix, Some(&x)).unwrap_err().to_string();
    assert!(
        error.starts_with("`linear`: operand 0 is on device 1 and operand 2 on device 0"),
        "{error}"
    );
}

#[test]
fn a_gradient_on_another_device_than_its_parameter_is_refused_and_nothing_moves() {
    let model = model();
    let mut optimizer = optimizer(&model, sgd());
    let found = model.upload_found(&FoundInf::default()).unwrap();
    let wrong = grads(&model, &[("a", Some((0, &[1.0]))), ("b", Some((0, &[1.0])))]);
    let error = optimizer.step(wrong, &found).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("the gradient of `b` is on device 0, and the parameter on device 1"),
        "{error}"
    );
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    assert_eq!(values(&optimizer), [1.0, 1.0]);
    let right = grads(&model, &[("a", Some((0, &[0.5]))), ("b", Some((1, &[0.25])))]);
    optimizer.step(right, &found).unwrap();
    assert_eq!(values(&optimizer), [0.5, 0.75]);
}

#[test]
fn a_misfit_on_the_second_device_moves_nothing_on_the_first() {
    let model = model();
    let mut optimizer = optimizer(&model, sgd());
    let found = model.upload_found(&FoundInf::default()).unwrap();
    for wrong in [
        grads(&model, &[("a", Some((0, &[1.0]))), ("b", Some((1, &[1.0, 2.0])))]),
        grads(&model, &[("a", Some((0, &[1.0]))), ("c", Some((1, &[1.0])))]),
        grads(&model, &[("a", None), ("b", None)]),
    ] {
        assert!(optimizer.step(wrong, &found).is_err());
        assert_eq!(values(&optimizer), [1.0, 1.0]);
    }
    // A set without gradients is skipped if another set has overflowed.
    let raised = FoundInf { halted: true, ..FoundInf::default() };
    let raised = model.upload_found(&raised).unwrap();
    optimizer.step(grads(&model, &[("a", None), ("b", None)]), &raised).unwrap();
}

#[test]
fn a_configuration_may_name_parameters_of_any_device_and_no_others() {
    let model = model();
    let config = sgd().with_group(["b"], UpdateRule::sgd(0.5)).unwrap().keep(["a"]);
    let mut optimizer = optimizer(&model, config.clone());
    let found = model.upload_found(&FoundInf::default()).unwrap();
    let ones = [("a", Some((0, &[1.0_f32][..]))), ("b", Some((1, &[1.0])))];
    optimizer.step(grads(&model, &ones), &found).unwrap();
    assert_eq!(values(&optimizer), [0.0, 0.5]);
    optimizer.set_config(config.clone().with_lr(0.5).unwrap()).unwrap();
    optimizer.step(grads(&model, &ones), &found).unwrap();
    assert_eq!(values(&optimizer), [-0.5, 0.25]);
    let wrong = config.with_group(["c"], UpdateRule::sgd(0.5)).unwrap();
    let error = optimizer.set_config(wrong).unwrap_err().to_string();
    assert!(error.contains("names `c`"), "{error}");
}

#[test]
fn parameters_join_on_their_devices_and_stand_behind_the_others() {
    let model = model();
    let mut optimizer = optimizer(&model, sgd());
    let config = sgd().with_group(["c"], UpdateRule::sgd(0.5)).unwrap();
    let more =
        [("c", 0), ("d", 1)].map(|(name, device)| Named::new(name, tensor(&model, device, &[2.0])));
    optimizer.join(more.into(), config).unwrap();
    let names: Vec<_> = optimizer.params.iter().map(|param| &*param.name).collect();
    assert_eq!(names, ["a", "b", "c", "d"]);
    let found = model.upload_found(&FoundInf::default()).unwrap();
    let one = |name, device| (name, Some((device, &[1.0_f32][..])));
    let ones = [one("a", 0), one("b", 1), one("c", 0), one("d", 1)];
    optimizer.step(grads(&model, &ones), &found).unwrap();
    assert_eq!(values(&optimizer), [0.0, 0.0, 1.5, 1.0]);
    // A name that the other device has is refused, too.
    let again = vec![Named::new("a", tensor(&model, 1, &[1.0]))];
    let config = optimizer.config().clone();
    let error = optimizer.join(again, config).unwrap_err().to_string();
    assert!(error.contains("`a` is in the optimizer already"), "{error}");
}

#[test]
fn a_clipping_group_of_one_device_is_clipped_and_one_of_two_devices_refused() {
    let model = model();
    let all =
        [("a", Some((0, &[3.0_f32, 4.0][..]))), ("b", Some((1, &[6.0]))), ("c", Some((0, &[1.0])))];
    let mut set = grads(&model, &all);
    let mut verdict = model.upload_found(&FoundInf::default()).unwrap();
    let group = |names: &[&str]| ClipGroup::new(names.iter().copied(), Norm::L2, 2.0);
    let refused = model.clip_groups(&mut set, &[group(&["a", "b"])], &mut verdict).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
    assert!(
        refused.to_string().contains("the group of `a` has parameters on devices [0, 1]"),
        "{refused}"
    );
    model.clip_groups(&mut set, &[group(&["b"]), group(&["a"])], &mut verdict).unwrap();
    let plain = binade_core::GradSet::materialise(&model, set).unwrap();
    let values: Vec<_> =
        plain.into_iter().map(|grad| grad.value.unwrap().tensor().to_f32().to_vec()).collect();
    assert_eq!(values, [vec![1.2, 1.6], vec![2.0], vec![1.0]]);
}

#[test]
fn values_of_a_model_of_other_devices_are_refused() {
    let (two, three) = (model(), ModelParallel::new(vec![Cpu; 3]).unwrap());
    let found = three.upload_found(&FoundInf::default()).unwrap();
    let set = grads(&two, &[("a", Some((1, &[1.0])))]);
    let error = two.accumulate(None, set, &found).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a value of 3 devices came to a model of 2; values of one handle go with no other"
    );
    assert_eq!(error.kind(), ErrorKind::Mismatch);
}

#[test]
fn a_rule_that_clips_all_gradients_together_is_refused_by_name() {
    let model = model();
    let lamb = OptimizerConfig::new(UpdateRule::lamb(0.1)).unwrap();
    let error = optimizer(&model, sgd()).set_config(lamb).unwrap_err();
    assert!(error.to_string().contains("`lamb`"), "{error}");
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    // Norms of single tensors are computed on their devices.
    optimizer(&model, OptimizerConfig::new(UpdateRule::novograd(0.1)).unwrap());
}
