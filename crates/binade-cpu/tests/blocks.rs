//! Work that is cut into blocks: each row is computed from its own operands, on any number of threads.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use crate::calls::{Operand, rows, run};
use binade_core::ops::*;
use binade_core::{DType, stochastic::Key};
use binade_cpu::{Cpu, Tensor};

/// A tensor of f32, its values from a range of the seed's own.
fn tensor(shape: &[usize], seed: u8) -> Tensor {
    let least = f32::from(seed) / 8.0 - 0.5;
    Operand { dtype: DType::F32, shape: shape.to_vec(), least }.put(&Cpu)
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    // Large enough that every operation is cut into blocks: see `parallel::is_worth_threads`.
    for row in [DType::BF16, DType::F16, DType::F32].into_iter().flat_map(|it| rows(370, it)) {
        assert_threads(&format!("{:?}", row.0), || run(&Cpu, &row).unwrap());
    }
    let wide = tensor(&[4, 50_003], 1);
    let key = Key { seed: 7, parameter: 1, step: 2 };
    for to in [DType::BF16, DType::F16, DType::E4M3, DType::E5M2] {
        assert_threads(to.name(), || vec![Cpu.cast_stochastic(&wide, to, key).unwrap()]);
    }
}

/// Holds two threads and three to the bits of one.
fn assert_threads(what: &str, work: impl Fn() -> Vec<Tensor> + Sync) {
    let [one, two, three] = [1, 2, 3].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| work().iter().map(Tensor::to_bits).collect::<Vec<_>>())
    });
    assert!(two == one && three == one, "{what}");
}

/// Returns the last row along the first axis.
fn last(of: &Tensor) -> Tensor {
    let shape = [&[1], &of.shape()[1..]].concat();
    let values = of.to_f32();
    let width = shape.iter().product::<usize>();
    Tensor::new(values[values.len() - width..].to_vec(), &shape).unwrap()
}

/// Asserts that the last row of `f` of two operands of `shape` equals `f` of their last rows.
fn assert_alone(what: &str, shape: &[usize], f: impl Fn(&Tensor, &Tensor) -> Tensor) {
    let [a, b] = [1, 2].map(|seed| tensor(shape, seed));
    assert!(last(&f(&a, &b)).to_bits() == f(&last(&a), &last(&b)).to_bits(), "{what}");
}

#[test]
fn a_row_of_a_later_block_is_what_it_is_alone() {
    // A block is 2^14 operations: 256 rows of 8 exponentials, 256 rows of 64 elements.
    let rows = [300, 8];
    assert_alone("softmax", &rows, |x, _| Cpu.softmax(x).unwrap());
    assert_alone("softmax backward", &rows, |g, y| Cpu.softmax_backward(g, y).unwrap());
    assert_alone("log_softmax backward", &rows, |g, y| Cpu.log_softmax_backward(g, y).unwrap());
    let [w, b] = [3, 4].map(|seed| tensor(&[64], seed));
    assert_alone("layer_norm", &[300, 64], |x, _| Cpu.layer_norm(x, &w, &b, 1e-5).unwrap());
    assert_alone("layer_norm backward", &[300, 64], |g, x| {
        Cpu.layer_norm_backward(g, x, &w, 1e-5).unwrap().input
    });
}

#[test]
fn an_image_of_a_later_block_is_what_it_is_alone() {
    let bias = tensor(&[3], 3);
    assert_alone("bias_add", &[1200, 3, 1, 5], |x, _| Cpu.bias_add(x, &bias).unwrap());
    let config = MaxPool2dConfig::square(2);
    let pooled = |x: &Tensor| Cpu.max_pool2d(x, config).unwrap();
    assert_alone("max_pool2d", &[1100, 1, 4, 4], |x, _| pooled(x));
    assert_alone("max_pool2d backward", &[1100, 1, 4, 4], |x, g| {
        Cpu.max_pool2d_backward(&pooled(g), x, config).unwrap()
    });
}
