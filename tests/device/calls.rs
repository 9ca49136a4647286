//! Every call of an operation, with operands that fit it: for tests of all of them alike.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "the numbers are small"
)]
#![allow(clippy::vec_init_then_push, reason = "a macro goes through the table call by call")]

use binade_core::DType;
use binade_core::ops::{
    AttentionConfig, AvgPool2dConfig, BatchNormConfig, Conv2dConfig, ImageLayout, MaxPool2dConfig,
    OpInvocation as Call, Ops, Upload, for_each_op,
};

/// An operand before it is on any device.
#[derive(Clone, Debug)]
pub(crate) struct Operand {
    /// The element type: `I64` takes each value for a whole number.
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<usize>,
    /// Values lie between this and one more; whole numbers between 0 and its floor.
    pub(crate) least: f32,
}

impl Operand {
    /// The operand on a device.
    ///
    /// # Panics
    ///
    /// When the device fails.
    pub(crate) fn put<D: Upload>(&self, device: &D) -> D::Tensor {
        let count: usize = self.shape.iter().product();
        if self.dtype == DType::I64 {
            let limit = self.least as usize;
            let whole: Vec<i64> = (0..count).map(|i| (i * 7 % limit) as i64).collect();
            return device.upload_i64(&whole, &self.shape).unwrap();
        }
        // The golden ratio's multiples are spread evenly and repeat nowhere.
        let value = |i: usize| self.least + ((i + 1) as f32 * 0.618_034).fract();
        let values: Vec<f32> = (0..count).map(value).collect();
        device.upload(&values, &self.shape, self.dtype).unwrap()
    }
}

/// A call and its operands.
pub(crate) type Row = (Call, Vec<Operand>);

/// The results of a call, or the device's error.
///
/// # Panics
///
/// When the call takes another number of operands.
pub(crate) fn run<D: Upload + Ops<Tensor: Clone>>(
    device: &D,
    (call, operands): &Row,
) -> Result<Vec<D::Tensor>, D::Error> {
    let operands: Vec<_> = operands.iter().map(|operand| operand.put(device)).collect();
    call.run(device, &operands.iter().collect::<Vec<_>>()).expect("as many operands")
}

/// Lists the calls without values, and the number of their operands.
macro_rules! plain_calls {
    ({} $($trait:ident $file:ident { $($methods:tt)+ })*) => {{
        let mut calls = Vec::new();
        $(plain_calls!(@each calls $($methods)+);)*
        calls
    }};
    (@each $calls:ident $variant:ident $method:ident($($operand:ident),*) -> $results:ident; $($rest:tt)*) => {
        $calls.push((Call::$variant, [$(stringify!($operand)),*].len()));
        plain_calls!(@each $calls $($rest)*);
    };
    (@each $calls:ident $variant:ident $method:ident $operands:tt $({ $($values:tt)+ })? -> $results:ident; $($rest:tt)*) => {
        plain_calls!(@each $calls $($rest)*);
    };
    (@each $calls:ident) => {};
}

/// At least one row for each method. Extents are about `n`, and most tensors have some n² elements. A call without values and without
/// a row of its own has operands of one shape.
pub(crate) fn rows(n: usize, dtype: DType) -> Vec<Row> {
    let mut all = [
        elementwise(n, dtype),
        products(n, dtype),
        attention(n, dtype),
        windows(n, dtype),
        norms(n, dtype),
        losses(n, dtype),
    ]
    .concat();
    let shape: &[usize] = &[n, n + 1];
    for (call, operands) in for_each_op!([plain_calls]) {
        if all.iter().all(|(listed, _)| *listed != call) {
            all.push(row(call, dtype, &vec![shape; operands]));
        }
    }
    all
}

/// A row of operands of these shapes.
fn row(call: Call, dtype: DType, shapes: &[&[usize]]) -> Row {
    let one = |shape: &&[usize]| Operand { dtype, shape: shape.to_vec(), least: -0.5 };
    (call, shapes.iter().map(one).collect())
}

fn elementwise(n: usize, dtype: DType) -> Vec<Row> {
    let row = |call, shapes: &[&[usize]]| row(call, dtype, shapes);
    let a: &[usize] = &[n, n + 1];
    let image: &[usize] = &[2, n, 3, n];
    vec![
        row(Call::Fill { value: 0.3, shape: vec![n, n], dtype }, &[]),
        row(Call::Reshape { shape: vec![n + 1, n] }, &[a]),
        rotary(Call::RotaryEmbedding, n, dtype),
        rotary(Call::RotaryEmbeddingBackward, n, dtype),
        row(Call::Narrow { axis: 1, start: 1, len: n - 1 }, &[image]),
        row(Call::Narrow { axis: 0, start: 1, len: n - 1 }, &[a]),
        row(Call::NarrowBackward { shape: vec![n, n + 2], axis: 1, start: 1 }, &[a]),
        row(Call::Cat { axis: 1 }, &[a, &[n, 1], a]),
        row(Call::MaskedFill { value: -3.0 }, &[a, &[n + 1]]),
        row(Call::Permute { axes: vec![1, 3, 0, 2] }, &[image]),
        row(Call::BiasAdd, &[a, &[n + 1]]),
        row(Call::BiasAdd, &[image, &[n]]),
        row(Call::BiasAddBackward, &[a]),
        row(Call::BiasAddBackward, &[image]),
    ]
}

fn rotary(call: Call, n: usize, dtype: DType) -> Row {
    let (call, mut operands) = row(call, dtype, &[&[2, n, 6], &[n, 3], &[n, 3]]);
    operands[1..].iter_mut().for_each(|table| table.dtype = DType::F32);
    (call, operands)
}

fn products(n: usize, dtype: DType) -> Vec<Row> {
    let row = |call, shapes: &[&[usize]]| row(call, dtype, shapes);
    let (rows, inner, bias) = (n + 1, 2 * n + 3, true);
    let [a, b, c]: [&[usize]; 3] = [&[rows, inner], &[inner, n], &[rows, n]];
    let [aa, bb, cc]: [&[usize]; 3] = [&[3, rows, inner], &[3, inner, n], &[3, rows, n]];
    let [weight, vector]: [&[usize]; 2] = [&[n, inner], &[n]];
    vec![
        row(Call::MatMul, &[a, b]),
        row(Call::MatMulBackward, &[c, a, b]),
        row(Call::Bmm, &[aa, bb]),
        row(Call::BmmBackward, &[cc, aa, bb]),
        row(Call::Linear, &[a, weight]),
        row(Call::Linear, &[a, weight, vector]),
        row(Call::LinearBackward { bias }, &[c, a, weight]),
        row(Call::LinearBackwardOfWeight { bias }, &[c, a, weight]),
        row(Call::LinearRelu, &[a, weight, vector]),
        row(Call::LinearReluBackward { bias }, &[c, c, a, weight]),
        row(Call::LinearReluBackwardOfWeight { bias }, &[c, c, a, weight]),
    ]
}

fn attention(n: usize, dtype: DType) -> Vec<Row> {
    let row = |call, shapes: &[&[usize]]| row(call, dtype, shapes);
    let config = AttentionConfig { causal: true, scale: None };
    let [query, key]: [&[usize]; 2] = [&[2, n, 8], &[2, n + 1, 8]];
    let [value, output]: [&[usize]; 2] = [&[2, n + 1, 5], &[2, n, 5]];
    let backward = row(
        Call::ScaledDotProductAttentionBackward { config },
        &[output, query, key, value, output, &[2, n, 2], &[n, n + 1]],
    );
    let (call, mut operands) = backward;
    operands[5].dtype = DType::F32;
    vec![
        row(Call::ScaledDotProductAttention { config }, &[query, key, value]),
        row(Call::ScaledDotProductAttention { config }, &[query, key, value, &[n, n + 1]]),
        (call, operands),
    ]
}

fn windows(n: usize, dtype: DType) -> Vec<Row> {
    let row = |call, shapes: &[&[usize]]| row(call, dtype, shapes);
    let (stride, padding, bias) = ([1, 2], [1, 0], true);
    let config = Conv2dConfig { stride, padding, ..Conv2dConfig::default() };
    // Two groups, and a kernel of five rows.
    let (dilation, layout) = ([2, 1], ImageLayout::ChannelsFirst);
    let apart = Conv2dConfig { stride, padding: [2, 0], dilation, groups: 2, layout };
    let part: &[usize] = &[4, 1, 3, 3];
    let [x, w, y]: [&[usize]; 3] = [&[3, 2, n, 2 * n + 1], &[4, 2, 3, 3], &[3, 4, n, n]];
    let pool = MaxPool2dConfig { kernel: [3, 2], stride: [1, 2], padding: [1, 0], layout };
    let MaxPool2dConfig { kernel, stride, padding, .. } = pool;
    let mean = AvgPool2dConfig { kernel, stride, padding, count_include_pad: false, layout };
    let [plane, pooled]: [&[usize]; 2] = [&[2, 3, n, 2 * n], &[2, 3, n, n]];
    let layout = ImageLayout::ChannelsLast;
    let (last, pool_last) = (Conv2dConfig { layout, ..apart }, MaxPool2dConfig { layout, ..pool });
    let mean_last = AvgPool2dConfig { layout, ..mean };
    let [plane_last, pooled_last]: [&[usize]; 2] = [&[2, n, 2 * n, 3], &[2, n, n, 3]];
    let [x_last, y_last]: [&[usize]; 2] = [&[3, n, 2 * n + 1, 2], &[3, n, n, 4]];
    vec![
        row(Call::Conv2d { config }, &[x, w]),
        row(Call::Conv2d { config }, &[x, w, &[4]]),
        row(Call::Conv2dBackward { bias, config }, &[y, x, w]),
        row(Call::Conv2dBackwardOfWeight { bias, config }, &[y, x, w]),
        row(Call::Conv2d { config: apart }, &[x, part, &[4]]),
        row(Call::Conv2dBackward { bias, config: apart }, &[y, x, part]),
        row(Call::MaxPool2d { config: pool }, &[plane]),
        row(Call::MaxPool2dBackward { config: pool }, &[pooled, plane]),
        row(Call::AvgPool2d { config: mean }, &[plane]),
        row(Call::AvgPool2dBackward { shape: plane.to_vec(), config: mean }, &[pooled]),
        row(Call::Conv2d { config: last }, &[x_last, part, &[4]]),
        row(Call::Conv2dBackward { bias, config: last }, &[y_last, x_last, part]),
        row(Call::Conv2dBackwardOfWeight { bias, config: last }, &[y_last, x_last, part]),
        row(Call::MaxPool2d { config: pool_last }, &[plane_last]),
        row(Call::MaxPool2dBackward { config: pool_last }, &[pooled_last, plane_last]),
        row(Call::AvgPool2d { config: mean_last }, &[plane_last]),
        row(
            Call::AvgPool2dBackward { shape: plane_last.to_vec(), config: mean_last },
            &[pooled_last],
        ),
        row(Call::AdaptiveAvgPool2d { output: [n, n] }, &[plane]),
        row(Call::AdaptiveAvgPool2dBackward { shape: plane.to_vec() }, &[pooled]),
    ]
}

fn norms(n: usize, dtype: DType) -> Vec<Row> {
    let row = |call, shapes: &[&[usize]]| row(call, dtype, shapes);
    let eps = 1e-5;
    let [x, w, last]: [&[usize]; 3] = [&[3, n, 2, n], &[n], &[2, n, n]];
    // A mean, and a variance, which is positive.
    let running = [-0.5, 0.5].map(|least| Operand { dtype: DType::F32, shape: vec![n], least });
    let with = |(call, operands): Row| (call, [&operands[..], &running].concat());
    let means = Operand { dtype: DType::F32, shape: vec![2, n], least: -0.5 };
    let (input_grad, operands) = row(Call::BatchNormInputGrad { eps }, &[x, x, w]);
    vec![
        row(Call::LayerNorm { eps }, &[last, w, w]),
        row(Call::LayerNormBackward { eps }, &[last, last, w]),
        row(Call::GroupNorm { groups: n, eps }, &[x, w, w]),
        row(Call::GroupNormBackward { groups: n, eps }, &[x, x, w]),
        row(Call::RmsNorm { eps }, &[last, w]),
        row(Call::RmsNormBackward { eps }, &[last, last, w]),
        with(row(Call::BatchNorm { config: BatchNormConfig::default() }, &[x, w, w])),
        with(row(Call::BatchNormInference { eps }, &[x, w, w])),
        row(Call::BatchNormBackward { eps }, &[x, x, w]),
        row(Call::BatchNormStats, &[x]),
        with(row(Call::BatchNormGradSums { eps }, &[x, x])),
        (input_grad, [&operands[..], &running, &[means]].concat()),
        row(Call::Softmax, &[last]),
        row(Call::SoftmaxBackward, &[last, last]),
        row(Call::LogSoftmax, &[last]),
        row(Call::LogSoftmaxBackward, &[last, last]),
    ]
}

fn losses(n: usize, dtype: DType) -> Vec<Row> {
    let x = |shape: &[usize]| Operand { dtype, shape: shape.to_vec(), least: -0.5 };
    let (a, rows) = (x(&[n, n]), n);
    let grad = Operand { dtype: DType::F32, shape: vec![], least: 0.5 };
    let whole =
        |shape: &[usize]| Operand { dtype: DType::I64, shape: shape.to_vec(), least: n as f32 };
    let (labels, key, shape) = (whole(&[n]), whole(&[2]), vec![n, n]);
    let row = |call, operands: &[&Operand]| (call, operands.iter().copied().cloned().collect());
    vec![
        row(Call::CrossEntropy, &[&a, &labels]),
        row(Call::CrossEntropyBackward, &[&grad, &a, &labels]),
        row(Call::MseLoss, &[&a, &a]),
        row(Call::MseLossBackward, &[&grad, &a, &a]),
        row(Call::Sum, &[&a]),
        row(Call::SumBackward { shape: shape.clone(), dtype }, &[&grad]),
        row(Call::Mean, &[&a]),
        row(Call::MeanBackward { shape, dtype }, &[&grad]),
        row(Call::Embedding, &[&a, &labels]),
        row(Call::EmbeddingBackward { rows }, &[&a, &labels]),
        row(Call::Dropout { p: 0.3 }, &[&a, &key]),
        row(Call::DropoutBackward { p: 0.3 }, &[&a, &key]),
    ]
}
