//! The gradient of an input is computed only if it can arrive somewhere.

use crate::common::{f32s, named, tensor};
use binade_autocast::Region;
use binade_conformance::counting::Counting;
use binade_core::ops::Conv2dConfig;
use binade_cpu::Cpu;
use binade_tape::{Tape, Var};

/// Methods that compute the gradient of an input.
const OF_INPUT: [&str; 3] = ["linear_backward", "linear_relu_backward", "conv2d_backward"];

type Layer = fn(&Var<Counting<Cpu>>, &[Var<Counting<Cpu>>]) -> Var<Counting<Cpu>>;

/// Returns the gradients of the weight and bias of `layer`, and the number of gradients of inputs computed for them.
fn grads(of_input: bool, shapes: [&[usize]; 3], layer: Layer) -> (Vec<Vec<f32>>, u64) {
    let device = Counting::new(Cpu);
    let tape = Tape::new(device.clone(), &Region::bf16().off());
    let [x, w, b] = shapes;
    let parameters = tape.parameters(&[named("weight", w, 2), named("bias", b, 3)]);
    let x = tensor(x, 1);
    let input = if of_input { tape.variable(x) } else { tape.constant(x) };
    let grads = layer(&input, &parameters).sum().unwrap().backward::<Vec<_>>().unwrap();
    let calls = device.calls();
    let of_input = calls.iter().filter(|calls| OF_INPUT.contains(&calls.method));
    let count = of_input.map(|calls| calls.count).sum();
    (grads.iter().map(|grad| f32s(grad.value.as_ref().unwrap())).collect(), count)
}

#[test]
fn a_layer_of_a_constant_computes_no_gradient_of_it() {
    let affine: [&[usize]; 3] = [&[3, 4], &[5, 4], &[5]];
    let layers: [([&[usize]; 3], Layer); 3] = [
        (affine, |x, p| x.linear(&p[0], Some(&p[1])).unwrap()),
        (affine, |x, p| x.linear_relu(&p[0], Some(&p[1])).unwrap()),
        ([&[2, 1, 4, 4], &[3, 1, 2, 2], &[3]], |x, p| {
            x.conv2d(&p[0], Some(&p[1]), Conv2dConfig::default()).unwrap()
        }),
    ];
    for (shapes, layer) in layers {
        let (without, none) = grads(false, shapes, layer);
        let (with, one) = grads(true, shapes, layer);
        assert_eq!((none, one), (0, 1), "{shapes:?}");
        assert_eq!(without, with, "{shapes:?}");
    }
}
