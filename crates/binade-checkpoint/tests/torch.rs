//! State of torch's optimizers is loaded, and the next steps equal those of torch.

use binade_checkpoint::load_torch_optimizer as load;
use binade_core::{DType, FoundInf, Named, Optimizer, RawTensor, TensorSpec};
use binade_cpu::{Cpu, Tensor};
use binade_master_weights::{
    Adam, Lars, MasterOptimizer, OptimizerConfig, Sgd, StateKind, UpdateRule,
};
use safetensors::{SafeTensors, serialize, tensor::TensorView};
use std::{fs, path::Path};

const NAMES: [&str; 3] = ["weight", "bias", "late"];
type Running = MasterOptimizer<Cpu>;

fn file(name: &str) -> Vec<u8> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    fs::read(data.join(format!("{name}.safetensors"))).unwrap()
}

/// Returns the tensor of this name in a file.
fn tensor(bytes: &[u8], name: &str) -> Tensor {
    let file = SafeTensors::deserialize(bytes).unwrap();
    let view = file.tensor(name).unwrap();
    let (elements, _) = view.data().as_chunks();
    let values: Vec<f32> = elements.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    Tensor::new(values, view.shape()).unwrap()
}

fn rule(name: &str) -> UpdateRule {
    match name {
        "sgd" => UpdateRule::sgd(0.1),
        "momentum" => UpdateRule::Sgd(Sgd {
            lr: 0.1,
            momentum: 0.9,
            dampening: 0.25,
            weight_decay: 0.01,
            nesterov: false,
        }),
        "adamw" => UpdateRule::adamw(0.01),
        _ => UpdateRule::Adam(Adam {
            lr: 0.01,
            betas: [0.9, 0.99],
            eps: 1e-8,
            weight_decay: 0.1,
            decoupled: false,
            amsgrad: true,
            sparse: false,
        }),
    }
}

/// Returns an optimizer that has taken no step, with torch's parameters after five steps.
fn fresh(name: &str) -> Running {
    with_rule(name, rule(name))
}

/// Returns [`fresh`] with another rule.
fn with_rule(name: &str, rule: UpdateRule) -> Running {
    let run = file(&format!("{name}.run"));
    let param = |(i, name): (usize, &str)| Named::new(name, tensor(&run, &format!("before.{i}")));
    let params = NAMES.into_iter().enumerate().map(param).collect();
    MasterOptimizer::new(Cpu, params, OptimizerConfig::new(rule).unwrap()).unwrap()
}

fn step(optimizer: &mut Running, run: &[u8], number: usize) {
    let grad = |(i, name): (usize, &str)| {
        Named::new(name, Some(tensor(run, &format!("grad.{number}.{i}"))))
    };
    let grads: Vec<_> = NAMES.into_iter().enumerate().map(grad).collect();
    optimizer.step(grads.into(), &FoundInf::default()).unwrap();
}

/// Returns the largest relative difference of a parameter from torch's.
fn distance(optimizer: &Running, run: &[u8]) -> f64 {
    let each = optimizer.params.iter().enumerate().flat_map(|(i, param)| {
        let wanted = tensor(run, &format!("after.{i}")).to_f32().into_owned();
        let pairs = param.value.to_f32().into_owned().into_iter().zip(wanted);
        pairs.map(|(got, wanted)| f64::from((got - wanted).abs()) / f64::from(wanted.abs()))
    });
    each.fold(0.0, |most, x| if x > most || x.is_nan() { x } else { most })
}

#[test]
fn steps_after_the_import_are_torchs() {
    for name in ["sgd", "momentum", "adamw", "amsgrad"] {
        let (mut optimizer, run) = (fresh(name), file(&format!("{name}.run")));
        load(&file(name), &NAMES, &mut optimizer).unwrap();
        (0..3).for_each(|number| step(&mut optimizer, &run, number));
        // torch's own square root is not rounded correctly.
        let most = if name.starts_with('a') { 1e-6 } else { 0.0 };
        let distance = distance(&optimizer, &run);
        assert!(distance <= most, "{name}: {distance:e}");
    }
}

#[test]
fn moments_in_bf16_are_torchs_rounded_once() {
    let config = fresh("adamw").config().clone().with_bf16_state(["exp_avg", "exp_avg_sq"]);
    let mut low = MasterOptimizer::new(Cpu, fresh("adamw").params, config).unwrap();
    let mut wide = fresh("adamw");
    load(&file("adamw"), &NAMES, &mut low).unwrap();
    load(&file("adamw"), &NAMES, &mut wide).unwrap();
    let mut compared = 0;
    for (low, wide) in low.save().unwrap().iter().zip(wide.save().unwrap()) {
        assert_eq!(low.applied, wide.applied);
        let bf16 = |place| low.kept.iter().find(|(kind, _)| *kind == StateKind::Bf16Moment(place));
        for (kind, raw) in &wide.kept {
            let StateKind::Moment(place) = *kind else { continue };
            let (_, found) = bf16(place).unwrap();
            let spec = TensorSpec::new(DType::BF16, raw.spec().shape.clone());
            assert_eq!(Some(found), RawTensor::from_f32(spec, &raw.to_f32().unwrap()).as_ref());
            compared += raw.spec().elements().unwrap();
        }
    }
    assert!(compared > 0);
    let run = file("adamw.run");
    (0..3).for_each(|number| step(&mut low, &run, number));
    let far = distance(&low, &run);
    assert!(far > 0.0 && far <= 1e-3, "{far:e}");
}

#[test]
fn without_the_import_they_are_others() {
    for name in ["momentum", "adamw", "amsgrad"] {
        let (mut optimizer, run) = (fresh(name), file(&format!("{name}.run")));
        (0..3).for_each(|number| step(&mut optimizer, &run, number));
        assert!(distance(&optimizer, &run) > 1e-3, "{name}");
    }
}

#[test]
fn steps_are_counted_on_and_a_parameter_without_state_begins() {
    let mut optimizer = fresh("adamw");
    load(&file("adamw"), &NAMES, &mut optimizer).unwrap();
    let applied = optimizer.save().unwrap().iter().map(|saved| saved.applied).collect::<Vec<_>>();
    assert_eq!(applied, [5, 5, 0]);
}

/// Returns the error of an import, and asserts that nothing has changed.
fn refused(name: &str, bytes: &[u8], names: &[&str]) -> String {
    let mut optimizer = fresh(name);
    let before = optimizer.save().unwrap();
    let error = load(bytes, names, &mut optimizer).unwrap_err();
    assert_eq!(optimizer.save().unwrap(), before);
    error.to_string()
}

#[test]
fn what_does_not_go_together_is_refused_by_name() {
    let adamw = file("adamw");
    for (text, names) in [
        ("state of parameter 1, and 1 are named", &NAMES[..1]),
        ("`wieght` is named", &["wieght", "bias", "late"]),
        ("`weight` is named twice", &["weight", "weight", "late"]),
        ("moment0 of `weight`: found f32 [4], expected f32 [2, 3]", &["bias", "weight", "late"]),
    ] {
        let error = refused("adamw", &adamw, names);
        assert!(error.contains(text), "{error}");
    }
    let error = refused("amsgrad", &adamw, &NAMES);
    assert!(error.contains("`weight` has exp_avg, exp_avg_sq, and its rule keeps"), "{error}");
    let error = refused("sgd", &adamw, &NAMES);
    assert!(error.contains("its rule keeps none"), "{error}");
}

#[test]
fn what_is_no_torch_state_is_told() {
    let one = |name: &str, value: f32| {
        let bytes = value.to_le_bytes();
        let view = TensorView::new(safetensors::Dtype::F32, vec![], &bytes).unwrap();
        serialize([(name.to_owned(), view)], None).unwrap()
    };
    let tensors = one("model.weight", 1.0);
    assert!(refused("adamw", &tensors, &NAMES).contains("`model.weight` is called otherwise"));
    for value in [2.5, -1.0, f32::NAN] {
        let error = refused("sgd", &one("state.0.step", value), &NAMES);
        assert!(error.contains(&format!("the `step` of `weight` is {value}")), "{error}");
    }
    assert!(refused("adamw", b"pickle", &NAMES).contains("no torch optimizer's state"));
    assert_eq!(DType::F32, fresh("adamw").params[0].value.dtype());
}

/// Returns a file without the counts of steps.
fn without_counts(bytes: &[u8]) -> Vec<u8> {
    let file = SafeTensors::deserialize(bytes).unwrap();
    let kept =
        file.tensors().into_iter().filter(|(name, _)| name.rsplit('.').next() != Some("step"));
    serialize(kept, None).unwrap()
}

#[test]
fn a_rule_that_counts_is_refused_without_a_step() {
    let uncounted = without_counts(&file("adamw"));
    for (rule, name) in [(UpdateRule::adamw(0.01), "adam"), (UpdateRule::lamb(0.01), "lamb")] {
        let mut optimizer = with_rule("adamw", rule);
        let before = optimizer.save().unwrap();
        let error = load(&uncounted, &NAMES, &mut optimizer).unwrap_err().to_string();
        let told = format!("`weight` has no `step`, and the steps of `{name}` depend");
        assert!(error.contains(&told), "{error}");
        assert_eq!(optimizer.save().unwrap(), before);
        load(&file("adamw"), &NAMES, &mut optimizer).unwrap();
    }
    let UpdateRule::Lars(rule) = UpdateRule::larc(0.1) else { unreachable!() };
    let mut lars = with_rule("momentum", UpdateRule::Lars(Lars { momentum: 0.9, ..rule }));
    load(&file("momentum"), &NAMES, &mut lars).unwrap();
    assert_eq!(lars.save().unwrap()[0].applied, 1);
}

#[test]
fn a_rule_that_keeps_a_running_norm_is_refused_by_name() {
    let mut optimizer = with_rule("adamw", UpdateRule::novograd(0.01));
    let error = load(&file("adamw"), &NAMES, &mut optimizer).unwrap_err().to_string();
    assert!(error.contains("`weight` is moved by `novograd`, which keeps a running"), "{error}");
}
