//! Rows beyond the first block: each is computed from its own operands.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use binade_core::DType;
use binade_cpu::{Cpu, Tensor};
use binade_ops::*;
use common::{assert_same_bits, tensor};

/// The last row along the first axis.
fn last(of: &Tensor) -> Tensor {
    let shape = [&[1], &of.shape()[1..]].concat();
    let values = of.to_f32();
    let width = shape.iter().product::<usize>();
    Tensor::new(values[values.len() - width..].to_vec(), &shape).unwrap()
}

/// Holds the last row of `f` of two operands of `shape` to `f` of their last rows.
fn assert_alone(what: &str, shape: &[usize], f: impl Fn(&Tensor, &Tensor) -> Tensor) {
    let [a, b] = [1, 2].map(|seed| tensor(shape, seed, DType::F32));
    assert_same_bits(&last(&f(&a, &b)), &f(&last(&a), &last(&b)), what);
}

#[test]
fn a_row_of_a_later_block_is_what_it_is_alone() {
    // A block is 2^14 operations: 256 rows of 8 exponentials, 256 rows of 64 elements.
    let rows = [300, 8];
    assert_alone("softmax", &rows, |x, _| Cpu.softmax(x).unwrap());
    assert_alone("softmax backward", &rows, |g, y| Cpu.softmax_backward(g, y).unwrap());
    assert_alone("log_softmax backward", &rows, |g, y| Cpu.log_softmax_backward(g, y).unwrap());
    let [w, b] = [3, 4].map(|seed| tensor(&[64], seed, DType::F32));
    assert_alone("layer_norm", &[300, 64], |x, _| Cpu.layer_norm(x, &w, &b, 1e-5).unwrap());
    assert_alone("layer_norm backward", &[300, 64], |g, x| {
        Cpu.layer_norm_backward(g, x, &w, 1e-5).unwrap().input
    });
}

#[test]
fn an_image_of_a_later_block_is_what_it_is_alone() {
    let bias = tensor(&[3], 3, DType::F32);
    assert_alone("bias_add", &[1200, 3, 1, 5], |x, _| Cpu.bias_add(x, &bias).unwrap());
    let config = MaxPool2dConfig::square(2);
    let pooled = |x: &Tensor| Cpu.max_pool2d(x, config).unwrap();
    assert_alone("max_pool2d", &[1100, 1, 4, 4], |x, _| pooled(x));
    assert_alone("max_pool2d backward", &[1100, 1, 4, 4], |x, g| {
        Cpu.max_pool2d_backward(&pooled(g), x, config).unwrap()
    });
}
