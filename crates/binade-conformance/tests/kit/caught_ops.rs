//! Each subject with a wrong operation is caught, by the case that names its fault.

use crate::caught::caught;
use crate::faulty::Faulty;
use crate::wrong_ops::Slip::*;
use binade_conformance::Runner;

#[test]
fn eight_bits_read_as_the_other_eight_bits_are_caught() {
    let report = Runner::new().only("scale/").run(&Faulty(&ReadsE5m2AsE4m3));
    let failed: Vec<&str> = report.failed().into_iter().map(|(name, _)| name).collect();
    assert_eq!(failed, ["scale/e5m2/every_code_of_eight_bits_is_multiplied_in_f32"]);
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

caught! {
    fn summing_in_f16_is_caught() {
        SumsInF16 by
            "sum/f16/seventy_thousand_ones_are_seventy_thousand"
            "sum/f16/large_values_that_alternate_leave_what_is_between_them"
    }
    fn multiplying_in_f16_is_caught() {
        MultipliesInF16 by "matmul/f16/4096_ones_add_up" "matmul/f16/random_2x4096_by_4096x3"
    }
    fn a_gradient_of_the_mean_that_is_not_divided_is_caught() {
        ForgetsTheCountOfTheMean by_only "mean/f32/the_gradient_is_divided_by_the_count"
    }
    fn adding_what_ends_the_last_vector_is_caught() {
        AddsTheEndOfTheVector by
            "sum/bf16/zeros_of_any_length_add_up_to_zero"
            "mean/f16/zeros_of_any_length_have_a_mean_of_zero"
            "mse_loss/f32/what_is_hit_to_the_bit_has_no_loss"
    }
    fn a_share_of_the_first_elements_of_a_wide_row_is_caught() {
        SumsTheFirst8192 by "softmax/f32/random_2x8203" "softmax/bf16/a_wide_row_may_hang_on_its_last_elements"
    }
    fn a_masked_row_without_a_loss_is_caught() {
        GivesMaskedRowsNoLoss by_only "cross_entropy/f16/a_row_of_minus_infinity_is_nan_throughout"
    }
    fn a_softmax_that_subtracts_no_maximum_is_caught() {
        ExponentiatesAtOnce by "softmax/f16/no_finite_row_overflows" "softmax/f32/no_finite_row_overflows"
    }
    fn a_variance_by_the_difference_of_two_means_is_caught() {
        SubtractsSquaredMeans by "layer_norm/f32/a_large_mean_leaves_the_variance_alone"
    }
    fn normalising_by_the_unbiased_variance_is_caught() {
        NormalisesUnbiased by
            "batch_norm/bf16/a_batch_of_two_is_normalised_by_the_biased_variance"
            "batch_norm/f16/a_batch_of_two_is_normalised_by_the_biased_variance"
            "batch_norm/f32/a_batch_of_two_is_normalised_by_the_biased_variance"
    }
    fn a_running_variance_that_is_biased_is_caught() { RunsBiased by "batch_norm/f16/random_7x3" }
    fn the_approximation_of_gelu_by_tanh_is_caught() {
        MakesGeluOfTanh by
            "gelu/f32/it_is_the_exact_form_and_not_that_by_tanh"
            "gelu/f16/it_is_the_exact_form_and_not_that_by_tanh"
    }
    fn a_gradient_that_passes_at_zero_is_caught() {
        PassesTheGradientAtZero by "relu/bf16/the_gradient_at_zero_is_zero"
    }
    fn a_nan_made_zero_is_caught() { MakesNanZero by_only "relu/f16/a_nan_stays_a_nan_and_passes_its_gradient_on" }
    fn a_nan_made_zero_behind_a_layer_is_caught() {
        MakesNanZeroBehindALayer by
            "linear_relu/f16/a_nan_stays_a_nan_and_passes_its_gradient_on"
            "linear_relu/f32/a_nan_stays_a_nan_and_passes_its_gradient_on"
    }
    fn a_gradient_that_is_not_divided_by_the_batch_is_caught() {
        AddsUpTheBatch by "cross_entropy/f32/the_gradient_is_divided_by_the_number_of_rows"
    }
    fn a_label_that_is_no_class_and_passes_is_caught() {
        TakesAnyLabel by_only "cross_entropy/f16/a_label_that_is_no_class_is_an_invalid_argument_or_nan"
    }
    fn dropping_without_scaling_is_caught() { DropsWithoutScaling by "dropout/f32/what_stays_is_multiplied_in_f32" }
    fn the_mask_of_another_counter_is_caught() {
        DropsByTheNextCounter by "dropout/bf16/the_mask_is_a_function_of_the_key"
    }
    fn a_nan_that_outlives_its_dropping_is_caught() {
        DropsByMultiplying by "dropout/f16/a_nan_and_an_infinity_drop_to_plus_zero"
    }
    fn keeping_the_last_of_duplicates_is_caught() {
        KeepsTheLastDuplicate by "embedding/f32/an_index_that_occurs_4096_times_loses_nothing"
    }
    fn adding_duplicates_in_f16_is_caught() {
        AddsDuplicatesInF16 by "embedding/f16/an_index_that_occurs_4096_times_loses_nothing"
    }
    fn pooling_past_a_nan_is_caught() {
        PoolsPastNan by_only "max_pool2d/f32/a_nan_is_larger_than_everything_and_the_first_wins"
    }
    fn a_gradient_to_every_tie_is_caught() {
        GivesToEveryTie by "max_pool2d/f16/of_equal_elements_the_first_takes_the_gradient"
    }
    fn a_bias_summed_over_the_wrong_axis_is_caught() {
        SumsTheBiasOverColumns by "linear/f32/random_7_rows_of_9x5_with_bias"
    }
    fn a_flipped_kernel_is_caught() { FlipsTheKernel by "conv2d/f32/the_kernel_is_not_flipped" }
    fn a_value_that_is_truncated_is_caught() {
        TruncatesWhatFills by
            "fill/e4m3/the_value_is_rounded_once_to_nearest_even"
            "fill/e5m2/the_value_is_rounded_once_to_nearest_even"
    }
    fn a_nan_that_is_lost_on_its_way_back_is_caught() {
        LosesNanOfGradients by_only "conv2d/bf16/nan_and_infinity_stay_in_their_windows"
    }
    fn a_bias_whose_ties_go_up_is_caught() {
        RoundsTheBiasHalfUp by
            "linear/bf16/the_gradient_of_the_bias_is_rounded_once_to_nearest_even"
            "linear/f16/the_gradient_of_the_bias_is_rounded_once_to_nearest_even"
    }
    fn rows_that_a_bias_forgets_are_caught() {
        ForgetsRowsBehind2048 by "linear/f32/the_gradient_of_the_bias_has_every_row_of_thousands"
    }
    fn a_column_that_is_forgotten_is_caught() {
        ForgetsTheSeventhColumn by "linear/f16/sums_of_1700_in_rows_of_every_width"
    }
    fn sums_that_begin_above_zero_are_caught() { StartsSumsAboveZero by "embedding/f32/gradients_of_zero_leave_zero" }
    fn the_last_rows_of_a_large_table_that_are_forgotten_are_caught() {
        ForgetsRowsBehindAMillion by "embedding/bf16/the_last_of_a_million_rows_has_its_gradient"
    }
    fn rows_filled_up_with_the_lowest_number_are_caught() {
        FillsUpWithTheLowest by "softmax/f32/no_finite_row_overflows" "softmax/f32/minus_infinity_masks_an_element"
    }
    fn a_product_that_reads_behind_its_rows_is_caught() {
        ReadsBehindTheRow by "bmm/f32/nan_stays_in_its_rows_of_64_of_67x69x72"
    }
    fn an_index_that_is_no_row_and_passes_is_caught() {
        TakesAnyIndex by "embedding/f16/the_gradient_of_an_index_outside_is_an_invalid_argument_or_no_row_s"
    }
    fn losing_subnormals_behind_a_bias_is_caught() {
        FlushesBehindTheBias by_only
            "bias_add/f32/any_two_patterns_nan_and_infinity_among_them"
            "bias_add/bf16/any_two_patterns_nan_and_infinity_among_them"
    }
}
