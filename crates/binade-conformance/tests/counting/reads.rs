//! Reads: the calls that count as one, the refused ones, and the reported place.

use binade_conformance::counting::{Counted, Counting, CountingError};
use binade_core::ops::{Download, Mean, Mul, Shaped, Upload};
use binade_core::{DType, Error as _, ErrorKind, GradSet, Named};
use binade_cpu::{Cpu, Gradients, Tensor};
use binade_grad_scaler::{GradScaler, LossScale, ScaleState, ScaleStore, Scaler};
use binade_master_weights::HostOptimizer;

const VALUES: [f32; 2] = [0.5, -0.25];

fn tensor(device: &Counting<Cpu>) -> Tensor {
    device.upload(&VALUES, &[2], DType::F32).unwrap()
}

/// Numbers of reads and of other calls.
fn counts(device: &Counting<Cpu>) -> [u64; 2] {
    let all: u64 = device.calls().iter().map(|calls| calls.count).sum();
    [device.reads(), all - device.reads()]
}

#[test]
fn calls_are_counted_by_method_and_reads_are_told_with_their_line() {
    let device = Counting::new(Cpu);
    let x = device.upload(&[1.0, 2.0], &[2], DType::F32).unwrap();
    let y = device.mul(&x, &x).unwrap();
    assert_eq!(counts(&device), [0, 2]);
    for _ in 0..2 {
        assert_eq!(device.clone().download(&y).unwrap(), [1.0, 4.0]);
    }
    let (line, file) = (line!() - 2, file!());
    assert_eq!(counts(&device), [2, 2]);
    let told = device.to_string();
    assert!(told.starts_with(&format!("2 reads by download at {file}:{line}:")), "{told}");
    assert!(told.ends_with("\n1 call of mul\n1 call of upload\n"), "{told}");
}

#[test]
fn shapes_and_types_are_known_without_a_call() {
    let device = Counting::strict(Cpu);
    let x = tensor(&device);
    let mean = device.mean(&x).unwrap();
    let before = counts(&device);
    assert_eq!((device.shape(&x), device.element_count(&x)), (vec![2], 2));
    assert_eq!((device.shape(&mean), device.element_count(&mean)), (vec![], 1));
    assert_eq!(binade_autocast::Autocast::dtype(&device, &x), DType::F32);
    assert_eq!(counts(&device), before);
}

#[test]
fn a_strict_device_refuses_what_nobody_announced_and_names_the_call() {
    let device = Counting::strict(Cpu);
    let x = tensor(&device);
    let error = device.download(&x).unwrap_err();
    assert_eq!((error.kind(), device.reads()), (ErrorKind::Unsupported, 0));
    let text = error.to_string();
    assert!(text.starts_with(&format!("`download` at {}:", file!())), "{text}");
    assert!(text.contains("device.window()"), "{text}");
    let window = device.window();
    assert!(device.download(&x).is_ok());
    drop(window);
    assert!(device.download(&x).is_err());
    assert_eq!(device.reads(), 1);
}

#[test]
fn windows_nest_and_close_by_panic_too() {
    let device = Counting::strict(Cpu);
    let x = tensor(&device);
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
    let device = Counting::strict(Cpu);
    let scale = device.upload_state(ScaleState::from_exponent(0)).unwrap();
    let mut grads: Gradients = vec![Named::new("w", Some(tensor(&device)))].into();
    let found = device.unscale(&mut grads, &scale).unwrap();
    let mut optimizer = HostOptimizer::new(device.clone(), |_| Ok(()));
    let error = binade_core::Optimizer::step(&mut optimizer, grads.clone(), &found).unwrap_err();
    assert!(matches!(error, CountingError::Refused { method: "is_raised", .. }), "{error}");
    let shown = device.materialise(grads).unwrap();
    assert_eq!(device.reads(), 0, "showing tensors is not looking at them");
    let _window = device.window();
    assert_eq!(device.download(shown[0].value.as_ref().unwrap()).unwrap(), VALUES);
}

#[test]
fn a_loss_of_the_device_is_scaled_and_counted_by_its_wrapper() {
    let device = Counting::new(Cpu);
    let rule = LossScale::dynamic().with_init_scale(8.0).unwrap();
    let scaler = Scaler::new(device.clone(), rule).unwrap();
    let loss = Counted(tensor(&device));
    let mut shown = Vec::new();
    let grads = scaler.scale(&loss).unwrap().backward(|loss| {
        shown = device.download(&loss.0)?;
        Ok(vec![Named::new("w", Some(loss.0.clone()))].into())
    });
    drop(grads.unwrap().unscale().unwrap());
    assert_eq!(shown, VALUES.map(|x| x * 8.0));
    assert_eq!(device.calls().iter().filter(|calls| calls.method == "scaled").count(), 1);
}
