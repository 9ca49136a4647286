//! A wrapper whose operations are made by `forward_ops!`, with operands, values and results of every kind.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use binade_core::{DType, Handle};
use binade_cpu::{Cpu, Error, Tensor};
use binade_ops::{
    BatchNorm, BatchNormConfig, Conv2d, Conv2dConfig, Fill, Invoke, Linear, Mul, OpInvocation,
    Reshape, RunningStats, Sum, forward_ops,
};

/// CPU that drops the last result of every call beyond a number of results.
struct Wrapper {
    results: usize,
}

impl Handle for Wrapper {
    type Tensor = Tensor;
    type Error = Error;
}

impl Invoke for Wrapper {
    fn invoke(&self, call: &OpInvocation, operands: &[&Tensor]) -> Result<Vec<Tensor>, Error> {
        let mut results = call.run(&Cpu, operands).unwrap()?;
        results.truncate(self.results);
        Ok(results)
    }
}

forward_ops!([] Wrapper);

const WHOLE: Wrapper = Wrapper { results: usize::MAX };

fn tensor(shape: &[usize], first: f32) -> Tensor {
    let len = shape.iter().product();
    let values: Vec<f32> = (0_u8..).take(len).map(|i| first + f32::from(i)).collect();
    Tensor::new(values, shape).unwrap()
}

fn bits(tensors: &[&Tensor]) -> Vec<(Vec<usize>, Vec<u32>)> {
    let one = |tensor: &&Tensor| {
        let values = binade_ops::Download::download(&Cpu, tensor).unwrap();
        (tensor.shape().to_vec(), values.into_iter().map(f32::to_bits).collect())
    };
    tensors.iter().map(one).collect()
}

#[test]
fn a_wrapper_has_the_results_of_its_device() {
    let (x, w, bias) = (tensor(&[2, 3], 1.0), tensor(&[4, 3], -2.0), tensor(&[4], 0.5));
    let ours = WHOLE.fill(2.0, &[3], DType::F16).unwrap();
    assert_eq!(bits(&[&ours]), bits(&[&Cpu.fill(2.0, &[3], DType::F16).unwrap()]));
    let ours = WHOLE.reshape(&x, &[3, 2]).unwrap();
    assert_eq!(bits(&[&ours]), bits(&[&Cpu.reshape(&x, &[3, 2]).unwrap()]));
    for bias in [Some(&bias), None] {
        let ours = WHOLE.linear(&x, &w, bias).unwrap();
        assert_eq!(bits(&[&ours]), bits(&[&Cpu.linear(&x, &w, bias).unwrap()]));
    }
    let other = tensor(&[2, 3], 7.0);
    let ours = WHOLE.mul_backward(&x, &x, &other).unwrap();
    assert_eq!(bits(&ours.each_ref()), bits(&Cpu.mul_backward(&x, &x, &other).unwrap().each_ref()));
    let grad = tensor(&[], 3.0);
    let ours = WHOLE.sum_backward(&grad, &[2, 2], DType::BF16).unwrap();
    assert_eq!(bits(&[&ours]), bits(&[&Cpu.sum_backward(&grad, &[2, 2], DType::BF16).unwrap()]));
}

#[test]
fn gradients_with_a_bias_and_without_keep_their_places() {
    let (g, x, w) = (tensor(&[2, 4], 1.0), tensor(&[2, 3], 2.0), tensor(&[4, 3], 3.0));
    for bias in [true, false] {
        let ours = WHOLE.linear_backward(&g, &x, &w, bias).unwrap();
        let cpu = Cpu.linear_backward(&g, &x, &w, bias).unwrap();
        assert_eq!(bits(&[&ours.input, &ours.weight]), bits(&[&cpu.input, &cpu.weight]));
        assert_eq!((ours.bias.is_some(), cpu.bias.is_some()), (bias, bias));
        let alone = WHOLE.linear_backward_of_weight(&g, &x, &w, bias).unwrap();
        assert_eq!(bits(&[&alone.weight]), bits(&[&cpu.weight]));
        let biases = [&ours.bias, &alone.bias, &cpu.bias];
        let [ours, alone, cpu] = biases.map(|bias| bits(&bias.iter().collect::<Vec<_>>()));
        assert_eq!((ours, alone), (cpu.clone(), cpu));
    }
}

#[test]
fn a_configuration_goes_through() {
    let (input, weight) = (tensor(&[1, 1, 3, 3], 1.0), tensor(&[1, 1, 2, 2], 1.0));
    let (grad, config) =
        (tensor(&[1, 1, 4, 4], 5.0), Conv2dConfig { padding: [1, 1], ..Conv2dConfig::default() });
    let ours = WHOLE.conv2d_backward(&grad, &input, &weight, true, config).unwrap();
    let cpu = Cpu.conv2d_backward(&grad, &input, &weight, true, config).unwrap();
    let [ours, cpu] = [ours, cpu].map(|it| bits(&[&it.input, &it.weight, &it.bias.unwrap()]));
    assert_eq!(ours, cpu);
}

#[test]
fn running_statistics_go_in_and_come_out_as_mean_and_variance() {
    let (x, w, b) = (tensor(&[3, 2], 1.0), tensor(&[2], 1.0), tensor(&[2], 4.0));
    let running = RunningStats { mean: tensor(&[2], 6.0), var: tensor(&[2], 9.0) };
    let config = BatchNormConfig::default();
    let ours = WHOLE.batch_norm(&x, &w, &b, &running, config).unwrap();
    let cpu = Cpu.batch_norm(&x, &w, &b, &running, config).unwrap();
    let [ours, cpu] = [ours, cpu].map(|it| bits(&[&it.output, &it.running.mean, &it.running.var]));
    assert_eq!(ours, cpu);
}

#[test]
#[should_panic(expected = "`invoke` returned 1 results for `mul_backward`")]
fn another_number_of_results_is_told_with_the_method() {
    let x = tensor(&[2], 1.0);
    let _ = Wrapper { results: 1 }.mul_backward(&x, &x, &x);
}
