//! Weights of a safetensors file by torchvision's names.

use crate::common::{file, small};
use binade_example_imagenet::args::Args;
use binade_example_imagenet::model::{Arch, Resnet, Sizes};
use binade_example_imagenet::report::Run;
use binade_example_imagenet::session;
use std::fmt::Write as _;
use std::fs;

type Tensor = (String, Vec<usize>, Vec<f32>);

/// Returns a file of these tensors, as the format's specification has it: a length, a header and the elements.
fn safetensors(tensors: &[Tensor]) -> Vec<u8> {
    let (mut header, mut elements) = (String::from("{"), Vec::new());
    for (name, shape, values) in tensors {
        let first = elements.len();
        elements.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        let comma = if first == 0 { "" } else { "," };
        let (end, dtype) = (elements.len(), r#""dtype":"F32""#);
        write!(
            header,
            r#"{comma}"{name}":{{{dtype},"shape":{shape:?},"data_offsets":[{first},{end}]}}"#
        )
        .unwrap();
    }
    header.push('}');
    let length = (header.len() as u64).to_le_bytes();
    [&length[..], header.as_bytes(), &elements].concat()
}

/// Returns a model whose logits are 48 for one class and 0 for the seven others, whatever the image.
fn tensors() -> Vec<Tensor> {
    let resnet = Resnet::new(Sizes { arch: Arch::Resnet18, width: 4, classes: 8 }, false);
    let mut all = Vec::new();
    for (name, shape) in resnet.shapes() {
        let mut values = vec![0.0; shape.iter().product()];
        if name == "fc.bias" {
            values[3] = 48.0;
        }
        all.push((name.to_owned(), shape.to_vec(), values));
        if let Some(norm) = name.strip_suffix(".bias").filter(|norm| *norm != "fc") {
            for (running, value) in [("running_mean", 0.0), ("running_var", 1.0)] {
                all.push((format!("{norm}.{running}"), shape.to_vec(), vec![value; shape[0]]));
            }
        }
    }
    all
}

/// Trains an epoch from these bytes, at a rate that moves nothing.
fn from(name: &str, bytes: &[u8]) -> Result<Run, String> {
    let path = file(name);
    fs::write(&path, bytes).unwrap();
    let args = Args { pretrained: Some(path), ..small("--opt-level O0 --epochs 1 --lr 1e-30") };
    session::train(&args).map_err(|error| error.to_string())
}

#[test]
fn training_starts_from_a_files_weights() {
    let run = from("pretrained.safetensors", &safetensors(&tensors())).unwrap();
    // The right class is one of eight.
    for loss in [f64::from(run.curve[0].train), run.last.loss] {
        assert!((loss - 42.0).abs() < 1e-3, "{loss}");
    }
    assert_eq!(run.last.top1, 12.5);
}

#[test]
fn a_file_that_does_not_fit_is_refused_by_name() {
    let told = |name, bytes: &[u8]| {
        let told = from(name, bytes).unwrap_err();
        told.strip_prefix(&format!("--pretrained {}: ", file(name).display()))
            .expect(&told)
            .to_owned()
    };
    let (mut without, mut other) = (tensors(), tensors());
    without.retain(|(name, ..)| name != "bn1.running_var");
    assert_eq!(told("without.safetensors", &safetensors(&without)), "it has no `bn1.running_var`");
    for (name, shape, values) in &mut other {
        if name == "fc.weight" {
            (*shape, *values) = (vec![9, 32], vec![0.0; 9 * 32]);
        }
    }
    assert_eq!(
        told("other.safetensors", &safetensors(&other)),
        "its `fc.weight` is f32 [9, 32], and this model's is [8, 32]; is it another model, or of other classes?"
    );
    let told = told("none.safetensors", b"none");
    assert!(told.starts_with("it is no safetensors file: "), "{told}");
}
