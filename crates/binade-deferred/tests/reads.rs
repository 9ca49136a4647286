//! Reads: the calls that are one, those that are refused, and the time when an error shows.

mod common;

use binade_autocast::Autocast;
use binade_core::{DType, Error as _, ErrorKind, GradSet, Named};
use binade_deferred::{Deferred, Error, Gradients};
use binade_grad_scaler::{ClipGroup, GradOps, GradScaler, Norm, ScaleState, ScaleStore};
use binade_master_weights::{HostOptimizer, MasterWeights, Plan, UpdateRule};
use binade_ops::{Download, MatMul, Mul, Upload};
use common::tensor;

#[test]
fn a_read_runs_the_queue_and_counts() {
    let device = Deferred::new();
    let x = device.upload(&[1.0, 2.0], &[2], DType::F32).unwrap();
    let y = device.mul(&x, &x).unwrap();
    assert_eq!((device.waiting(), device.reads()), (1, 0));
    assert_eq!(device.download(&y).unwrap(), [1.0, 4.0]);
    assert_eq!((device.waiting(), device.reads()), (0, 1));
}

#[test]
fn a_strict_device_refuses_what_nobody_announced_and_names_the_call() {
    let device = Deferred::strict();
    let x = tensor(&device, &[2], 1, DType::F32);
    let error = device.download(&x).unwrap_err();
    assert_eq!((error.kind(), device.reads()), (ErrorKind::Unsupported, 0));
    let text = error.to_string();
    assert!(text.contains("`download`") && text.contains("device.window()"), "{text}");
    let window = device.window();
    assert!(device.download(&x).is_ok());
    drop(window);
    assert_eq!(device.to_bits(&x), Err(Error::Refused { call: "to_bits" }));
    assert_eq!(device.reads(), 1);
}

#[test]
fn windows_nest_and_close_by_panic_too() {
    let device = Deferred::strict();
    let x = tensor(&device, &[2], 1, DType::F32);
    let outer = device.window();
    let inside = device.clone();
    let panicked = std::thread::spawn(move || {
        let _inner = inside.window();
        panic!("in a window");
    });
    assert!(panicked.join().is_err());
    assert!(device.download(&x).is_ok(), "the outer one is open");
    drop(outer);
    assert!(device.download(&x).is_err());
}

#[test]
fn an_optimizer_that_reads_the_verdict_is_found_out() {
    let device = Deferred::strict();
    let scale = device.upload_state(ScaleState::from_exponent(0)).unwrap();
    let mut grads: Gradients =
        vec![Named::new("w", Some(tensor(&device, &[2], 1, DType::F32)))].into();
    let found = device.unscale(&mut grads, &scale).unwrap();
    let mut optimizer = HostOptimizer::new(device.clone(), |_| Ok(()));
    let error = binade_core::Optimizer::step(&mut optimizer, grads.clone(), &found).unwrap_err();
    assert_eq!(error, Error::Refused { call: "is_raised" });
    let values = device.materialise(grads).unwrap();
    assert_eq!(device.reads(), 0, "showing tensors is not looking at them");
    let _window = device.window();
    let expected = common::values(2, 1);
    assert_eq!(device.download(values[0].value.as_ref().unwrap()).unwrap(), expected);
}

#[test]
fn what_is_wrong_with_values_shows_when_they_are_read_wherever_they_went() {
    let device = Deferred::new();
    let table = tensor(&device, &[3, 2], 1, DType::F32);
    let indices = device.upload_i64(&[0, 7], &[2]).unwrap();
    let rows = binade_ops::Embedding::embedding(&device, &table, &indices).unwrap();
    let product = device.matmul(&rows, &rows).unwrap();
    let low = device.cast(&product, DType::F16).unwrap();
    let error = device.download(&low).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("index 7"), "{error}");
    assert!(device.download(&table).is_ok());
}

#[test]
fn what_is_wrong_with_sets_is_refused_at_once_and_moves_nothing() {
    let device = Deferred::strict();
    let set = |name: &str, shape: &[usize]| -> Gradients {
        vec![Named::new(name, Some(tensor(&device, shape, 1, DType::F32)))].into()
    };
    let scale = device.upload_state(ScaleState::from_exponent(0)).unwrap();
    let found = device.unscale(&mut set("w", &[2]), &scale).unwrap();
    let mut params = vec![Named::new("w", tensor(&device, &[2], 2, DType::F32))];
    let plan = Plan::new(UpdateRule::sgd(1.0)).unwrap();
    let mut masters = device.masters(&mut params, &plan).unwrap();
    for wrong in [set("w", &[3]), set("v", &[2])] {
        let error = device.step(&mut params, &mut masters, wrong.clone(), &found).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
        let error = device.accumulate(Some(set("w", &[2])), wrong, &found).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
    }
    let stranger = plan.clone().with_group(["x"], UpdateRule::sgd(1.0)).unwrap();
    assert!(device.set_plan(&mut masters, &stranger).unwrap_err().to_string().contains("`x`"));
    let momenta = Plan::new(UpdateRule::adam(1.0)).unwrap();
    assert!(device.set_plan(&mut masters, &momenta).is_err(), "SGD keeps no moments");
    let mut verdict = found;
    for max in [0.0, -1.0, f32::NAN] {
        let error = device.clip_norm(&mut set("w", &[2]), Norm::L2, max, &mut verdict).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(device.clip_value(&mut set("w", &[2]), max).is_err());
    }
    let _window = device.window();
    assert_eq!(device.download(&params[0].value).unwrap(), common::values(2, 2));
}

#[test]
fn a_step_without_any_gradient_reads_the_verdict_and_is_refused_unless_it_is_skipped() {
    let device = Deferred::strict();
    let mut params = vec![Named::new("w", tensor(&device, &[2], 2, DType::F32))];
    let plan = Plan::new(UpdateRule::sgd(1.0)).unwrap();
    let mut masters = device.masters(&mut params, &plan).unwrap();
    for diverged in [true, false] {
        let state = ScaleState { diverged, ..ScaleState::from_exponent(0) };
        let scale = device.upload_state(state).unwrap();
        let mut none: Gradients = vec![Named::new("w", None)].into();
        let found = device.unscale(&mut none, &scale).unwrap();
        let before = device.reads();
        let outcome = device.step(&mut params, &mut masters, none, &found);
        let kind = outcome.err().map(|error| error.kind());
        assert_eq!(kind, (!diverged).then_some(ErrorKind::InvalidArgument));
        assert_eq!(device.reads(), before + 1);
    }
    let _window = device.window();
    assert_eq!(device.download(&params[0].value).unwrap(), common::values(2, 2));
}

#[test]
fn a_parameter_that_joins_late_is_refused_at_once() {
    let device = Deferred::strict();
    let w = || tensor(&device, &[2], 1, DType::F32);
    let scale = device.upload_state(ScaleState::from_exponent(0)).unwrap();
    let mut params = vec![];
    let plan = Plan::new(UpdateRule::sgd(1.0)).unwrap();
    let mut masters = device.masters(&mut params, &plan).unwrap();
    params.push(Named::new("late", w()));
    let mut grads: Gradients = vec![Named::new("late", Some(w()))].into();
    let found = device.unscale(&mut grads, &scale).unwrap();
    let error = device.step(&mut params, &mut masters, grads, &found).unwrap_err();
    assert!(error.to_string().starts_with("`late`: it joined after"), "{error}");
}

#[test]
fn a_learning_rate_moves_with_the_plan_in_the_order_of_the_calls() {
    let device = Deferred::new();
    let scale = device.upload_state(ScaleState::from_exponent(0)).unwrap();
    let ones = || device.upload(&[1.0], &[1], DType::F32).unwrap();
    let mut params = vec![Named::new("w", ones())];
    let mut masters =
        device.masters(&mut params, &Plan::new(UpdateRule::sgd(0.5)).unwrap()).unwrap();
    let mut step = |masters: &mut _| {
        let mut grads: Gradients = vec![Named::new("w", Some(ones()))].into();
        let found = device.unscale(&mut grads, &scale).unwrap();
        device.step(&mut params, masters, grads, &found).unwrap();
        params[0].value.clone()
    };
    let first = step(&mut masters);
    device.set_plan(&mut masters, &Plan::new(UpdateRule::sgd(0.25)).unwrap()).unwrap();
    let second = step(&mut masters);
    assert_eq!(device.download(&second).unwrap(), [0.25]);
    assert_eq!(device.download(&first).unwrap(), [0.5], "what was handed out stays");
}

#[test]
fn a_value_of_another_device_is_refused_and_not_waited_for() {
    let (here, there) = (Deferred::new(), Deferred::new());
    let x = tensor(&there, &[2], 1, DType::F32);
    let y = there.mul(&x, &x).unwrap();
    let z = here.mul(&y, &y).unwrap();
    assert_eq!(here.download(&z).unwrap_err(), Error::Foreign);
}

#[test]
fn clipping_by_groups_reads_nothing_and_refuses_at_once() {
    let device = Deferred::strict();
    let scale = device.upload_state(ScaleState::from_exponent(0)).unwrap();
    let set = |name| Named::new(name, Some(tensor(&device, &[2], 2, DType::F32)));
    let mut grads: Gradients = vec![set("a"), set("b")].into();
    let mut found = device.unscale(&mut grads, &scale).unwrap();
    let group = |names: &[&str], max| ClipGroup::new(names.iter().copied(), Norm::L2, max);
    for (wrong, kind) in [
        ([group(&["a"], 1.0), group(&["b"], 0.0)], ErrorKind::InvalidArgument),
        ([group(&["a"], 1.0), group(&["a"], 1.0)], ErrorKind::Mismatch),
        ([group(&["a"], 1.0), group(&["x"], 1.0)], ErrorKind::Mismatch),
    ] {
        let error = device.clip_groups(&mut grads, &wrong, &mut found).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
    }
    let norm = common::values(2, 2).iter().map(|x| x * x).sum::<f32>().sqrt();
    device.clip_groups(&mut grads, &[group(&["b"], norm / 2.0)], &mut found).unwrap();
    assert_eq!(device.reads(), 0);
    let values = device.materialise(grads).unwrap();
    let _window = device.window();
    let [a, b] = [0, 1].map(|at| values[at].value.as_ref().unwrap());
    assert_eq!(device.download(a).unwrap(), common::values(2, 2));
    for (b, whole) in device.download(b).unwrap().iter().zip(common::values(2, 2)) {
        assert!((b / whole - 0.5).abs() < 1e-6, "{b} of {whole}");
    }
}
