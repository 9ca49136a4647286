//! Each subject that clips by groups wrongly is caught, by the case that names its fault.

use crate::caught::caught;
use crate::wrong_groups::Apart::*;

caught! {
    fn clipping_groups_by_the_norm_of_all_is_caught() {
        GoesByTheNormOfAll by "clip_groups/f16/each_group_goes_by_its_own_norm"
    }
    fn dividing_by_more_than_a_groups_norm_is_caught() {
        DividesByMoreThanTheNorm by "clip_groups/bf16/a_group_within_its_limit_keeps_every_bit"
    }
    fn clipping_what_no_group_names_is_caught() {
        TakesTheRestForAGroup by "clip_groups/f32/a_parameter_of_no_group_keeps_every_bit"
    }
    fn clipping_each_parameter_of_a_group_alone_is_caught() {
        ClipsEachParameterAlone by "clip_groups/f16/parameters_of_a_group_share_one_factor_whatever_their_order"
    }
    fn one_norm_or_one_limit_for_every_group_is_caught() {
        TakesEveryNormForL2 by "clip_groups/f16/each_group_has_a_norm_and_a_limit_of_its_own";
        GoesByTheFirstLimit by "clip_groups/f16/each_group_has_a_norm_and_a_limit_of_its_own"
    }
    fn measuring_groups_before_they_are_unscaled_is_caught() {
        MeasuresWhatIsScaled by "clip_groups/f32/the_limit_is_of_unscaled_gradients_whatever_the_scale"
    }
    fn measuring_groups_before_earlier_clips_is_caught() {
        MeasuresBeforeEarlierClips by_only "clip_groups/f16/groups_go_by_what_earlier_clips_have_left"
    }
    fn summing_a_groups_squares_in_f32_is_caught() {
        SumsSquaresInF32 by "clip_groups/f32/norms_are_summed_so_that_elements_of_1e25_do_not_overflow"
    }
    fn passing_over_one_parameter_of_many_is_caught() {
        PassesOverTheFifthParameter by_only "clip_groups/bf16/the_largest_element_is_found_in_whichever_parameter_it_is"
    }
    fn counting_what_is_behind_the_last_element_is_caught() {
        CountsATinyNumberBehindTheLast by "clip_groups/f32/nothing_behind_the_last_element_counts"
    }
    fn a_groups_norm_beyond_f32_that_raises_nothing_or_another_name_is_caught() {
        KeepsTheVerdict by_only
            "clip_groups/f16/a_groups_norm_beyond_f32_raises_the_verdict_by_the_first_such_groups_name";
        NamesTheLastSuchGroup by_only
            "clip_groups/f16/a_groups_norm_beyond_f32_raises_the_verdict_by_the_first_such_groups_name"
    }
    fn naming_a_group_where_an_element_overflowed_is_caught() {
        NamesTheGroupForAnyOverflow by_only "clip_groups/bf16/what_was_raised_stays_as_it_was_told_in_whatever_group"
    }
    fn telling_a_groups_norm_for_that_of_all_is_caught() {
        RecordsTheNormOfAGroup by "clip_groups/f32/the_norm_of_all_is_still_told_and_no_groups"
    }
    fn groups_that_do_not_fit_are_caught_one_by_one() {
        TakesAnyLimit by_only "clip_groups/f16/a_limit_that_is_no_positive_number_is_an_invalid_argument";
        TakesANameTwice by_only "clip_groups/bf16/a_parameter_that_is_named_twice_is_a_mismatch";
        PassesOverUnknownNames by_only "clip_groups/f32/a_name_that_no_gradient_has_is_a_mismatch"
    }
}
