//! The operations of a model: each device does its own part's. A table, but for what takes more than tensors.

use super::{Parts, Replicas};
use crate::{Cuda, Error, Tensor};
use binade_core::DType;
use binade_ops::{
    Add, AffineGrads, BatchNorm, BatchNormConfig, BatchNormOutput, BiasAdd, Bmm, Conv2d,
    Conv2dConfig, CrossEntropy, Dropout, Embedding, Fill, Gelu, LayerNorm, Linear, LinearRelu,
    LogSoftmax, MatMul, MaxPool2d, MaxPool2dConfig, Mean, MseLoss, Mul, NormGrads, Relu, Reshape,
    RunningStats, Softmax, Sum, Tanh,
};

/// Tensors first, then what all devices are given alike.
macro_rules! operations {
    ($($op:ident {
        $(fn $name:ident($($tensor:ident),+ $(; $($value:ident: $kind:ty),*)?) -> $out:ty;)*
    })*) => {$(
        impl $op for Replicas {$(
            fn $name(
                &self
                $(, $tensor: &Parts<Tensor>)*
                $($(, $value: $kind)*)?
            ) -> Result<<$out as Gathered>::Whole, Error> {
                let one = |place, cuda: &Cuda| {
                    <Cuda as $op>::$name(cuda $(, $tensor.on(place)?)* $($(, $value)*)?)
                };
                Ok(Gathered::gathered(self.each(one)?))
            }
        )*}
    )*};
}

operations! {
    Add {
        fn add(a, b) -> Tensor;
        fn add_backward(grad) -> [Tensor; 2];
    }
    BiasAdd {
        fn bias_add(input, bias) -> Tensor;
        fn bias_add_backward(grad) -> [Tensor; 2];
    }
    Bmm {
        fn bmm(a, b) -> Tensor;
        fn bmm_backward(grad, a, b) -> [Tensor; 2];
    }
    CrossEntropy {
        fn cross_entropy(logits, labels) -> Tensor;
        fn cross_entropy_backward(grad, logits, labels) -> Tensor;
    }
    Dropout {
        fn dropout(input, key; p: f32) -> Tensor;
        fn dropout_backward(grad, key; p: f32) -> Tensor;
    }
    Embedding {
        fn embedding(table, indices) -> Tensor;
        fn embedding_backward(grad, indices; rows: usize) -> Tensor;
    }
    Gelu {
        fn gelu(input) -> Tensor;
        fn gelu_backward(grad, input) -> Tensor;
    }
    LayerNorm {
        fn layer_norm(input, weight, bias; eps: f32) -> Tensor;
        fn layer_norm_backward(grad, input, weight; eps: f32) -> NormGrads<Tensor>;
    }
    LogSoftmax {
        fn log_softmax(input) -> Tensor;
        fn log_softmax_backward(grad, output) -> Tensor;
    }
    MatMul {
        fn matmul(a, b) -> Tensor;
        fn matmul_backward(grad, a, b) -> [Tensor; 2];
    }
    MaxPool2d {
        fn max_pool2d(input; config: MaxPool2dConfig) -> Tensor;
        fn max_pool2d_backward(grad, input; config: MaxPool2dConfig) -> Tensor;
    }
    Mean {
        fn mean(input) -> Tensor;
        fn mean_backward(grad; shape: &[usize], dtype: DType) -> Tensor;
    }
    MseLoss {
        fn mse_loss(input, target) -> Tensor;
        fn mse_loss_backward(grad, input, target) -> [Tensor; 2];
    }
    Mul {
        fn mul(a, b) -> Tensor;
        fn mul_backward(grad, a, b) -> [Tensor; 2];
    }
    Relu {
        fn relu(input) -> Tensor;
        fn relu_backward(grad, output) -> Tensor;
    }
    Reshape {
        fn reshape(input; shape: &[usize]) -> Tensor;
    }
    Softmax {
        fn softmax(input) -> Tensor;
        fn softmax_backward(grad, output) -> Tensor;
    }
    Sum {
        fn sum(input) -> Tensor;
        fn sum_backward(grad; shape: &[usize], dtype: DType) -> Tensor;
    }
    Tanh {
        fn tanh(input) -> Tensor;
        fn tanh_backward(grad, output) -> Tensor;
    }
}

impl Fill for Replicas {
    fn fill(&self, value: f32, shape: &[usize], dtype: DType) -> Result<Parts<Tensor>, Error> {
        self.each(|_, cuda| cuda.fill(value, shape, dtype))
    }
}

impl Linear for Replicas {
    fn linear(
        &self,
        input: &Parts<Tensor>,
        weight: &Parts<Tensor>,
        bias: Option<&Parts<Tensor>>,
    ) -> Result<Parts<Tensor>, Error> {
        self.each(|place, cuda| {
            let bias = bias.map(|bias| bias.on(place)).transpose()?;
            cuda.linear(input.on(place)?, weight.on(place)?, bias)
        })
    }

    fn linear_backward(
        &self,
        grad: &Parts<Tensor>,
        input: &Parts<Tensor>,
        weight: &Parts<Tensor>,
        bias: bool,
    ) -> Result<AffineGrads<Parts<Tensor>>, Error> {
        let one = |place, cuda: &Cuda| {
            cuda.linear_backward(grad.on(place)?, input.on(place)?, weight.on(place)?, bias)
        };
        Ok(Gathered::gathered(self.each(one)?))
    }
}

impl LinearRelu for Replicas {
    fn linear_relu(
        &self,
        input: &Parts<Tensor>,
        weight: &Parts<Tensor>,
        bias: Option<&Parts<Tensor>>,
    ) -> Result<Parts<Tensor>, Error> {
        self.each(|place, cuda| {
            let bias = bias.map(|bias| bias.on(place)).transpose()?;
            cuda.linear_relu(input.on(place)?, weight.on(place)?, bias)
        })
    }
}

impl Conv2d for Replicas {
    fn conv2d(
        &self,
        input: &Parts<Tensor>,
        weight: &Parts<Tensor>,
        bias: Option<&Parts<Tensor>>,
        config: Conv2dConfig,
    ) -> Result<Parts<Tensor>, Error> {
        self.each(|place, cuda| {
            let bias = bias.map(|bias| bias.on(place)).transpose()?;
            cuda.conv2d(input.on(place)?, weight.on(place)?, bias, config)
        })
    }

    fn conv2d_backward(
        &self,
        grad: &Parts<Tensor>,
        input: &Parts<Tensor>,
        weight: &Parts<Tensor>,
        bias: bool,
        config: Conv2dConfig,
    ) -> Result<AffineGrads<Parts<Tensor>>, Error> {
        let one = |place, cuda: &Cuda| {
            let (grad, input, weight) = (grad.on(place)?, input.on(place)?, weight.on(place)?);
            cuda.conv2d_backward(grad, input, weight, bias, config)
        };
        Ok(Gathered::gathered(self.each(one)?))
    }
}

/// Each device normalises its own part, by its own statistics, and has running statistics of its own.
impl BatchNorm for Replicas {
    fn batch_norm(
        &self,
        input: &Parts<Tensor>,
        weight: &Parts<Tensor>,
        bias: &Parts<Tensor>,
        running: &RunningStats<Parts<Tensor>>,
        config: BatchNormConfig,
    ) -> Result<BatchNormOutput<Parts<Tensor>>, Error> {
        let one = |place, cuda: &Cuda| {
            let (running, input) = (running_on(running, place)?, input.on(place)?);
            cuda.batch_norm(input, weight.on(place)?, bias.on(place)?, &running, config)
        };
        Ok(Gathered::gathered(self.each(one)?))
    }

    fn batch_norm_inference(
        &self,
        input: &Parts<Tensor>,
        weight: &Parts<Tensor>,
        bias: &Parts<Tensor>,
        running: &RunningStats<Parts<Tensor>>,
        eps: f32,
    ) -> Result<Parts<Tensor>, Error> {
        self.each(|place, cuda| {
            let (running, input) = (running_on(running, place)?, input.on(place)?);
            cuda.batch_norm_inference(input, weight.on(place)?, bias.on(place)?, &running, eps)
        })
    }

    fn batch_norm_backward(
        &self,
        grad: &Parts<Tensor>,
        input: &Parts<Tensor>,
        weight: &Parts<Tensor>,
        eps: f32,
    ) -> Result<NormGrads<Parts<Tensor>>, Error> {
        let one = |place, cuda: &Cuda| {
            cuda.batch_norm_backward(grad.on(place)?, input.on(place)?, weight.on(place)?, eps)
        };
        Ok(Gathered::gathered(self.each(one)?))
    }
}

fn running_on(
    running: &RunningStats<Parts<Tensor>>,
    place: usize,
) -> Result<RunningStats<Tensor>, Error> {
    let RunningStats { mean, var } = running;
    Ok(RunningStats { mean: mean.on(place)?.clone(), var: var.on(place)?.clone() })
}

/// What an operation gives on each device, as one value of parts.
///
/// Public because signatures above name it, and named by nobody outside.
pub trait Gathered: Sized {
    /// The same of parts.
    type Whole;

    /// Puts each device's part in its place.
    fn gathered(each: Parts<Self>) -> Self::Whole;
}

impl Gathered for Tensor {
    type Whole = Parts<Self>;

    fn gathered(each: Parts<Self>) -> Parts<Self> {
        each
    }
}

impl Gathered for [Tensor; 2] {
    type Whole = [Parts<Tensor>; 2];

    fn gathered(each: Parts<Self>) -> [Parts<Tensor>; 2] {
        let (first, second) = each.into_inner().into_iter().map(|[a, b]| (a, b)).unzip();
        [first, second].map(Parts::new)
    }
}

impl Gathered for AffineGrads<Tensor> {
    type Whole = AffineGrads<Parts<Tensor>>;

    fn gathered(each: Parts<Self>) -> Self::Whole {
        let bias: Option<Vec<Tensor>> = each.iter().map(|grads| grads.bias.clone()).collect();
        let grads = each.into_inner().into_iter().map(|grads| (grads.input, grads.weight));
        let (input, weight) = grads.unzip();
        let [input, weight] = [input, weight].map(Parts::new);
        AffineGrads { input, weight, bias: bias.map(Parts::new) }
    }
}

impl Gathered for NormGrads<Tensor> {
    type Whole = NormGrads<Parts<Tensor>>;

    fn gathered(each: Parts<Self>) -> Self::Whole {
        let bias = Parts::new(each.iter().map(|grads| grads.bias.clone()).collect());
        let grads = each.into_inner().into_iter().map(|grads| (grads.input, grads.weight));
        let (input, weight) = grads.unzip();
        let [input, weight] = [input, weight].map(Parts::new);
        NormGrads { input, weight, bias }
    }
}

impl Gathered for BatchNormOutput<Tensor> {
    type Whole = BatchNormOutput<Parts<Tensor>>;

    fn gathered(each: Parts<Self>) -> Self::Whole {
        let part = |tensor: fn(&Self) -> &Tensor| {
            Parts::new(each.iter().map(|one| tensor(one).clone()).collect())
        };
        let running =
            RunningStats { mean: part(|one| &one.running.mean), var: part(|one| &one.running.var) };
        BatchNormOutput { output: part(|one| &one.output), running }
    }
}
