//! The gradient of an input is computed only if it can arrive somewhere.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use binade_autocast::{Autocast, Region};
use binade_core::{DType, Handle};
use binade_cpu::{Cpu, Error, Tensor};
use binade_ops::{Conv2dConfig, Invoke, OpInvocation, Shaped, forward_ops};
use binade_tape::{Tape, Var};
use common::{f32s, named, tensor};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// CPU that counts the gradients of inputs it was asked for.
#[derive(Clone, Debug, Default)]
struct Counting(Arc<AtomicU64>);

impl Counting {
    fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Handle for Counting {
    type Tensor = Tensor;
    type Error = Error;
}

impl Autocast for Counting {
    fn dtype(&self, tensor: &Tensor) -> DType {
        Autocast::dtype(&Cpu, tensor)
    }

    fn cast(&self, tensor: &Tensor, to: DType) -> Result<Tensor, Error> {
        Cpu.cast(tensor, to)
    }
}

impl Shaped for Counting {
    fn shape(&self, tensor: &Tensor) -> Vec<usize> {
        Shaped::shape(&Cpu, tensor)
    }
}

impl Invoke for Counting {
    fn invoke(&self, call: &OpInvocation, operands: &[&Tensor]) -> Result<Vec<Tensor>, Error> {
        use OpInvocation::{Conv2dBackward, LinearBackward, LinearReluBackward};
        if let LinearBackward { .. } | LinearReluBackward { .. } | Conv2dBackward { .. } = call {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        call.run(&Cpu, operands).unwrap()
    }
}

forward_ops!([] Counting);

type Layer = fn(&Var<Counting>, &[Var<Counting>]) -> Var<Counting>;

/// Returns the gradients of the weight and bias of `layer`, and the number of gradients of inputs computed for them.
fn grads(of_input: bool, shapes: [&[usize]; 3], layer: Layer) -> (Vec<Vec<f32>>, u64) {
    let device = Counting::default();
    let tape = Tape::new(device.clone(), &Region::bf16().off());
    let [x, w, b] = shapes;
    let parameters = tape.parameters(&[named("weight", w, 2), named("bias", b, 3)]);
    let x = tensor(x, 1);
    let input = if of_input { tape.variable(x) } else { tape.constant(x) };
    let grads = layer(&input, &parameters).sum().unwrap().backward::<Vec<_>>().unwrap();
    (grads.iter().map(|grad| f32s(grad.value.as_ref().unwrap())).collect(), device.count())
}

fn assert_counted(shapes: [&[usize]; 3], layer: Layer) {
    let (without, none) = grads(false, shapes, layer);
    let (with, one) = grads(true, shapes, layer);
    assert_eq!((none, one), (0, 1));
    assert_eq!(without, with);
}

#[test]
fn a_linear_layer_of_a_constant_computes_no_gradient_of_it() {
    assert_counted([&[3, 4], &[5, 4], &[5]], |x, p| x.linear(&p[0], Some(&p[1])).unwrap());
}

#[test]
fn a_linear_layer_with_its_unit_computes_no_gradient_of_a_constant_either() {
    assert_counted([&[3, 4], &[5, 4], &[5]], |x, p| x.linear_relu(&p[0], Some(&p[1])).unwrap());
}

#[test]
fn a_convolution_of_a_constant_computes_no_gradient_of_it() {
    assert_counted([&[2, 1, 4, 4], &[3, 1, 2, 2], &[3]], |x, p| {
        x.conv2d(&p[0], Some(&p[1]), Conv2dConfig::default()).unwrap()
    });
}
