//! Gradients against central differences, operation by operation and composed.

use crate::common::{check, tensor};
use binade_core::ops::{
    AttentionConfig, AvgPool2dConfig, BatchNormConfig, Conv2dConfig, ImageLayout, MaxPool2dConfig,
    RunningStats,
};
use binade_cpu::Tensor;

#[test]
fn products_go_back_as_differences_say() {
    check(&[tensor(&[3, 4], 1), tensor(&[4, 2], 2)], |v| v[0].matmul(&v[1]));
    check(&[tensor(&[2, 3, 4], 1), tensor(&[2, 4, 2], 2)], |v| v[0].bmm(&v[1]));
    let affine = [tensor(&[3, 4], 1), tensor(&[2, 4], 2), tensor(&[2], 3)];
    check(&affine, |v| v[0].linear(&v[1], Some(&v[2])));
    check(&affine[..2], |v| v[0].linear(&v[1], None));
    check(&affine, |v| v[0].linear_relu(&v[1], Some(&v[2])));
    check(&affine[..2], |v| v[0].linear_relu(&v[1], None));
}

#[test]
fn attention_goes_back_as_differences_say() {
    let operands = [tensor(&[2, 3, 4], 1), tensor(&[2, 5, 4], 2), tensor(&[2, 5, 3], 3)];
    let mask = tensor(&[3, 5], 4);
    for (mask, causal) in [(None, false), (None, true), (Some(&mask), false)] {
        let config = AttentionConfig { causal, scale: None };
        check(&operands, |v| v[0].scaled_dot_product_attention(&v[1], &v[2], mask, config));
    }
}

#[test]
fn convolution_goes_back_as_differences_say() {
    let (stride, padding) = ([2, 1], [1, 0]);
    let config = Conv2dConfig { stride, padding, ..Conv2dConfig::default() };
    let operands = [tensor(&[2, 2, 5, 4], 1), tensor(&[3, 2, 3, 2], 2), tensor(&[3], 3)];
    check(&operands, |v| v[0].conv2d(&v[1], Some(&v[2]), config));
    check(&operands[..2], |v| v[0].conv2d(&v[1], None, Conv2dConfig::default()));
}

#[test]
fn normalisations_go_back_as_differences_say() {
    let operands = [tensor(&[3, 5], 1), tensor(&[5], 2), tensor(&[5], 3)];
    check(&operands, |v| v[0].layer_norm(&v[1], &v[2], 1e-5));
    check(&operands[..2], |v| v[0].rms_norm(&v[1], 1e-5));
    let operands = [tensor(&[3, 2, 2, 2], 1), tensor(&[2], 2), tensor(&[2], 3)];
    let running = RunningStats { mean: zeros(2), var: zeros(2) };
    check(&operands, |v| {
        Ok(v[0].batch_norm(&v[1], &v[2], &running, BatchNormConfig::default())?.0)
    });
}

/// Checks of the operations on one operand, which have two methods alike in the table.
macro_rules! check_unary {
    ({ $x:ident } $($trait:ident $name:ident $methods:tt)*) => {
        $(check_unary!(@row $x $name $methods);)*
    };
    (@row $x:ident $name:ident {
        $f:ident $forward:ident(input) -> Tensor;
        $b:ident $backward:ident(grad, $saved:ident) -> Tensor;
    }) => {
        check(&$x, |v| match stringify!($name) {
            // A negative number has no root.
            "sqrt" => v[0].mul(&v[0])?.$name(),
            _ => v[0].$name(),
        })
    };
    (@row $x:ident $name:ident $methods:tt) => {};
}

#[test]
fn operations_on_one_operand_go_back_as_differences_say() {
    let x = [tensor(&[4, 5], 4)];
    binade_core::ops::for_each_op!([check_unary] x);
}

#[test]
fn pointwise_operations_go_back_as_differences_say() {
    let x = [tensor(&[4, 5], 4)];
    check(&x, |v| v[0].scaled_by(-1.75));
    check(&x, |v| v[0].reshape(&[2, 10]));
    check(&[tensor(&[2, 3, 2, 2], 4)], |v| v[0].permute(&[2, 0, 3, 1]));
    let (cos, sin) = (tensor(&[3, 2], 7), tensor(&[3, 2], 8));
    check(&[tensor(&[2, 3, 4], 4)], |v| v[0].rotary_embedding(&cos, &sin));
    let pair = [tensor(&[3, 4], 5), tensor(&[3, 4], 6)];
    check(&pair, |v| v[0].add(&v[1]));
    check(&pair, |v| v[0].sub(&v[1]));
    check(&pair, |v| v[0].mul(&v[1]));
    check(&pair, |v| v[0].div(&v[1].exp()?));
    check(&[tensor(&[2, 5, 3], 4)], |v| v[0].narrow(1, 2, 2));
    check(&[tensor(&[2, 3], 4), tensor(&[2, 1], 5)], |v| v[0].cat(&[&v[1], &v[0]], 1));
    let mask = Tensor::new(vec![0.0_f32, 1.0, 0.0], &[3]).unwrap();
    check(&[tensor(&[4, 3], 4)], |v| v[0].masked_fill(&mask, -2.0));
    check(&[tensor(&[2, 3, 2, 2], 1), tensor(&[3], 2)], |v| v[0].bias_add(&v[1]));
}

#[test]
fn rows_and_losses_go_back_as_differences_say() {
    let x = [tensor(&[3, 4], 1)];
    check(&x, |v| v[0].sum());
    check(&x, |v| v[0].mean());
    let labels = Tensor::new(vec![2_i64, 0, 3], &[3]).unwrap();
    check(&x, |v| v[0].cross_entropy(&labels));
    check(&[tensor(&[3, 4], 1), tensor(&[3, 4], 2)], |v| v[0].mse_loss(&v[1]));
}

#[test]
fn what_picks_elements_goes_back_as_differences_say() {
    let indices = Tensor::new(vec![1_i64, 3, 1, 0], &[2, 2]).unwrap();
    check(&[tensor(&[4, 3], 1)], |v| v[0].embedding(&indices));
    check(&[tensor(&[1, 2, 4, 4], 1)], |v| v[0].max_pool2d(MaxPool2dConfig::square(2)));
    let key = Tensor::new(vec![7_i64, 1], &[2]).unwrap();
    check(&[tensor(&[4, 5], 1)], |v| v[0].dropout(&key, 0.25));
}

#[test]
fn a_normalisation_over_groups_goes_back_as_differences_say() {
    let operands = [tensor(&[2, 6, 3], 1), tensor(&[6], 2), tensor(&[6], 3)];
    for groups in [1, 2, 6] {
        check(&operands, |v| v[0].group_norm(&v[1], &v[2], groups, 1e-3));
    }
}

#[test]
fn images_with_the_channels_last_go_back_as_differences_say() {
    let (stride, padding, layout) = ([2, 1], [1, 0], ImageLayout::ChannelsLast);
    let config = Conv2dConfig { stride, padding, layout, ..Conv2dConfig::default() };
    let operands = [tensor(&[2, 5, 4, 2], 1), tensor(&[3, 2, 3, 2], 2), tensor(&[3], 3)];
    check(&operands, |v| v[0].conv2d(&v[1], Some(&v[2]), config));
    let (max, mean) = (MaxPool2dConfig::square(2), AvgPool2dConfig::square(2));
    check(&operands[..1], |v| v[0].max_pool2d(MaxPool2dConfig { layout, ..max }));
    check(&operands[..1], |v| v[0].avg_pool2d(AvgPool2dConfig { layout, ..mean }));
}

#[test]
fn averages_of_windows_go_back_as_differences_say() {
    let x = [tensor(&[2, 2, 5, 4], 1)];
    let (kernel, stride, padding) = ([3, 2], [2, 1], [1, 1]);
    for count_include_pad in [true, false] {
        let config = AvgPool2dConfig {
            kernel,
            stride,
            padding,
            count_include_pad,
            ..AvgPool2dConfig::square(1)
        };
        check(&x, |v| v[0].avg_pool2d(config));
    }
    for output in [[1, 1], [2, 3], [7, 4]] {
        check(&x, |v| v[0].adaptive_avg_pool2d(output));
    }
}

#[test]
fn a_convolutional_net_goes_back_as_differences_say() {
    let labels = Tensor::new(vec![1_i64, 0], &[2]).unwrap();
    let running = RunningStats { mean: zeros(3), var: zeros(3) };
    let operands = [
        tensor(&[2, 1, 6, 6], 1),
        tensor(&[3, 1, 3, 3], 2),
        tensor(&[3], 3),
        tensor(&[3], 4),
        tensor(&[2, 12], 5),
    ];
    check(&operands, |v| {
        let features = v[0].conv2d(&v[1], None, Conv2dConfig::default())?;
        let (features, _) =
            features.batch_norm(&v[2], &v[3], &running, BatchNormConfig::default())?;
        let pooled = features.gelu()?.max_pool2d(MaxPool2dConfig::square(2))?;
        pooled.reshape(&[2, 12])?.linear(&v[4], None)?.cross_entropy(&labels)
    });
}

fn zeros(count: usize) -> Tensor {
    Tensor::new(vec![0.0_f32; count], &[count]).unwrap()
}
