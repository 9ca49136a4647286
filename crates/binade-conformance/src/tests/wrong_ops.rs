//! Subjects whose operations are wrong in one way each.

use super::caught::{caught, failed};
use super::faulty::{Fault, Faulty};
use super::toy::{Elements, Plain, Tensors, Toy, plain};
use super::toy_ops::{
    by_row, count, exponentials, layer_norm, map, matmul, scalar, softmax, total, zeroed, zip,
};
use crate::backend::Backend as _;
use crate::{OpInvocation, Result, Runner, SubjectError};
use binade_core::ops::{AttentionConfig, MaxPool2dConfig};
use binade_core::{DType, ErrorKind};
use binade_grad_scaler::ScaleState;
use half::f16;

/// The fault of this name.
struct Wrong(&'static str);

impl Fault for Wrong {
    fn scale(&self, tensor: &Plain, scale: ScaleState) -> Result<Plain> {
        match (self.0, tensor.dtype()) {
            ("reads_e5m2_as_e4m3", DType::E5M2) => {
                Toy.scale(&plain(&tensor.to_bits(), DType::E4M3, tensor.shape()), scale)
            }
            _ => Toy.scale(tensor, scale),
        }
    }

    /// Refuses what the toy refuses, unless the fault is to accept it.
    fn compute(&self, op: &OpInvocation, operands: &[&Plain]) -> Result<Tensors> {
        let right = match Toy.compute(op, operands) {
            Err(SubjectError::Rejected(kind, why)) => {
                let taken = taken(self.0, op, operands, kind, &why).map(|result| vec![result]);
                return taken.ok_or(SubjectError::Rejected(kind, why));
            }
            right => right?,
        };
        let (one, many) =
            (spoilt(self.0, op, operands, &right), several(self.0, op, operands, &right));
        Ok(one.map(|one| vec![one]).or(many).unwrap_or(right))
    }
}

/// Returns the result of a fault that accepts operands to be refused.
fn taken(
    fault: &str,
    op: &OpInvocation,
    t: &[&Plain],
    kind: ErrorKind,
    why: &str,
) -> Option<Plain> {
    use OpInvocation as C;
    match (fault, op, t) {
        // Zero as the loss of a row whose label is no class: silent, and no NaN.
        ("takes_any_label", C::CrossEntropy, [_, labels]) if labels.dtype() == DType::I64 => {
            Some(scalar(0.0))
        }
        // A gradient of ones for every row, whatever the indices are.
        ("takes_any_index", C::EmbeddingBackward { rows }, [g, at])
            if at.shape()[0] == g.shape()[0] =>
        {
            let shape = [*rows, g.shape()[1]];
            Some(Plain::write(&vec![1.0; shape.iter().product()], g.dtype(), &shape))
        }
        ("wraps_the_count_of_elements", ..)
            if kind == ErrorKind::InvalidArgument && why.contains("larger than any memory") =>
        {
            Some(Plain::write(&[], DType::F32, &[0]))
        }
        _ => None,
    }
}

/// Returns the single result of a fault, from the operands or the right results.
fn spoilt(fault: &str, op: &OpInvocation, t: &[&Plain], right: &[Plain]) -> Option<Plain> {
    use OpInvocation as C;
    let first = right.first()?;
    let again =
        |op: OpInvocation, t: &[&Plain]| Toy.compute(&op, t).map(|mut all| all.remove(0)).ok();
    Some(match (fault, op, t) {
        ("sums_in_f16", C::Sum, [x]) => scalar(in_f16(&x.read())),
        ("multiplies_in_f16", C::MatMul, [a, b]) => matmul(a, b, in_f16),
        ("forgets_the_count_of_the_mean", C::MeanBackward { shape, dtype }, [g]) => {
            Plain::write(&vec![g.read()[0]; shape.iter().product()], *dtype, shape)
        }
        ("exponentiates_at_once", C::Softmax, [x]) => by_row(x, |x| {
            let terms: Vec<f32> = x.iter().map(|x| x.exp()).collect();
            terms.iter().map(|term| term / total(&terms)).collect()
        }),
        ("subtracts_squared_means", C::LayerNorm { eps }, [x, w, b]) => {
            layer_norm([x, w, b], *eps, |x, mean| {
                total(&x.iter().map(|x| x * x).collect::<Vec<f32>>()) / count(x.len()) - mean * mean
            })
        }
        ("subtracts_the_mean", C::RmsNorm { eps }, [x, w]) => {
            let none = Plain::write(&vec![0.0; w.len()], w.dtype(), w.shape());
            again(C::LayerNorm { eps: *eps }, &[x, w, &none])?
        }
        ("makes_gelu_of_tanh", C::Gelu, [x]) => map(x, |x| {
            // Hendrycks and Gimpel's approximation, which torch has under another name.
            let inner = (2.0 / std::f32::consts::PI).sqrt() * (x + 0.044_715 * x * x * x);
            0.5 * x * (1.0 + inner.tanh())
        }),
        ("passes_the_gradient_at_zero", C::ReluBackward, [g, y]) => {
            zip(g, y, |g, y| if y < 0.0 { 0.0 } else { g })
        }
        // `fmax(x, 0)`, as a library's activation may have it.
        ("makes_nan_zero_behind_a_layer", C::LinearRelu, _) => {
            map(&again(C::Linear, t)?, |x| x.max(0.0))
        }
        ("adds_the_end_of_the_vector", C::Sum | C::Mean | C::MseLoss, [x, ..])
            if !x.len().is_multiple_of(8) =>
        {
            map(first, |x| x + 2.0_f32.powi(-24))
        }
        ("sums_the_first_8192", C::Softmax, [x]) => by_row(x, |x| {
            let terms = exponentials(x);
            let sum = total(&terms[..terms.len().min(8192)]);
            terms.iter().map(|term| term / sum).collect()
        }),
        // Whole vectors of eight, which minus infinity would fill up with nothing.
        ("fills_up_with_the_lowest", C::Softmax, [x]) => by_row(x, |x| {
            let mut filled = x.to_vec();
            filled.resize(x.len().next_multiple_of(8), f32::MIN);
            softmax(&filled)[..x.len()].to_vec()
        }),
        // The first element of the row below, multiplied by what fills up the other operand.
        ("reads_behind_the_row", C::Bmm, [a, b]) => {
            let values = a.read();
            let [inner, columns] = [a, b].map(|x| x.shape()[x.shape().len() - 1]);
            let below = |row: usize| values.get((row + 1) * inner).unwrap_or(&0.0);
            let cells = first.read().into_iter().enumerate();
            let leaked = cells.map(|(i, x)| x + 0.0 * below(i / columns));
            Plain::write(&leaked.collect::<Vec<f32>>(), first.dtype(), first.shape())
        }
        ("flushes_behind_the_bias", C::BiasAdd, _) => {
            map(first, |x| if x.is_subnormal() { 0.0 } else { x })
        }
        ("gives_masked_rows_no_loss", C::CrossEntropy, [x, _])
            if x.read().iter().all(|x| *x == f32::NEG_INFINITY) && !x.is_empty() =>
        {
            scalar(0.0)
        }
        ("adds_up_the_batch", C::CrossEntropyBackward, [g, x, labels]) => {
            again(op.clone(), &[&map(g, |g| g * count(labels.len())), x, labels])?
        }
        ("makes_nan_zero", C::Relu, [x]) => map(x, |x| if x > 0.0 { x } else { 0.0 }),
        ("pools_past_nan", C::MaxPool2d { .. }, [x]) => {
            again(op.clone(), &[&map(x, |x| if x.is_nan() { f32::NEG_INFINITY } else { x })])?
        }
        ("gives_to_every_tie", C::MaxPool2dBackward { config }, [g, x]) => every_tie(g, x, *config),
        ("flips_the_kernel", C::Conv2d { .. }, [x, w, b @ ..]) => {
            let taps = w.shape()[2] * w.shape()[3];
            let turned: Vec<f32> =
                w.read().chunks(taps).flat_map(|it| it.iter().rev().copied()).collect();
            let turned = Plain::write(&turned, w.dtype(), w.shape());
            again(op.clone(), &[&[*x, &turned], b].concat())?
        }
        ("truncates_what_fills", C::Fill { value, shape, dtype }, _) => {
            let cut = f32::from_bits(value.to_bits() & 0xffe0_0000);
            Plain::write(&vec![cut; shape.iter().product()], *dtype, shape)
        }
        ("forgets_the_seventh_column", C::Linear, [_, w, ..]) if w.shape()[0] == 7 => {
            zeroed(first, 6, 7)
        }
        _ => return of_keys(fault, op, t, first),
    })
}

/// The one result of a fault in an operation that takes a key, indices, tables or axes.
fn of_keys(fault: &str, op: &OpInvocation, t: &[&Plain], right: &Plain) -> Option<Plain> {
    use OpInvocation as C;
    let again = |t: &[&Plain]| Toy.compute(op, t).map(|mut all| all.remove(0)).ok();
    Some(match (fault, op, t) {
        ("drops_without_scaling", C::Dropout { .. }, [x, _]) => {
            zip(x, right, |x, kept| if kept == 0.0 { kept } else { x })
        }
        ("drops_by_the_next_counter", C::DropoutBackward { .. }, [x, key]) => {
            let mut words = key.to_bits();
            words[8] = words[8].wrapping_add(1);
            again(&[x, &plain(&words, DType::I64, key.shape())])?
        }
        ("drops_by_multiplying", C::Dropout { .. }, [x, key]) => {
            let ones = Plain::write(&vec![1.0; x.len()], DType::F32, x.shape());
            zip(x, &again(&[&ones, key])?, |x, mask| x * mask)
        }
        ("keeps_the_last_duplicate", C::EmbeddingBackward { rows }, [g, at]) => {
            scattered(g, at, *rows, |_, g| g)
        }
        ("adds_duplicates_in_f16", C::EmbeddingBackward { rows }, [g, at]) => {
            scattered(g, at, *rows, |sum, g| f16::from_f32(sum + g).to_f32())
        }
        ("forgets_rows_behind_a_million", C::EmbeddingBackward { .. }, _) => {
            zeroed(right, right.shape()[1] << 20, 1)
        }
        ("starts_sums_above_zero", C::EmbeddingBackward { rows }, [g, at]) => {
            scattered(g, at, *rows, |sum, g| sum + g + f32::from_bits(1))
        }
        ("rotates_neighbours", C::RotaryEmbedding, [x, cos, sin]) => {
            // Pairs of neighbours, as GPT-J has them: the same for lines of two elements.
            let half = cos.shape()[1];
            let (values, cos, sin) = (x.read(), cos.read(), sin.read());
            let one = |at: usize| {
                let angle = at / (2 * half) * half % cos.len() + at % (2 * half) / 2;
                let other = if at.is_multiple_of(2) { -values[at + 1] } else { values[at - 1] };
                values[at] * cos[angle] + other * sin[angle]
            };
            let rotated: Vec<f32> = (0..values.len()).map(one).collect();
            Plain::write(&rotated, x.dtype(), x.shape())
        }
        ("puts_axes_back", C::Permute { axes }, _) => {
            let mut back = vec![0; axes.len()];
            axes.iter().enumerate().for_each(|(to, from)| back[*from] = to);
            Toy.compute(&C::Permute { axes: back }, t).ok()?.remove(0)
        }
        _ => return None,
    })
}

/// Results of a fault in an operation that has several.
fn several(fault: &str, op: &OpInvocation, t: &[&Plain], right: &[Plain]) -> Option<Vec<Plain>> {
    use OpInvocation as C;
    let mut results = right.to_vec();
    let bias_of =
        |g: &Plain, x: &Plain, w: &Plain| Some(Toy.compute(op, &[g, x, w]).ok()?.remove(2));
    match (fault, op, t) {
        ("attends_to_later_keys", C::ScaledDotProductAttention { config }, _) => {
            let config = AttentionConfig { causal: false, ..*config };
            results = Toy.compute(&C::ScaledDotProductAttention { config }, t).ok()?;
        }
        ("forgets_the_mask", C::ScaledDotProductAttention { .. }, [.., _]) if t.len() == 4 => {
            results = Toy.compute(op, &t[..3]).ok()?;
        }
        ("gives_queries_without_keys_nan", C::ScaledDotProductAttention { .. }, _) => {
            results[0] = map(&right[0], |y| if y == 0.0 { f32::NAN } else { y });
        }
        ("forgets_the_mean", C::ScaledDotProductAttentionBackward { .. }, _) => {
            let zeros = map(t[4], |_| 0.0);
            results = Toy.compute(op, &[&t[..4], &[&zeros], &t[5..]].concat()).ok()?;
        }
        ("loses_nan_of_gradients", C::Conv2dBackward { .. }, [g, x, w]) => {
            let numbers = map(g, |g| if g.is_nan() { 0.0 } else { g });
            results = Toy.compute(op, &[&numbers, x, w]).ok()?;
        }
        ("rounds_the_bias_half_up", C::LinearBackward { bias: true }, [g, x, w]) => {
            let wide = |x: &Plain| Plain::write(&x.read(), DType::F32, x.shape());
            // One unit of f32 more: ties go up.
            let up = map(&bias_of(&wide(g), &wide(x), &wide(w))?, |sum| {
                f32::from_bits(sum.to_bits() + 1)
            });
            results[2] = Plain::write(&up.read(), g.dtype(), up.shape());
        }
        ("forgets_rows_behind_2048", C::LinearBackward { bias: true }, [g, x, w]) => {
            results[2] = bias_of(&zeroed(g, 2048 * w.shape()[0], 1), x, w)?;
        }
        ("sums_the_bias_over_columns", C::LinearBackward { bias: true }, [g, x, w]) => {
            let (values, outer) = (g.read(), w.shape()[0]);
            let rows = values.len() / outer.max(1);
            let turned: Vec<f32> =
                (0..values.len()).map(|at| values[at % outer * rows + at / outer]).collect();
            results[2] = bias_of(&Plain::write(&turned, g.dtype(), g.shape()), x, w)?;
        }
        _ => return None,
    }
    Some(results)
}

/// Gives each window's gradient to all of its largest elements.
fn every_tie(g: &Plain, x: &Plain, config: MaxPool2dConfig) -> Plain {
    let MaxPool2dConfig { kernel, stride, padding, .. } = config;
    let result = OpInvocation::MaxPool2d { config }.check(&[(x.dtype(), x.shape())]);
    let (values, y) = (x.read(), result.map(|spec| spec.shape).unwrap_or_default());
    let (height, width) = (x.shape()[2], x.shape()[3]);
    let mut dx = vec![0.0; values.len()];
    for (at, g) in g.read().into_iter().enumerate() {
        let (column, row, plane) = (at % y[3], at / y[3] % y[2], at / (y[3] * y[2]));
        let taps = (0..kernel[0] * kernel[1]).filter_map(|tap| {
            let above = (row * stride[0] + tap / kernel[1]).checked_sub(padding[0])?;
            let beside = (column * stride[1] + tap % kernel[1]).checked_sub(padding[1])?;
            (above < height && beside < width).then_some((plane * height + above) * width + beside)
        });
        let taps: Vec<usize> = taps.collect();
        let best = taps.iter().map(|at| values[*at]).fold(f32::NEG_INFINITY, f32::max);
        taps.into_iter().filter(|at| values[*at] == best).for_each(|at| dx[at] += g);
    }
    Plain::write(&dx, x.dtype(), x.shape())
}

/// Puts gradients of rows into their rows of the table; `f` joins them with the elements there.
fn scattered(g: &Plain, at: &Plain, rows: usize, f: impl Fn(f32, f32) -> f32) -> Plain {
    let width = g.shape().last().copied().unwrap_or_default();
    let (mut table, values, bytes) = (vec![0.0; rows * width], g.read(), at.to_bits());
    let indices = bytes.chunks(8).map(|word| usize::from(word[0]) + (usize::from(word[1]) << 8));
    for (i, row) in indices.enumerate() {
        for column in 0..width {
            let at = row * width + column;
            table[at] = f(table[at], values[i * width + column]);
        }
    }
    Plain::write(&table, g.dtype(), &[rows, width])
}

fn in_f16(terms: &[f32]) -> f32 {
    terms.iter().fold(f16::ZERO, |sum, x| f16::from_f32(sum.to_f32() + x)).to_f32()
}

#[test]
fn eight_bits_read_as_the_other_eight_bits_are_caught() {
    let report = Runner::new().only("scale/").run_on(&Faulty(&Wrong("reads_e5m2_as_e4m3")));
    assert_eq!(failed(&report), ["scale/e5m2/every_code_of_eight_bits_is_multiplied_in_f32"]);
}

#[test]
fn a_count_of_elements_that_wraps_around_is_caught() {
    for operation in ["fill", "sum", "mean", "matmul", "conv2d", "embedding"] {
        let case = format!("{operation}/-/a_result_larger_than_any_memory_is_an_invalid_argument");
        let wrong = Wrong("wraps_the_count_of_elements");
        let report = Runner::new().only(case.as_str()).run_on(&Faulty(&wrong));
        assert_eq!(failed(&report), [case]);
    }
}

caught! {
    fn sums_in_f16() by
        "sum/f16/seventy_thousand_ones_are_seventy_thousand" "sum/f16/large_values_that_alternate_leave_what_is_between_them";
    fn multiplies_in_f16() by "matmul/f16/4096_ones_add_up" "matmul/f16/random_2x4096_by_4096x3";
    fn forgets_the_count_of_the_mean() by_only "mean/f32/the_gradient_is_divided_by_the_count";
    fn adds_the_end_of_the_vector() by
        "sum/bf16/zeros_of_any_length_add_up_to_zero" "mean/f16/zeros_of_any_length_have_a_mean_of_zero"
        "mse_loss/f32/what_is_hit_to_the_bit_has_no_loss";
    fn sums_the_first_8192() by "softmax/f32/random_2x8203" "softmax/bf16/a_wide_row_may_hang_on_its_last_elements";
    fn gives_masked_rows_no_loss() by_only "cross_entropy/f16/a_row_of_minus_infinity_is_nan_throughout";
    fn exponentiates_at_once() by "softmax/f16/no_finite_row_overflows" "softmax/f32/no_finite_row_overflows";
    fn subtracts_squared_means() by "layer_norm/f32/a_large_mean_leaves_the_variance_alone";
    fn subtracts_the_mean() by "rms_norm/f16/the_mean_is_not_subtracted" "rms_norm/f32/random_3x7";
    fn makes_gelu_of_tanh() by
        "gelu/f32/it_is_the_exact_form_and_not_that_by_tanh" "gelu/f16/it_is_the_exact_form_and_not_that_by_tanh";
    fn passes_the_gradient_at_zero() by "relu/bf16/the_gradient_at_zero_is_zero";
    fn makes_nan_zero() by_only "relu/f16/a_nan_stays_a_nan_and_passes_its_gradient_on";
    fn makes_nan_zero_behind_a_layer() by
        "linear_relu/f16/a_nan_stays_a_nan_and_passes_its_gradient_on"
        "linear_relu/f32/a_nan_stays_a_nan_and_passes_its_gradient_on";
    fn adds_up_the_batch() by "cross_entropy/f32/the_gradient_is_divided_by_the_number_of_rows";
    fn takes_any_label() by_only "cross_entropy/f16/a_label_that_is_no_class_is_an_invalid_argument_or_nan";
    fn drops_without_scaling() by "dropout/f32/what_stays_is_multiplied_in_f32";
    fn drops_by_the_next_counter() by "dropout/bf16/the_mask_is_a_function_of_the_key";
    fn drops_by_multiplying() by "dropout/f16/a_nan_and_an_infinity_drop_to_plus_zero";
    fn keeps_the_last_duplicate() by "embedding/f32/an_index_that_occurs_4096_times_loses_nothing";
    fn adds_duplicates_in_f16() by "embedding/f16/an_index_that_occurs_4096_times_loses_nothing";
    fn pools_past_nan() by_only "max_pool2d/f32/a_nan_is_larger_than_everything_and_the_first_wins";
    fn gives_to_every_tie() by "max_pool2d/f16/of_equal_elements_the_first_takes_the_gradient";
    fn sums_the_bias_over_columns() by "linear/f32/random_7_rows_of_9x5_with_bias";
    fn rotates_neighbours() by
        "rotary_embedding/f32/random_3x4" "rotary_embedding/f16/a_quarter_turn_changes_places";
    fn puts_axes_back() by "permute/f16/2x3x5_by_axes_1x2x0" "permute/bf16/2x5x3x16_by_axes_2x0x3x1";
    fn attends_to_later_keys() by
        "scaled_dot_product_attention/f32/causal_2x2_of_7x9x8x8" "scaled_dot_product_attention/bf16/causal_1_of_70x130x72x70";
    fn forgets_the_mask() by
        "scaled_dot_product_attention/f16/mask_of_2x1x1x9" "scaled_dot_product_attention/f32/tiles_of_keys_may_be_left_out";
    fn gives_queries_without_keys_nan() by "scaled_dot_product_attention/f16/a_query_without_keys_has_output_0";
    fn forgets_the_mean() by "scaled_dot_product_attention/f32/random_2_of_33x65x16x24";
    fn flips_the_kernel() by "conv2d/f32/the_kernel_is_not_flipped";
    fn truncates_what_fills() by
        "fill/e4m3/the_value_is_rounded_once_to_nearest_even" "fill/e5m2/the_value_is_rounded_once_to_nearest_even";
    fn loses_nan_of_gradients() by_only
        "conv2d/bf16/channels_last_keep_nan_and_infinity_in_their_windows"
        "conv2d/bf16/nan_and_infinity_stay_in_their_windows";
    fn rounds_the_bias_half_up() by
        "linear/bf16/the_gradient_of_the_bias_is_rounded_once_to_nearest_even"
        "linear/f16/the_gradient_of_the_bias_is_rounded_once_to_nearest_even";
    fn forgets_rows_behind_2048() by "linear/f32/the_gradient_of_the_bias_has_every_row_of_thousands";
    fn forgets_the_seventh_column() by "linear/f16/sums_of_1700_in_rows_of_every_width";
    fn starts_sums_above_zero() by "embedding/f32/gradients_of_zero_leave_zero";
    fn forgets_rows_behind_a_million() by "embedding/bf16/the_last_of_a_million_rows_has_its_gradient";
    fn fills_up_with_the_lowest() by "softmax/f32/no_finite_row_overflows" "softmax/f32/minus_infinity_masks_an_element";
    fn reads_behind_the_row() by "bmm/f32/nan_stays_in_its_rows_of_64_of_67x69x72";
    fn takes_any_index() by "embedding/f16/the_gradient_of_an_index_outside_is_an_invalid_argument_or_no_row_s";
    fn flushes_behind_the_bias() by_only
        "bias_add/f32/any_two_patterns_nan_and_infinity_among_them"
        "bias_add/bf16/any_two_patterns_nan_and_infinity_among_them";
}
