//! The kit's operations by those of `ops`: forward directly, backward by candle's graph.

use binade_autocast::{Region, Scope};
use binade_candle::{Candle, Error, ops};
use binade_conformance::ops::{
    BatchNormConfig, Conv2dConfig, ImageLayout, OperandError, ShapeError,
};
use binade_conformance::{OpInvocation, SubjectError};
use binade_core::ErrorKind;
use candle_core::{D, DType, Device, Tensor, Var};

type Result<T> = std::result::Result<T, Error>;

/// Computes an operation of the kit, without casts.
pub(super) fn compute(
    op: &OpInvocation,
    operands: &[&Tensor],
) -> std::result::Result<Vec<Tensor>, SubjectError> {
    use OpInvocation as C;
    let region = Region::f16().off();
    let s = &region.open(&Candle);
    let nothing = operands.iter().any(|x| x.elem_count() == 0);
    match (op, operands) {
        _ if nothing && is_backward(op) => {
            Err(SubjectError::unsupported("candle's gradient of nothing"))
        }
        // candle sets running statistics to tensors computed from them, which its `Var`s refuse.
        (C::BatchNorm { .. }, _) if nothing => {
            Err(SubjectError::unsupported("candle's batch norm of nothing"))
        }
        _ if is_too_large(op, operands) => {
            Err(SubjectError::unsupported("candle sizes its results itself, and this one"))
        }
        (C::MatMul | C::MatMulBackward, [.., b]) if b.rank() != 2 => Err(not_of_rank(b, 2)),
        (C::Bmm | C::BmmBackward, [.., b]) if b.rank() < 3 => Err(not_of_rank(b, 3)),
        (C::MatMul | C::Bmm, [a, b]) => one(ops::matmul(s, "", a, b)),
        (C::MatMulBackward | C::BmmBackward, [g, a, b]) => {
            differentiated(g, &[a, b], |x| ops::matmul(s, "", &x[0], &x[1]))
        }
        (C::Linear, [x, w, b @ ..]) => one(ops::linear(s, "", x, w, b.first().copied())),
        (C::LinearBackward { bias }, [g, x, w]) => {
            beside_bias(g, [x, w], *bias, |x, w, b| ops::linear(s, "", x, w, b))
        }
        (C::Sum, [x]) => one(ops::sum(s, "", x)),
        (C::SumBackward { shape, dtype }, [g]) => {
            differentiated(g, &[&zeros(shape, *dtype)?], |x| ops::sum(s, "", &x[0]))
        }
        (C::MeanBackward { shape, dtype }, [g]) => {
            differentiated(g, &[&zeros(shape, *dtype)?], |x| ops::mean(s, "", &x[0]))
        }
        (C::Mean, [x]) => one(ops::mean(s, "", x)),
        (C::Softmax, [x]) => one(ops::softmax(s, "", x, D::Minus1)),
        (C::LogSoftmax, [x]) => one(ops::log_softmax(s, "", x, D::Minus1)),
        (C::LayerNorm { eps }, [x, w, b]) => one(ops::layer_norm(s, "", [x, w, b], (*eps).into())),
        (C::LayerNormBackward { eps }, [g, x, w]) => {
            let bias = w.zeros_like().map_err(Error::from)?;
            let eps = (*eps).into();
            differentiated(g, &[x, w, &bias], |x| {
                ops::layer_norm(s, "", [&x[0], &x[1], &x[2]], eps)
            })
        }
        (C::RmsNorm { eps }, [x, w]) => one(ops::rms_norm(s, "", [x, w], (*eps).into())),
        (C::RmsNormBackward { eps }, [g, x, w]) => {
            let eps = (*eps).into();
            differentiated(g, &[x, w], |x| ops::rms_norm(s, "", [&x[0], &x[1]], eps))
        }
        (C::MseLoss, [x, y]) => one(ops::mse_loss(s, "", x, y)),
        (C::MseLossBackward, [g, x, y]) => {
            differentiated(g, &[x, y], |x| ops::mse_loss(s, "", &x[0], &x[1]))
        }
        (C::CrossEntropy, [x, labels]) => one(ops::cross_entropy(s, "", x, labels)),
        (C::CrossEntropyBackward, [g, x, labels]) => {
            differentiated(g, &[x], |x| ops::cross_entropy(s, "", &x[0], labels))
        }
        (C::Conv2d { config }, [x, w, b @ ..]) => {
            one(ops::conv2d(s, "", x, w, b.first().copied(), square(*config)?))
        }
        (C::Conv2dBackward { config, bias }, [g, x, w]) => {
            let config = square(*config)?;
            beside_bias(g, [x, w], *bias, |x, w, b| ops::conv2d(s, "", x, w, b, config))
        }
        (C::Add, [a, b]) if a.dims() != b.dims() => Err(not_of_shape(a, b)),
        (C::Add, [a, b]) => one(ops::add(s, "", a, b)),
        (C::AddBackward, [g]) if has_negative_zero(g)? => {
            Err(SubjectError::unsupported("a gradient of -0, to which candle adds 0"))
        }
        (C::AddBackward, [g]) => differentiated(g, &[g, g], |x| ops::add(s, "", &x[0], &x[1])),
        (C::BatchNorm { config }, [x, w, b, mean, var]) => {
            batch_norm(s, [x, w, b], [mean, var], *config)
        }
        (C::BatchNormInference { eps }, [x, w, b, mean, var]) => {
            one(ops::batch_norm_inference(s, "", [x, w, b], [mean, var], (*eps).into()))
        }
        (C::BatchNormBackward { eps }, [g, x, w]) => batch_norm_backward(s, [g, x, w], *eps),
        (C::Embedding, [table, indices]) => one(ops::embedding(s, "", table, indices)),
        (C::EmbeddingBackward { rows }, [g, indices]) => {
            let width = g.dims().last().copied().unwrap_or_default();
            let table =
                Tensor::zeros((*rows, width), g.dtype(), g.device()).map_err(Error::from)?;
            differentiated(g, &[&table], |x| ops::embedding(s, "", &x[0], indices))
        }
        _ => Err(SubjectError::unsupported("this operation")),
    }
}

fn one(result: Result<Tensor>) -> std::result::Result<Vec<Tensor>, SubjectError> {
    Ok(vec![result?])
}

fn zeros(shape: &[usize], dtype: binade_core::DType) -> Result<Tensor> {
    Ok(Tensor::zeros(shape, binade_candle::candle_dtype(dtype)?, &Device::Cpu)?)
}

fn is_backward(op: &OpInvocation) -> bool {
    format!("{op:?}").contains("Backward")
}

/// Returns true if the result is larger than any memory: candle would fail when it allocates it.
fn is_too_large(op: &OpInvocation, operands: &[&Tensor]) -> bool {
    use OpInvocation as C;
    let is_sized_late = matches!(
        op,
        C::SumBackward { .. } | C::MeanBackward { .. } | C::EmbeddingBackward { .. } | C::MatMul
    );
    let specs: Option<Vec<_>> = operands.iter().map(|x| Some((dtype(x)?, x.dims()))).collect();
    let result = specs.map(|specs| op.check(&specs));
    let too_large = matches!(result, Some(Err(OperandError::Shape(ShapeError::TooLarge { .. }))));
    is_sized_late && too_large
}

fn dtype(tensor: &Tensor) -> Option<binade_core::DType> {
    use binade_core::DType as Of;
    Some(match tensor.dtype() {
        DType::BF16 => Of::BF16,
        DType::F16 => Of::F16,
        DType::F32 => Of::F32,
        DType::I64 => Of::I64,
        _ => return None,
    })
}

/// Returns the refusal of a tensor of another rank: `ops::matmul` takes both ranks, and the kit asks for one.
fn not_of_rank(tensor: &Tensor, rank: usize) -> SubjectError {
    SubjectError::Rejected(
        ErrorKind::Mismatch,
        format!("{:?} is not of rank {rank}", tensor.shape()),
    )
}

/// Returns true if a zero is negative, or a subnormal that candle's backward makes 0 in bf16.
fn has_negative_zero(tensor: &Tensor) -> Result<bool> {
    let values = tensor.to_dtype(DType::F32)?.flatten_all()?.to_vec1::<f32>()?;
    Ok(values.into_iter().any(|x| x.is_sign_negative() && x.abs() < f32::MIN_POSITIVE))
}

/// Returns the refusal of operands of two shapes: `ops::add` broadcasts, and the kit wants equal shapes.
fn not_of_shape(a: &Tensor, b: &Tensor) -> SubjectError {
    SubjectError::Rejected(ErrorKind::Mismatch, format!("{:?} is not {:?}", b.shape(), a.shape()))
}

/// Returns the result, and copies of both statistics after it, since the kit wants values.
fn batch_norm(
    s: &Scope<'_, Candle>,
    operands: [&Tensor; 3],
    running: [&Tensor; 2],
    BatchNormConfig { momentum, eps }: BatchNormConfig,
) -> std::result::Result<Vec<Tensor>, SubjectError> {
    let [mean, var] = running.map(|x| Var::from_tensor(&x.detach()).map_err(Error::from));
    let (mean, var) = (mean?, var?);
    let result = ops::batch_norm(s, "", operands, [&mean, &var], momentum.into(), eps.into())?;
    Ok(vec![result, mean.into_inner(), var.into_inner()])
}

fn batch_norm_backward(
    s: &Scope<'_, Candle>,
    [g, x, w]: [&Tensor; 3],
    eps: f32,
) -> std::result::Result<Vec<Tensor>, SubjectError> {
    let bias = w.zeros_like().map_err(Error::from)?;
    let statistic = Var::zeros(w.shape(), DType::F32, w.device()).map_err(Error::from)?;
    differentiated(g, &[x, w, &bias], |x| {
        let running = [statistic.as_tensor(); 2];
        ops::batch_norm(s, "", [&x[0], &x[1], &x[2]], running, 0.0, eps.into())
    })
}

/// Returns the gradients of a product's operands, and of a bias of zeros if there is one.
fn beside_bias(
    grad: &Tensor,
    [x, w]: [&Tensor; 2],
    bias: bool,
    run: impl Fn(&Tensor, &Tensor, Option<&Tensor>) -> Result<Tensor>,
) -> std::result::Result<Vec<Tensor>, SubjectError> {
    let zeros = Tensor::zeros(w.dims()[0], w.dtype(), w.device()).map_err(Error::from)?;
    let inputs = [x, w, &zeros];
    let inputs = if bias { &inputs[..] } else { &inputs[..2] };
    differentiated(grad, inputs, |x| run(&x[0], &x[1], x.get(2).map(Var::as_tensor)))
}

/// Returns candle's configuration, which has one stride for both axes. A stride of 0 along one axis becomes 0 along both.
fn square(config: Conv2dConfig) -> std::result::Result<candle_nn::Conv2dConfig, SubjectError> {
    let Conv2dConfig { stride: [stride, across], padding: [padding, beside], .. } = config;
    let Conv2dConfig { dilation, groups, layout, .. } = config;
    if layout != ImageLayout::ChannelsFirst {
        return Err(SubjectError::unsupported("images with the channels last"));
    }
    let steps = [stride, across, dilation[0], dilation[1]];
    let is_square = (stride, padding, dilation[0]) == (across, beside, dilation[1]);
    if !is_square && !steps.contains(&0) {
        return Err(SubjectError::unsupported("a stride or padding of its own along each axis"));
    }
    let (stride, dilation) = (stride.min(across), dilation[0].min(dilation[1]));
    Ok(candle_nn::Conv2dConfig { stride, padding, dilation, groups, ..Default::default() })
}

/// Returns the gradients of `inputs` when the result's gradient is `grad`: the loss is the product of the result and `grad`.
fn differentiated(
    grad: &Tensor,
    inputs: &[&Tensor],
    run: impl Fn(&[Var]) -> Result<Tensor>,
) -> std::result::Result<Vec<Tensor>, SubjectError> {
    let grads = || -> Result<Vec<Tensor>> {
        let vars = inputs.iter().map(|x| Var::from_tensor(&x.detach()));
        let vars = vars.collect::<candle_core::Result<Vec<_>>>()?;
        let result = run(&vars)?;
        if result.dtype() != grad.dtype() {
            let (lhs, rhs) = (result.dtype(), grad.dtype());
            return Err(
                candle_core::Error::DTypeMismatchBinaryOp { lhs, rhs, op: "backward" }.into()
            );
        }
        let result = result.to_dtype(DType::F32)?;
        let store = (result * grad.to_dtype(DType::F32)?)?.sum_all()?.backward()?;
        let missing = || candle_core::Error::Msg("the graph was cut".to_owned());
        let grad = |var: &Var| Ok(store.get(var).ok_or_else(missing)?.clone());
        vars.iter().map(grad).collect()
    };
    Ok(grads()?)
}
