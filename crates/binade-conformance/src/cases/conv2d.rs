//! Two-dimensional convolution: strides, padding, kernels of every shape, and sums over the whole batch.

#![expect(
    clippy::many_single_char_names,
    reason = "operands go by the letters the field gives them"
)]

use super::FLOATS;
use super::ask::{Ask, Asks, Computes, HUGE, ones, refusals, too_large, uniform, values};
use super::bias_add::name;
use super::values::offsets;
use crate::oracle::conv2d::Layer;
use crate::{Check, Compute, Operation::Conv2d, Stored, Verdict};
use binade_core::{DType, ErrorKind};
use binade_ops::Conv2dConfig;

/// Input, weight, stride and padding.
type Size = ([usize; 4], [usize; 4], [usize; 2], [usize; 2]);

const SIZES: [Size; 14] = [
    ([1, 1, 1, 1], [1, 1, 1, 1], [1, 1], [0, 0]),
    ([1, 1, 5, 5], [1, 1, 3, 3], [1, 1], [0, 0]),
    ([2, 3, 7, 6], [4, 3, 3, 3], [1, 1], [1, 1]),
    ([3, 2, 9, 8], [5, 2, 2, 3], [2, 3], [2, 1]),
    ([2, 2, 6, 7], [3, 2, 1, 2], [3, 2], [0, 3]),
    ([1, 8, 8, 8], [8, 8, 3, 3], [1, 1], [1, 1]),
    ([2, 3, 20, 19], [4, 3, 3, 3], [1, 1], [1, 1]),
    ([2, 1, 12, 12], [9, 1, 5, 5], [1, 1], [0, 0]),
    ([1, 33, 3, 3], [2, 33, 3, 3], [1, 1], [0, 0]),
    ([2, 4, 1, 9], [3, 4, 1, 9], [1, 1], [0, 0]),
    ([1, 1, 2, 2], [1, 1, 4, 4], [1, 1], [1, 1]),
    ([5, 3, 4, 4], [2, 3, 1, 1], [2, 2], [0, 0]),
    ([0, 2, 4, 4], [3, 2, 3, 3], [1, 1], [0, 0]),
    ([2, 0, 4, 4], [3, 0, 3, 3], [1, 1], [0, 0]),
];

pub(super) fn add(cases: &mut Asks) {
    for dtype in FLOATS {
        for size in SIZES {
            let (input, weight, stride, padding) = size;
            let sentence = format!(
                "{}_by_{}_stride_{}_padding_{}",
                name(&input),
                name(&weight),
                name(&stride),
                name(&padding)
            );
            cases.add(Conv2d, dtype, sentence, move |s, check| {
                both(s, check, dtype, size, true, 0)?;
                both(s, check, dtype, size, false, 0)
            });
        }
        cases.add(Conv2d, dtype, "starts_anywhere_in_a_buffer", move |s, check| {
            offsets().try_for_each(|(offset, _)| both(s, check, dtype, SIZES[2], true, offset))
        });
        cases.add(Conv2d, dtype, "the_kernel_is_not_flipped", move |s, check| {
            let x = Stored::from_values(dtype, &[1, 1, 2, 3], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
            let w = Stored::from_values(dtype, &[1, 1, 2, 2], [1.0, 10.0, 100.0, 0.0]);
            let op = Compute::Conv2d(Conv2dConfig::default());
            Ask::new(op, &[&x, &w]).exact(s, check, [(dtype, vec![421.0, 532.0])])
        });
        cases.add(Conv2d, dtype, "4096_products_of_one_add_up", move |s, check| {
            let (x, w) = (ones(dtype, &[1, 64, 8, 8]), ones(dtype, &[2, 64, 8, 8]));
            let b = Stored::vector(dtype, [2.0, 32.0]);
            let op = Compute::Conv2d(Conv2dConfig::default());
            Ask::new(op, &[&x, &w, &b]).exact(s, check, [(dtype, vec![4098.0, 4128.0])])
        });
        let sentence = "the_gradient_of_the_weight_is_summed_wide_over_the_batch";
        cases.add(Conv2d, dtype, sentence, move |s, check| {
            let (x, w) = (ones(dtype, &[17, 1, 16, 16]), ones(dtype, &[1, 1, 1, 1]));
            let g = ones(dtype, &[17, 1, 16, 16]);
            let op = Compute::Conv2dBackward { config: Conv2dConfig::default(), bias: true };
            let wanted = [values(&x), vec![4352.0], vec![4352.0]];
            Ask::new(op, &[&g, &x, &w]).exact(s, check, wanted.map(|wanted| (dtype, wanted)))
        });
        cases.add(Conv2d, dtype, "nan_and_infinity_stay_in_their_windows", move |s, check| {
            let layer = Layer {
                input: [1, 1, 4, 4],
                weight: [1, 1, 2, 2],
                config: Conv2dConfig::default(),
            };
            for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                let mut x = vec![1.0; 16];
                x[5] = bad;
                let x = Stored::from_values(dtype, &layer.input, x);
                let w = uniform(1, dtype, &layer.weight, [0.5, 1.0]);
                let wanted = layer.forward(&values(&x), &values(&w), None);
                Ask::new(Compute::Conv2d(layer.config), &[&x, &w]).near(
                    s,
                    check,
                    [(dtype, wanted)],
                )?;
                let mut g = vec![1.0; 9];
                g[4] = bad;
                let g = Stored::from_values(dtype, &layer.output(), g);
                let wanted = layer.backward(&values(&g), &values(&x), &values(&w));
                let op = Compute::Conv2dBackward { config: layer.config, bias: true };
                let wanted = wanted.into_iter().map(|wanted| (dtype, wanted));
                Ask::new(op, &[&g, &x, &w]).near(s, check, wanted)?;
            }
            Ok(())
        });
    }
    refused(cases);
}

fn refused(cases: &mut Asks) {
    let float = |shape: &[usize]| ones(DType::F32, shape);
    let (x, w) = (float(&[1, 2, 3, 3]), float(&[3, 2, 2, 2]));
    let plain = Conv2dConfig::default();
    let still = Conv2dConfig { stride: [0, 1], ..plain };
    let sentence = "a_stride_of_zero_is_an_invalid_argument";
    let all = vec![(Compute::Conv2d(still), vec![x.clone(), w.clone()])];
    refusals(cases, Conv2d, sentence, ErrorKind::InvalidArgument, all);
    let bias = Compute::Conv2dBackward { config: plain, bias: true };
    let all = vec![
        (Compute::Conv2d(plain), vec![x.clone(), float(&[3, 1, 2, 2])]),
        (Compute::Conv2d(plain), vec![x.clone(), float(&[3, 2, 4, 2])]),
        (Compute::Conv2d(plain), vec![x.clone(), w.clone(), float(&[2])]),
        (Compute::Conv2d(plain), vec![x.clone(), ones(DType::F16, &[3, 2, 2, 2])]),
        (bias, vec![float(&[1, 3, 3, 3]), x, w]),
    ];
    refusals(cases, Conv2d, "what_does_not_fit_is_a_mismatch", ErrorKind::Mismatch, all);
    let padded = |padding| Compute::Conv2d(Conv2dConfig { padding, ..Conv2dConfig::default() });
    let image = || vec![ones(DType::F32, &[1, 1, 2, 2]), ones(DType::F32, &[1, 1, 2, 2])];
    let hostile = [[HUGE, 1], [1, HUGE], [HUGE, HUGE], [1 << 30, 1 << 30]];
    too_large(cases, Conv2d, hostile.map(|padding| (padded(padding), image())).into());
}

/// The result, and the gradients of input, weight and perhaps bias.
fn both(
    s: &dyn Computes,
    check: &mut Check,
    dtype: DType,
    (input, weight, stride, padding): Size,
    bias: bool,
    offset: usize,
) -> Verdict {
    let config = Conv2dConfig { stride, padding };
    let layer = Layer { input, weight, config };
    let of = |seed, shape: &[usize]| uniform(seed, dtype, shape, [-1.0, 1.0]);
    let (x, w, b) = (of(1, &input), of(2, &weight), of(3, &weight[..1]));
    let g = of(4, &layer.output());
    let bv = values(&b);
    let wanted = layer.forward(&values(&x), &values(&w), bias.then_some(&bv));
    let operands = [&x, &w, &b];
    Ask::new(Compute::Conv2d(config), &operands[..2 + usize::from(bias)]).at(offset).near(
        s,
        check,
        [(dtype, wanted)],
    )?;
    let wanted = layer.backward(&values(&g), &values(&x), &values(&w));
    let wanted = wanted.into_iter().take(2 + usize::from(bias)).map(|wanted| (dtype, wanted));
    Ask::new(Compute::Conv2dBackward { config, bias }, &[&g, &x, &w])
        .at(offset)
        .near(s, check, wanted)
}
