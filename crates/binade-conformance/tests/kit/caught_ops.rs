//! Each subject with a wrong operation is caught, by the case that names its fault.

use crate::caught::{alone, caught};
use crate::faulty::Faulty;
use crate::wrong_ops::Slip::*;
use binade_conformance::Runner;

#[test]
fn summing_in_f16_is_caught() {
    caught(&SumsInF16, "sum/f16/seventy_thousand_ones_are_seventy_thousand");
    caught(&SumsInF16, "sum/f16/large_values_that_alternate_leave_what_is_between_them");
}

#[test]
fn multiplying_in_f16_is_caught() {
    caught(&MultipliesInF16, "matmul/f16/4096_ones_add_up");
    caught(&MultipliesInF16, "matmul/f16/random_2x4096_by_4096x3");
}

#[test]
fn a_gradient_of_the_mean_that_is_not_divided_is_caught() {
    alone(&ForgetsTheCountOfTheMean, "mean/f32/the_gradient_is_divided_by_the_count");
}

#[test]
fn eight_bits_read_as_the_other_eight_bits_are_caught() {
    let report = Runner::new().only("scale/").run(&Faulty(&ReadsE5m2AsE4m3));
    let failed: Vec<&str> = report.failed().into_iter().map(|(name, _)| name).collect();
    assert_eq!(failed, ["scale/e5m2/every_code_of_eight_bits_is_multiplied_in_f32"]);
}

#[test]
fn adding_what_ends_the_last_vector_is_caught() {
    caught(&AddsTheEndOfTheVector, "sum/bf16/zeros_of_any_length_add_up_to_zero");
    caught(&AddsTheEndOfTheVector, "mean/f16/zeros_of_any_length_have_a_mean_of_zero");
    caught(&AddsTheEndOfTheVector, "mse_loss/f32/what_is_hit_to_the_bit_has_no_loss");
}

#[test]
fn a_share_of_the_first_elements_of_a_wide_row_is_caught() {
    caught(&SumsTheFirst8192, "softmax/f32/random_2x8203");
    caught(&SumsTheFirst8192, "softmax/bf16/a_wide_row_may_hang_on_its_last_elements");
}

#[test]
fn a_masked_row_without_a_loss_is_caught() {
    alone(&GivesMaskedRowsNoLoss, "cross_entropy/f16/a_row_of_minus_infinity_is_nan_throughout");
}

#[test]
fn a_softmax_that_subtracts_no_maximum_is_caught() {
    caught(&ExponentiatesAtOnce, "softmax/f16/no_finite_row_overflows");
    caught(&ExponentiatesAtOnce, "softmax/f32/no_finite_row_overflows");
}

#[test]
fn a_variance_by_the_difference_of_two_means_is_caught() {
    caught(&SubtractsSquaredMeans, "layer_norm/f32/a_large_mean_leaves_the_variance_alone");
}

#[test]
fn normalising_by_the_unbiased_variance_is_caught() {
    for dtype in ["bf16", "f16", "f32"] {
        let sentence = "a_batch_of_two_is_normalised_by_the_biased_variance";
        caught(&NormalisesUnbiased, &format!("batch_norm/{dtype}/{sentence}"));
    }
}

#[test]
fn a_running_variance_that_is_biased_is_caught() {
    caught(&RunsBiased, "batch_norm/f16/random_7x3");
}

#[test]
fn the_approximation_of_gelu_by_tanh_is_caught() {
    caught(&MakesGeluOfTanh, "gelu/f32/it_is_the_exact_form_and_not_that_by_tanh");
    caught(&MakesGeluOfTanh, "gelu/f16/it_is_the_exact_form_and_not_that_by_tanh");
}

#[test]
fn a_gradient_that_passes_at_zero_is_caught() {
    caught(&PassesTheGradientAtZero, "relu/bf16/the_gradient_at_zero_is_zero");
}

#[test]
fn a_nan_made_zero_is_caught() {
    alone(&MakesNanZero, "relu/f16/a_nan_stays_a_nan_and_passes_its_gradient_on");
}

#[test]
fn a_nan_made_zero_behind_a_layer_is_caught() {
    let sentence = "a_nan_stays_a_nan_and_passes_its_gradient_on";
    caught(&MakesNanZeroBehindALayer, &format!("linear_relu/f16/{sentence}"));
    caught(&MakesNanZeroBehindALayer, &format!("linear_relu/f32/{sentence}"));
}

#[test]
fn a_gradient_that_is_not_divided_by_the_batch_is_caught() {
    caught(&AddsUpTheBatch, "cross_entropy/f32/the_gradient_is_divided_by_the_number_of_rows");
}

#[test]
fn a_label_that_is_no_class_and_passes_is_caught() {
    alone(
        &TakesAnyLabel,
        "cross_entropy/f16/a_label_that_is_no_class_is_an_invalid_argument_or_nan",
    );
}

#[test]
fn dropping_without_scaling_is_caught() {
    caught(&DropsWithoutScaling, "dropout/f32/what_stays_is_multiplied_in_f32");
}

#[test]
fn the_mask_of_another_counter_is_caught() {
    caught(&DropsByTheNextCounter, "dropout/bf16/the_mask_is_a_function_of_the_key");
}

#[test]
fn a_nan_that_outlives_its_dropping_is_caught() {
    caught(&DropsByMultiplying, "dropout/f16/a_nan_and_an_infinity_drop_to_plus_zero");
}

#[test]
fn keeping_the_last_of_duplicates_is_caught() {
    caught(&KeepsTheLastDuplicate, "embedding/f32/an_index_that_occurs_4096_times_loses_nothing");
}

#[test]
fn adding_duplicates_in_f16_is_caught() {
    caught(&AddsDuplicatesInF16, "embedding/f16/an_index_that_occurs_4096_times_loses_nothing");
}

#[test]
fn pooling_past_a_nan_is_caught() {
    alone(&PoolsPastNan, "max_pool2d/f32/a_nan_is_larger_than_everything_and_the_first_wins");
}

#[test]
fn a_gradient_to_every_tie_is_caught() {
    caught(&GivesToEveryTie, "max_pool2d/f16/of_equal_elements_the_first_takes_the_gradient");
}

#[test]
fn a_bias_summed_over_the_wrong_axis_is_caught() {
    caught(&SumsTheBiasOverColumns, "linear/f32/random_7_rows_of_9x5_with_bias");
}

#[test]
fn a_flipped_kernel_is_caught() {
    caught(&FlipsTheKernel, "conv2d/f32/the_kernel_is_not_flipped");
}

#[test]
fn a_value_that_is_truncated_is_caught() {
    caught(&TruncatesWhatFills, "fill/e4m3/the_value_is_rounded_once_to_nearest_even");
    caught(&TruncatesWhatFills, "fill/e5m2/the_value_is_rounded_once_to_nearest_even");
}

#[test]
fn a_nan_that_is_lost_on_its_way_back_is_caught() {
    alone(&LosesNanOfGradients, "conv2d/bf16/nan_and_infinity_stay_in_their_windows");
}

#[test]
fn a_bias_whose_ties_go_up_is_caught() {
    let sentence = "the_gradient_of_the_bias_is_rounded_once_to_nearest_even";
    caught(&RoundsTheBiasHalfUp, &format!("linear/bf16/{sentence}"));
    caught(&RoundsTheBiasHalfUp, &format!("linear/f16/{sentence}"));
}

#[test]
fn rows_that_a_bias_forgets_are_caught() {
    let sentence = "the_gradient_of_the_bias_has_every_row_of_thousands";
    caught(&ForgetsRowsBehind2048, &format!("linear/f32/{sentence}"));
}

#[test]
fn a_column_that_is_forgotten_is_caught() {
    caught(&ForgetsTheSeventhColumn, "linear/f16/sums_of_1700_in_rows_of_every_width");
}

#[test]
fn sums_that_begin_above_zero_are_caught() {
    caught(&StartsSumsAboveZero, "embedding/f32/gradients_of_zero_leave_zero");
}

#[test]
fn the_last_rows_of_a_large_table_that_are_forgotten_are_caught() {
    let sentence = "the_last_of_a_million_rows_has_its_gradient";
    caught(&ForgetsRowsBehindAMillion, &format!("embedding/bf16/{sentence}"));
}

#[test]
fn rows_filled_up_with_the_lowest_number_are_caught() {
    caught(&FillsUpWithTheLowest, "softmax/f32/no_finite_row_overflows");
    caught(&FillsUpWithTheLowest, "softmax/f32/minus_infinity_masks_an_element");
}

#[test]
fn a_product_that_reads_behind_its_rows_is_caught() {
    caught(&ReadsBehindTheRow, "bmm/f32/nan_stays_in_its_rows_of_64_of_67x69x72");
}

#[test]
fn an_index_that_is_no_row_and_passes_is_caught() {
    let sentence = "the_gradient_of_an_index_outside_is_an_invalid_argument_or_no_row_s";
    caught(&TakesAnyIndex, &format!("embedding/f16/{sentence}"));
}

#[test]
fn a_count_of_elements_that_wraps_around_is_caught() {
    for operation in ["fill", "sum", "mean", "matmul", "conv2d", "embedding"] {
        let case = format!("{operation}/-/a_result_larger_than_any_memory_is_an_invalid_argument");
        let report = Runner::new().only(case.as_str()).run(&Faulty(&WrapsTheCountOfElements));
        let failed: Vec<&str> = report.failed().into_iter().map(|(name, _)| name).collect();
        assert_eq!(failed, [case]);
    }
}

#[test]
fn losing_subnormals_behind_a_bias_is_caught() {
    alone(&FlushesBehindTheBias, "bias_add/f32/any_two_patterns_nan_and_infinity_among_them");
    alone(&FlushesBehindTheBias, "bias_add/bf16/any_two_patterns_nan_and_infinity_among_them");
}
