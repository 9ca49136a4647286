//! The operations of `binade-ops` as values, so that one method of a subject takes them all.

use binade_core::DType;
use binade_ops::{BatchNormConfig, Conv2dConfig, MaxPool2dConfig};

/// One operation of `binade-ops`, forward or backward, with all that is no tensor.
///
/// Operands are given, and results returned, in the order of the trait's method. A bias that there may be is the last
/// operand, or the last result.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub enum Compute {
    /// `Fill::fill`, of no operand.
    Fill {
        /// What every element is to be.
        value: f32,
        /// The extents.
        shape: Vec<usize>,
        /// The element type.
        dtype: DType,
    },
    /// `Reshape::reshape`.
    Reshape {
        /// The extents after it.
        shape: Vec<usize>,
    },
    /// `MatMul::matmul`.
    MatMul,
    /// `MatMul::matmul_backward`.
    MatMulBackward,
    /// `Bmm::bmm`.
    Bmm,
    /// `Bmm::bmm_backward`.
    BmmBackward,
    /// `Linear::linear`, of two operands or three.
    Linear,
    /// `Linear::linear_backward`: input, weight, perhaps bias.
    LinearBackward {
        /// Whether there was one.
        bias: bool,
    },
    /// `LinearRelu::linear_relu`, of two operands or three.
    LinearRelu,
    /// `LinearRelu::linear_relu_backward` of gradient, result, input and weight: input, weight, perhaps bias.
    LinearReluBackward {
        /// Whether there was one.
        bias: bool,
    },
    /// `Conv2d::conv2d`, of two operands or three.
    Conv2d(Conv2dConfig),
    /// `Conv2d::conv2d_backward`: input, weight, perhaps bias.
    Conv2dBackward {
        /// How the kernel moved.
        config: Conv2dConfig,
        /// Whether there was one.
        bias: bool,
    },
    /// `LayerNorm::layer_norm`.
    LayerNorm {
        /// Added to the variance.
        eps: f32,
    },
    /// `LayerNorm::layer_norm_backward`: input, weight, bias.
    LayerNormBackward {
        /// Added to the variance.
        eps: f32,
    },
    /// `BatchNorm::batch_norm` of input, weight, bias, running mean and variance: the result, and both after it.
    BatchNorm(BatchNormConfig),
    /// `BatchNorm::batch_norm_inference` of the same operands.
    BatchNormInference {
        /// Added to the variance.
        eps: f32,
    },
    /// `BatchNorm::batch_norm_backward`: input, weight, bias.
    BatchNormBackward {
        /// Added to the variance.
        eps: f32,
    },
    /// `Softmax::softmax`.
    Softmax,
    /// `Softmax::softmax_backward`.
    SoftmaxBackward,
    /// `LogSoftmax::log_softmax`.
    LogSoftmax,
    /// `LogSoftmax::log_softmax_backward`.
    LogSoftmaxBackward,
    /// `CrossEntropy::cross_entropy`.
    CrossEntropy,
    /// `CrossEntropy::cross_entropy_backward`.
    CrossEntropyBackward,
    /// `MseLoss::mse_loss`.
    MseLoss,
    /// `MseLoss::mse_loss_backward`.
    MseLossBackward,
    /// `Sum::sum`.
    Sum,
    /// `Sum::sum_backward`.
    SumBackward {
        /// The input's extents.
        shape: Vec<usize>,
        /// The input's element type.
        dtype: DType,
    },
    /// `Mean::mean`.
    Mean,
    /// `Mean::mean_backward`.
    MeanBackward {
        /// The input's extents.
        shape: Vec<usize>,
        /// The input's element type.
        dtype: DType,
    },
    /// `Relu::relu`.
    Relu,
    /// `Relu::relu_backward`.
    ReluBackward,
    /// `Gelu::gelu`.
    Gelu,
    /// `Gelu::gelu_backward`.
    GeluBackward,
    /// `Tanh::tanh`.
    Tanh,
    /// `Tanh::tanh_backward`.
    TanhBackward,
    /// `Add::add`.
    Add,
    /// `Add::add_backward`.
    AddBackward,
    /// `Mul::mul`.
    Mul,
    /// `Mul::mul_backward`.
    MulBackward,
    /// `BiasAdd::bias_add`.
    BiasAdd,
    /// `BiasAdd::bias_add_backward`.
    BiasAddBackward,
    /// `Embedding::embedding`.
    Embedding,
    /// `Embedding::embedding_backward`.
    EmbeddingBackward {
        /// Of the table.
        rows: usize,
    },
    /// `MaxPool2d::max_pool2d`.
    MaxPool2d(MaxPool2dConfig),
    /// `MaxPool2d::max_pool2d_backward`.
    MaxPool2dBackward(MaxPool2dConfig),
    /// `Dropout::dropout`.
    Dropout {
        /// The chance of an element to be dropped.
        p: f32,
    },
    /// `Dropout::dropout_backward`.
    DropoutBackward {
        /// The chance of an element to have been dropped.
        p: f32,
    },
}
