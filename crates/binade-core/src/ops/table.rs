//! Table of operations: one row each, from which every list of operations is generated.

/// Calls a macro with the table of operations.
///
/// The macro is named in brackets. Its input is the text behind them, in braces, and then one row for each operation:
///
/// ```text
/// Trait file {
///     Variant method(operands) { value: Type, … } -> Results;
///     …
/// }
/// ```
///
/// * `file` is the operation's name, and the name of its file in every backend.
/// * `Variant` is the method's name in [`OpInvocation`](crate::ops::OpInvocation).
/// * An operand is a tensor: `input`. One in brackets may be left out: `[bias]`, an `Option<&Tensor>`. One in parentheses is
///   [`RunningStats`](crate::ops::RunningStats), two tensors: `(running)`. One in braces is one tensor or more, a
///   `&[&Tensor]`: `{inputs}`.
/// * A value is anything else. `[usize]` is passed as a slice.
/// * Results are `Tensor`, `Pair` for `[Tensor; 2]`, or a struct of this crate that is generic over the tensor.
///
/// A row repeats the trait's signature. The compiler compares them, since [`OpInvocation`](crate::ops::OpInvocation) calls every
/// method.
///
/// # Examples
///
/// This macro lists the names of all operations:
///
/// ```
/// macro_rules! names {
///     ({} $($trait:ident $file:ident $methods:tt)*) => { [$(stringify!($file)),*] };
/// }
/// let names = binade_core::ops::for_each_op!([names]);
/// assert!(names.contains(&"gelu"));
/// ```
#[macro_export]
macro_rules! for_each_op {
    ([$($callback:tt)+] $($arguments:tt)*) => {
        $($callback)+! {
            { $($arguments)* }
            Fill fill {
                Fill fill() { value: f32, shape: [usize], dtype: DType } -> Tensor;
            }
            Reshape reshape {
                Reshape reshape(input) { shape: [usize] } -> Tensor;
            }
            Permute permute {
                Permute permute(input) { axes: [usize] } -> Tensor;
            }
            Narrow narrow {
                Narrow narrow(input) { axis: usize, start: usize, len: usize } -> Tensor;
                NarrowBackward narrow_backward(grad) { shape: [usize], axis: usize, start: usize } -> Tensor;
            }
            Cat cat {
                Cat cat({inputs}) { axis: usize } -> Tensor;
            }
            MaskedFill masked_fill {
                MaskedFill masked_fill(input, mask) { value: f32 } -> Tensor;
            }
            Relu relu {
                Relu relu(input) -> Tensor;
                ReluBackward relu_backward(grad, output) -> Tensor;
            }
            Gelu gelu {
                Gelu gelu(input) -> Tensor;
                GeluBackward gelu_backward(grad, input) -> Tensor;
            }
            GeluTanh gelu_tanh {
                GeluTanh gelu_tanh(input) -> Tensor;
                GeluTanhBackward gelu_tanh_backward(grad, input) -> Tensor;
            }
            Silu silu {
                Silu silu(input) -> Tensor;
                SiluBackward silu_backward(grad, input) -> Tensor;
            }
            Tanh tanh {
                Tanh tanh(input) -> Tensor;
                TanhBackward tanh_backward(grad, output) -> Tensor;
            }
            Exp exp {
                Exp exp(input) -> Tensor;
                ExpBackward exp_backward(grad, output) -> Tensor;
            }
            Sqrt sqrt {
                Sqrt sqrt(input) -> Tensor;
                SqrtBackward sqrt_backward(grad, output) -> Tensor;
            }
            Add add {
                Add add(a, b) -> Tensor;
                AddBackward add_backward(grad) -> Pair;
            }
            Sub sub {
                Sub sub(a, b) -> Tensor;
                SubBackward sub_backward(grad) -> Pair;
            }
            Mul mul {
                Mul mul(a, b) -> Tensor;
                MulBackward mul_backward(grad, a, b) -> Pair;
            }
            Div div {
                Div div(a, b) -> Tensor;
                DivBackward div_backward(grad, a, b) -> Pair;
            }
            BiasAdd bias_add {
                BiasAdd bias_add(input, bias) -> Tensor;
                BiasAddBackward bias_add_backward(grad) -> Pair;
            }
            MatMul matmul {
                MatMul matmul(a, b) -> Tensor;
                MatMulBackward matmul_backward(grad, a, b) -> Pair;
            }
            Bmm bmm {
                Bmm bmm(a, b) -> Tensor;
                BmmBackward bmm_backward(grad, a, b) -> Pair;
            }
            Linear linear {
                Linear linear(input, weight, [bias]) -> Tensor;
                LinearBackward linear_backward(grad, input, weight) { bias: bool } -> AffineGrads;
                LinearBackwardOfWeight
                    linear_backward_of_weight(grad, input, weight) { bias: bool } -> WeightGrads;
            }
            LinearRelu linear_relu {
                LinearRelu linear_relu(input, weight, [bias]) -> Tensor;
                LinearReluBackward
                    linear_relu_backward(grad, output, input, weight) { bias: bool } -> AffineGrads;
                LinearReluBackwardOfWeight
                    linear_relu_backward_of_weight(grad, output, input, weight) { bias: bool } -> WeightGrads;
            }
            ScaledDotProductAttention scaled_dot_product_attention {
                ScaledDotProductAttention scaled_dot_product_attention(
                    query, key, value, [mask]
                ) { config: AttentionConfig } -> AttentionOutput;
                ScaledDotProductAttentionBackward scaled_dot_product_attention_backward(
                    grad, query, key, value, output, statistics, [mask]
                ) { config: AttentionConfig } -> AttentionGrads;
            }
            Conv2d conv2d {
                Conv2d conv2d(input, weight, [bias]) { config: Conv2dConfig } -> Tensor;
                Conv2dBackward
                    conv2d_backward(grad, input, weight) { bias: bool, config: Conv2dConfig } -> AffineGrads;
                Conv2dBackwardOfWeight
                    conv2d_backward_of_weight(grad, input, weight) { bias: bool, config: Conv2dConfig } -> WeightGrads;
            }
            MaxPool2d max_pool2d {
                MaxPool2d max_pool2d(input) { config: MaxPool2dConfig } -> Tensor;
                MaxPool2dBackward max_pool2d_backward(grad, input) { config: MaxPool2dConfig } -> Tensor;
            }
            AvgPool2d avg_pool2d {
                AvgPool2d avg_pool2d(input) { config: AvgPool2dConfig } -> Tensor;
                AvgPool2dBackward avg_pool2d_backward(grad) { shape: [usize], config: AvgPool2dConfig } -> Tensor;
            }
            AdaptiveAvgPool2d adaptive_avg_pool2d {
                AdaptiveAvgPool2d adaptive_avg_pool2d(input) { output: [usize; 2] } -> Tensor;
                AdaptiveAvgPool2dBackward adaptive_avg_pool2d_backward(grad) { shape: [usize] } -> Tensor;
            }
            LayerNorm layer_norm {
                LayerNorm layer_norm(input, weight, bias) { eps: f32 } -> Tensor;
                LayerNormBackward layer_norm_backward(grad, input, weight) { eps: f32 } -> NormGrads;
            }
            RmsNorm rms_norm {
                RmsNorm rms_norm(input, weight) { eps: f32 } -> Tensor;
                RmsNormBackward rms_norm_backward(grad, input, weight) { eps: f32 } -> Pair;
            }
            GroupNorm group_norm {
                GroupNorm group_norm(input, weight, bias) { groups: usize, eps: f32 } -> Tensor;
                GroupNormBackward
                    group_norm_backward(grad, input, weight) { groups: usize, eps: f32 } -> NormGrads;
            }
            BatchNorm batch_norm {
                BatchNorm
                    batch_norm(input, weight, bias, (running)) { config: BatchNormConfig } -> BatchNormOutput;
                BatchNormInference
                    batch_norm_inference(input, weight, bias, (running)) { eps: f32 } -> Tensor;
                BatchNormBackward batch_norm_backward(grad, input, weight) { eps: f32 } -> NormGrads;
                BatchNormStats batch_norm_stats(input) -> RunningStats;
                BatchNormGradSums batch_norm_grad_sums(grad, input, (stats)) { eps: f32 } -> Tensor;
                BatchNormInputGrad
                    batch_norm_input_grad(grad, input, weight, (stats), means) { eps: f32 } -> Tensor;
            }
            Softmax softmax {
                Softmax softmax(input) -> Tensor;
                SoftmaxBackward softmax_backward(grad, output) -> Tensor;
            }
            LogSoftmax log_softmax {
                LogSoftmax log_softmax(input) -> Tensor;
                LogSoftmaxBackward log_softmax_backward(grad, output) -> Tensor;
            }
            CrossEntropy cross_entropy {
                CrossEntropy cross_entropy(logits, labels) -> Tensor;
                CrossEntropyBackward cross_entropy_backward(grad, logits, labels) -> Tensor;
            }
            MseLoss mse_loss {
                MseLoss mse_loss(input, target) -> Tensor;
                MseLossBackward mse_loss_backward(grad, input, target) -> Pair;
            }
            Sum sum {
                Sum sum(input) -> Tensor;
                SumBackward sum_backward(grad) { shape: [usize], dtype: DType } -> Tensor;
            }
            Mean mean {
                Mean mean(input) -> Tensor;
                MeanBackward mean_backward(grad) { shape: [usize], dtype: DType } -> Tensor;
            }
            Embedding embedding {
                Embedding embedding(table, indices) -> Tensor;
                EmbeddingBackward embedding_backward(grad, indices) { rows: usize } -> Tensor;
            }
            RotaryEmbedding rotary_embedding {
                RotaryEmbedding rotary_embedding(input, cos, sin) -> Tensor;
                RotaryEmbeddingBackward rotary_embedding_backward(grad, cos, sin) -> Tensor;
            }
            Dropout dropout {
                Dropout dropout(input, key) { p: f32 } -> Tensor;
                DropoutBackward dropout_backward(grad, key) { p: f32 } -> Tensor;
            }
        }
    };
}

/// Declares the modules of all operations, a file each: a callback of [`for_each_op!`](crate::for_each_op).
///
/// ```text
/// use binade_core::ops::op_modules;
///
/// binade_core::ops::for_each_op!([op_modules]);
/// ```
#[macro_export]
macro_rules! op_modules {
    ({} $($trait:ident $file:ident $methods:tt)*) => { $(mod $file;)* };
}
