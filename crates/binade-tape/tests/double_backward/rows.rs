//! Operations by name, with operands of small shapes: each goes back twice.

use crate::common::{Outcome, tensor};
use binade_core::ops::{
    AvgPool2dConfig, BatchNormConfig, Conv2dConfig, ImageLayout, MaxPool2dConfig, RunningStats,
};
use binade_cpu::{Cpu, Tensor};
use binade_tape::Var;

type Run = dyn Fn(&[Var<Cpu>]) -> Outcome;

/// One operation on operands whose gradients are wanted.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) inputs: Vec<Tensor>,
    pub(super) run: Box<Run>,
}

fn row(
    name: &'static str,
    shapes: &[&[usize]],
    run: impl Fn(&[Var<Cpu>]) -> Outcome + 'static,
) -> Row {
    let inputs = shapes.iter().zip(1..).map(|(shape, seed)| tensor(shape, seed)).collect();
    Row { name, inputs, run: Box::new(run) }
}

/// Returns the rows of all operations that have a double backward.
pub(super) fn rows() -> Vec<Row> {
    [unary(), pointwise(), products(), moves(), normalisations(), losses()]
        .into_iter()
        .flatten()
        .collect()
}

/// Rows of the operations on one operand, which have two methods alike in the table.
macro_rules! unary_rows {
    ({ $rows:ident } $($trait:ident $name:ident $methods:tt)*) => {
        $(unary_rows!(@row $rows $name $methods);)*
    };
    (@row $rows:ident $name:ident {
        $f:ident $forward:ident(input) -> Tensor;
        $b:ident $backward:ident(grad, $saved:ident) -> Tensor;
    }) => {
        $rows.push(row(stringify!($name), &[&[4, 5]], |v| match stringify!($name) {
            // A negative number has no root.
            "sqrt" => v[0].exp()?.$name(),
            _ => v[0].$name(),
        }));
    };
    (@row $rows:ident $name:ident $methods:tt) => {};
}

#[expect(clippy::vec_init_then_push, reason = "the table has other rows in between")]
fn unary() -> Vec<Row> {
    let mut rows = Vec::new();
    binade_core::ops::for_each_op!([unary_rows] rows);
    rows
}

fn pointwise() -> Vec<Row> {
    let key = Tensor::new(vec![7_i64, 1], &[2]).unwrap();
    let mask = Tensor::new(vec![0.0_f32, 1.0, 0.0], &[3]).unwrap();
    let (cos, sin) = (tensor(&[3, 2], 7), tensor(&[3, 2], 8));
    vec![
        row("add", &[&[3, 4], &[3, 4]], |v| v[0].add(&v[1])),
        row("sub", &[&[3, 4], &[3, 4]], |v| v[0].sub(&v[1])),
        row("mul", &[&[3, 4], &[3, 4]], |v| v[0].mul(&v[1])),
        row("div", &[&[3, 4], &[3, 4]], |v| v[0].div(&v[1].exp()?)),
        row("bias_add", &[&[2, 3, 2, 2], &[3]], |v| v[0].bias_add(&v[1])),
        row("bias_add", &[&[2, 3], &[3]], |v| v[0].bias_add(&v[1])),
        row("scaled_by", &[&[4, 5]], |v| v[0].scaled_by(-1.75)),
        row("dropout", &[&[4, 5]], move |v| v[0].dropout(&key, 0.25)),
        row("masked_fill", &[&[4, 3]], move |v| v[0].masked_fill(&mask, -2.0)),
        row("rotary_embedding", &[&[2, 3, 4]], move |v| v[0].rotary_embedding(&cos, &sin)),
    ]
}

fn products() -> Vec<Row> {
    let config = Conv2dConfig { stride: [2, 1], padding: [1, 0], ..Conv2dConfig::default() };
    let last = Conv2dConfig { layout: ImageLayout::ChannelsLast, ..config };
    let (images, kernels): (&[usize], &[usize]) = (&[2, 2, 5, 4], &[3, 2, 3, 2]);
    vec![
        row("matmul", &[&[3, 4], &[4, 2]], |v| v[0].matmul(&v[1])),
        row("bmm", &[&[2, 3, 4], &[2, 4, 2]], |v| v[0].bmm(&v[1])),
        row("linear", &[&[2, 3, 4], &[5, 4], &[5]], |v| v[0].linear(&v[1], Some(&v[2]))),
        row("linear", &[&[3, 4], &[2, 4]], |v| v[0].linear(&v[1], None)),
        row("linear_relu", &[&[3, 4], &[2, 4], &[2]], |v| v[0].linear_relu(&v[1], Some(&v[2]))),
        row("conv2d", &[images, kernels, &[3]], move |v| v[0].conv2d(&v[1], Some(&v[2]), config)),
        row("conv2d", &[images, kernels], |v| v[0].conv2d(&v[1], None, Conv2dConfig::default())),
        row("conv2d", &[&[2, 5, 4, 2], kernels, &[3]], move |v| {
            v[0].conv2d(&v[1], Some(&v[2]), last)
        }),
    ]
}

fn moves() -> Vec<Row> {
    let indices = Tensor::new(vec![1_i64, 3, 1, 0], &[2, 2]).unwrap();
    let (kernel, stride, padding) = ([3, 2], [2, 1], [1, 0]);
    let overlapping = MaxPool2dConfig { kernel, stride, padding, ..MaxPool2dConfig::square(1) };
    let last = MaxPool2dConfig { layout: ImageLayout::ChannelsLast, ..overlapping };
    let means = AvgPool2dConfig {
        kernel,
        stride,
        padding,
        count_include_pad: false,
        ..AvgPool2dConfig::square(1)
    };
    vec![
        row("reshape", &[&[4, 5]], |v| v[0].reshape(&[2, 10])),
        row("permute", &[&[2, 3, 2, 2]], |v| v[0].permute(&[2, 0, 3, 1])),
        row("narrow", &[&[2, 5, 3]], |v| v[0].narrow(1, 2, 2)),
        row("cat", &[&[2, 3], &[2, 1]], |v| v[0].cat(&[&v[1], &v[0]], 1)),
        row("embedding", &[&[4, 3]], move |v| v[0].embedding(&indices)),
        row("max_pool2d", &[&[1, 2, 4, 4]], |v| v[0].max_pool2d(MaxPool2dConfig::square(2))),
        row("max_pool2d", &[&[2, 2, 5, 4]], move |v| v[0].max_pool2d(overlapping)),
        row("max_pool2d", &[&[2, 5, 4, 2]], move |v| v[0].max_pool2d(last)),
        row("avg_pool2d", &[&[2, 2, 5, 4]], move |v| v[0].avg_pool2d(means)),
        row("adaptive_avg_pool2d", &[&[2, 2, 5, 4]], |v| v[0].adaptive_avg_pool2d([3, 2])),
    ]
}

fn normalisations() -> Vec<Row> {
    let zeros = |count| Tensor::new(vec![0.0_f32; count], &[count]).unwrap();
    let running = || RunningStats { mean: zeros(2), var: zeros(2) };
    let (of_images, of_rows) = (running(), running());
    let config = BatchNormConfig::default();
    vec![
        row("layer_norm", &[&[2, 3, 5], &[5], &[5]], |v| v[0].layer_norm(&v[1], &v[2], 1e-3)),
        row("rms_norm", &[&[2, 3, 5], &[5]], |v| v[0].rms_norm(&v[1], 1e-3)),
        row("rms_norm", &[&[5]], |v| v[0].rms_norm(&v[0], 0.5)),
        row("batch_norm", &[&[3, 2, 2, 2], &[2], &[2]], move |v| {
            Ok(v[0].batch_norm(&v[1], &v[2], &of_images, config)?.0)
        }),
        row("batch_norm", &[&[5, 2], &[2], &[2]], move |v| {
            Ok(v[0].batch_norm(&v[1], &v[2], &of_rows, config)?.0)
        }),
    ]
}

fn losses() -> Vec<Row> {
    let labels = Tensor::new(vec![2_i64, 0, 3], &[3]).unwrap();
    vec![
        row("cross_entropy", &[&[3, 4]], move |v| v[0].cross_entropy(&labels)),
        row("mse_loss", &[&[3, 4], &[3, 4]], |v| v[0].mse_loss(&v[1])),
        row("sum", &[&[3, 4]], |v| v[0].sum()),
        row("mean", &[&[3, 4]], |v| v[0].mean()),
    ]
}
