//! Every operation as a case, of a size its caller chooses.

use super::{Bound, Case, oracle};
use binade_cpu::{Cpu, Error, Tensor};
use binade_ops::{
    Add, AffineGrads, BatchNorm, BatchNormConfig, BiasAdd, Bmm, Conv2d, Conv2dConfig, CrossEntropy,
    Embedding, Gelu, LayerNorm, Linear, LinearRelu, LogSoftmax, MatMul, MaxPool2d, MaxPool2dConfig,
    Mean, MseLoss, Mul, NormGrads, Relu, RunningStats, Softmax, Sum, Tanh, shape,
};

const EPS: f32 = 1e-5;

/// All cases, at least one for each operation: `n` is an extent, and most tensors have some n² elements.
pub fn all(n: usize) -> Vec<Case> {
    [products(n), convolutions(n), norms(n), losses(n), pointwise(n), movers(n)]
        .into_iter()
        .flatten()
        .collect()
}

pub fn products(n: usize) -> Vec<Case> {
    let (m, k) = (n + 1, 2 * n + 3);
    vec![
        Case {
            name: "matmul",
            shapes: vec![vec![m, k], vec![k, n]],
            oracle: Box::new(oracle::matmul),
            forward: Box::new(|x| Cpu.matmul(&x[0], &x[1])),
            backward: Box::new(|g, x, _| Ok(Cpu.matmul_backward(g, &x[0], &x[1])?.into())),
            bound: Bound::Products(k + 1),
        },
        Case {
            name: "bmm",
            shapes: vec![vec![3, m, k], vec![3, k, n]],
            oracle: Box::new(oracle::bmm),
            forward: Box::new(|x| Cpu.bmm(&x[0], &x[1])),
            backward: Box::new(|g, x, _| Ok(Cpu.bmm_backward(g, &x[0], &x[1])?.into())),
            bound: Bound::Products(k + 1),
        },
        linear(n, true),
        linear(n, false),
        linear_relu(n),
    ]
}

fn linear(n: usize, bias: bool) -> Case {
    let shapes = [vec![n + 1, 2 * n], vec![n, 2 * n], vec![n]];
    Case {
        name: "linear",
        shapes: shapes[..2 + usize::from(bias)].to_vec(),
        oracle: Box::new(oracle::linear),
        forward: Box::new(|x| Cpu.linear(&x[0], &x[1], x.get(2))),
        backward: Box::new(move |g, x, _| Cpu.linear_backward(g, &x[0], &x[1], bias).map(affine)),
        bound: Bound::Products(2 * n + 2),
    }
}

/// Its bound is that of the sum: the slope is 0 or 1.
fn linear_relu(n: usize) -> Case {
    let shapes = vec![vec![n + 1, 2 * n], vec![n, 2 * n], vec![n]];
    Case {
        name: "linear_relu",
        shapes,
        oracle: Box::new(|x| oracle::linear(x).mapv(|x| x.max(0.0))),
        forward: Box::new(|x| Cpu.linear_relu(&x[0], &x[1], x.get(2))),
        backward: Box::new(|g, x, y| {
            Cpu.linear_relu_backward(g, y, &x[0], &x[1], true).map(affine)
        }),
        bound: Bound::Products(2 * n + 2),
    }
}

fn affine(grads: AffineGrads<Tensor>) -> Vec<Tensor> {
    [grads.input, grads.weight].into_iter().chain(grads.bias).collect()
}

pub fn convolutions(n: usize) -> Vec<Case> {
    vec![
        conv2d(n, Conv2dConfig::default(), [3, 3], true),
        conv2d(n, Conv2dConfig { stride: [1, 1], padding: [1, 1] }, [3, 3], false),
        conv2d(n, Conv2dConfig { stride: [2, 3], padding: [2, 1] }, [2, 3], true),
        conv2d(n, Conv2dConfig { stride: [3, 2], padding: [0, 3] }, [1, 2], true),
        max_pool2d(n, MaxPool2dConfig::square(2)),
        max_pool2d(n, MaxPool2dConfig { kernel: [3, 2], stride: [1, 2], padding: [1, 1] }),
    ]
}

fn conv2d(n: usize, config: Conv2dConfig, [kh, kw]: [usize; 2], bias: bool) -> Case {
    let shapes = [vec![3, 2, n + 2, n + 3], vec![4, 2, kh, kw], vec![4]];
    let output = shape::conv2d(&shapes[0], &shapes[1], None, config).unwrap();
    let output = <[usize; 4]>::try_from(output).unwrap();
    Case {
        name: "conv2d",
        shapes: shapes[..2 + usize::from(bias)].to_vec(),
        oracle: Box::new(move |x| oracle::conv2d(x, config, output)),
        forward: Box::new(move |x| Cpu.conv2d(&x[0], &x[1], x.get(2), config)),
        backward: Box::new(move |g, x, _| {
            Cpu.conv2d_backward(g, &x[0], &x[1], bias, config).map(affine)
        }),
        bound: Bound::Products(2 * kh * kw + 2),
    }
}

fn max_pool2d(n: usize, config: MaxPool2dConfig) -> Case {
    let input = vec![2, 3, n + 1, n + 2];
    let output = shape::max_pool2d(&input, config).unwrap();
    let output = <[usize; 4]>::try_from(output).unwrap();
    Case {
        name: "max_pool2d",
        shapes: vec![input],
        oracle: Box::new(move |x| oracle::max_pool2d(x, config, output)),
        forward: Box::new(move |x| Cpu.max_pool2d(&x[0], config)),
        backward: Box::new(move |g, x, _| Ok(vec![Cpu.max_pool2d_backward(g, &x[0], config)?])),
        bound: Bound::Units(0.0),
    }
}

pub fn norms(n: usize) -> Vec<Case> {
    vec![
        Case {
            name: "layer_norm",
            shapes: vec![vec![2, n, n + 2], vec![n + 2], vec![n + 2]],
            oracle: Box::new(|x| oracle::layer_norm(x, EPS.into())),
            forward: Box::new(|x| Cpu.layer_norm(&x[0], &x[1], &x[2], EPS)),
            backward: Box::new(|g, x, _| {
                Cpu.layer_norm_backward(g, &x[0], &x[1], EPS).map(norm_grads)
            }),
            bound: Bound::Units(16.0),
        },
        batch_norm(vec![3, n, 2, n]),
        batch_norm(vec![n + 2, n]),
        by_row(
            "softmax",
            n,
            oracle::softmax,
            |x| Cpu.softmax(x),
            |g, y| Cpu.softmax_backward(g, y),
        ),
        by_row(
            "log_softmax",
            n,
            oracle::log_softmax,
            |x| Cpu.log_softmax(x),
            |g, y| Cpu.log_softmax_backward(g, y),
        ),
    ]
}

fn norm_grads(grads: NormGrads<Tensor>) -> Vec<Tensor> {
    vec![grads.input, grads.weight, grads.bias]
}

/// Running statistics that nothing has gone into yet.
pub fn fresh(channels: usize) -> RunningStats<Tensor> {
    let all = |value: f32| Tensor::new(vec![value; channels], &[channels]).unwrap();
    RunningStats { mean: all(0.0), var: all(1.0) }
}

fn batch_norm(input: Vec<usize>) -> Case {
    let channels = input[1];
    Case {
        name: "batch_norm",
        shapes: vec![input, vec![channels], vec![channels]],
        oracle: Box::new(|x| oracle::batch_norm(x, EPS.into())),
        forward: Box::new(move |x| {
            let config = BatchNormConfig::default();
            Ok(Cpu.batch_norm(&x[0], &x[1], &x[2], &fresh(channels), config)?.output)
        }),
        backward: Box::new(|g, x, _| Cpu.batch_norm_backward(g, &x[0], &x[1], EPS).map(norm_grads)),
        bound: Bound::Units(16.0),
    }
}

type Unary = fn(&Tensor) -> Result<Tensor, Error>;
type Binary = fn(&Tensor, &Tensor) -> Result<Tensor, Error>;

/// An operation whose backward takes its result.
fn by_row(
    name: &'static str,
    n: usize,
    oracle: fn(&[super::Reals]) -> super::Reals,
    forward: Unary,
    backward: Binary,
) -> Case {
    Case {
        name,
        shapes: vec![vec![n, n + 4]],
        oracle: Box::new(oracle),
        forward: Box::new(move |x| forward(&x[0])),
        backward: Box::new(move |g, _, y| Ok(vec![backward(g, y)?])),
        bound: Bound::Units(8.0),
    }
}

pub fn losses(n: usize) -> Vec<Case> {
    let labels: Vec<i64> = (0..n as i64).map(|i| i * 5 % (n as i64 + 2)).collect();
    let (classes, on_device) = (n + 2, Tensor::new(labels.clone(), &[n]).unwrap());
    let same = on_device.clone();
    vec![
        Case {
            name: "cross_entropy",
            shapes: vec![vec![n, classes]],
            oracle: Box::new(move |x| oracle::cross_entropy(x, &labels)),
            forward: Box::new(move |x| Cpu.cross_entropy(&x[0], &on_device)),
            backward: Box::new(move |g, x, _| {
                Ok(vec![Cpu.cross_entropy_backward(g, &x[0], &same)?])
            }),
            bound: Bound::Units(4.0),
        },
        Case {
            name: "mse_loss",
            shapes: vec![vec![n, n], vec![n, n]],
            oracle: Box::new(oracle::mse_loss),
            forward: Box::new(|x| Cpu.mse_loss(&x[0], &x[1])),
            backward: Box::new(|g, x, _| Ok(Cpu.mse_loss_backward(g, &x[0], &x[1])?.into())),
            bound: Bound::Units(1.0),
        },
        Case {
            name: "sum",
            shapes: vec![vec![n, n]],
            oracle: Box::new(|x| oracle::scalar(x[0].sum())),
            forward: Box::new(|x| Cpu.sum(&x[0])),
            backward: Box::new(|g, x, _| {
                Ok(vec![Cpu.sum_backward(g, x[0].shape(), x[0].dtype())?])
            }),
            bound: Bound::Units(1.0),
        },
        Case {
            name: "mean",
            shapes: vec![vec![n, n]],
            oracle: Box::new(|x| oracle::scalar(x[0].mean().unwrap())),
            forward: Box::new(|x| Cpu.mean(&x[0])),
            backward: Box::new(|g, x, _| {
                Ok(vec![Cpu.mean_backward(g, x[0].shape(), x[0].dtype())?])
            }),
            bound: Bound::Units(1.0),
        },
    ]
}

pub fn pointwise(n: usize) -> Vec<Case> {
    let map = |f: fn(f64) -> f64| Box::new(move |x: &[super::Reals]| x[0].mapv(f));
    let shapes = |count: usize| vec![vec![n, n + 1]; count];
    vec![
        Case {
            name: "relu",
            shapes: shapes(1),
            oracle: map(|x| x.max(0.0)),
            forward: Box::new(|x| Cpu.relu(&x[0])),
            backward: Box::new(|g, _, y| Ok(vec![Cpu.relu_backward(g, y)?])),
            bound: Bound::Units(0.0),
        },
        Case {
            name: "gelu",
            shapes: shapes(1),
            oracle: map(oracle::gelu),
            forward: Box::new(|x| Cpu.gelu(&x[0])),
            backward: Box::new(|g, x, _| Ok(vec![Cpu.gelu_backward(g, &x[0])?])),
            bound: Bound::Units(1.0),
        },
        Case {
            name: "tanh",
            shapes: shapes(1),
            oracle: map(f64::tanh),
            forward: Box::new(|x| Cpu.tanh(&x[0])),
            backward: Box::new(|g, _, y| Ok(vec![Cpu.tanh_backward(g, y)?])),
            bound: Bound::Units(2.0),
        },
        Case {
            name: "add",
            shapes: shapes(2),
            oracle: Box::new(|x| &x[0] + &x[1]),
            forward: Box::new(|x| Cpu.add(&x[0], &x[1])),
            backward: Box::new(|g, _, _| Ok(Cpu.add_backward(g)?.into())),
            bound: Bound::Units(1.0),
        },
        Case {
            name: "mul",
            shapes: shapes(2),
            oracle: Box::new(|x| &x[0] * &x[1]),
            forward: Box::new(|x| Cpu.mul(&x[0], &x[1])),
            backward: Box::new(|g, x, _| Ok(Cpu.mul_backward(g, &x[0], &x[1])?.into())),
            bound: Bound::Units(1.0),
        },
        bias_add(vec![n + 1, n], 1),
        bias_add(vec![2, n, 3, n], 1),
        bias_add(vec![2, n, 5], 2),
    ]
}

fn bias_add(input: Vec<usize>, axis: usize) -> Case {
    let channels = input[axis];
    Case {
        name: "bias_add",
        shapes: vec![input, vec![channels]],
        oracle: Box::new(move |x| oracle::bias_add(x, axis)),
        forward: Box::new(|x| Cpu.bias_add(&x[0], &x[1])),
        backward: Box::new(|g, _, _| Ok(Cpu.bias_add_backward(g)?.into())),
        bound: Bound::Units(1.0),
    }
}

/// What moves elements and computes nothing; some rows are looked up more than once, some never.
pub fn movers(n: usize) -> Vec<Case> {
    let indices: Vec<i64> = (0..2 * n as i64).map(|i| i * i % n as i64).collect();
    let on_device = Tensor::new(indices.clone(), &[2 * n]).unwrap();
    let same = on_device.clone();
    vec![Case {
        name: "embedding",
        shapes: vec![vec![n, 5]],
        oracle: Box::new(move |x| oracle::embedding(x, &indices)),
        forward: Box::new(move |x| Cpu.embedding(&x[0], &on_device)),
        backward: Box::new(move |g, x, _| {
            Ok(vec![Cpu.embedding_backward(g, &same, x[0].shape()[0])?])
        }),
        bound: Bound::Units(0.0),
    }]
}
