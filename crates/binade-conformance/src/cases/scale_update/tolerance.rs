//! Cases of tolerances: overflows that back the scale off, and overflows that are let pass.

use super::{fixed_at, sequence};
use crate::{Backend, Cases};
use binade_grad_scaler::{LossScale, Tolerance};

pub(super) fn add_cases<S: Backend>(cases: &mut Cases<S>) {
    hysteresis(cases);
    in_a_row(cases);
    since_move(cases);
    share(cases);
    floor(cases);
}

/// Without limits, growing after three good steps.
fn rule(tolerance: Tolerance) -> LossScale {
    let mut rule = LossScale::torch().with_tolerance(tolerance);
    rule.growth_interval = 3;
    rule
}

fn hysteresis<S: Backend>(cases: &mut Cases<S>) {
    let good = |overflows| rule(Tolerance::UntilGoodStep { overflows });
    let growth = |overflows| rule(Tolerance::UntilGrowth { overflows });
    for overflows in [0, 1, 2, 5] {
        let sentence = format!("an_overflow_is_let_pass_until_the_{overflows}th_since_a_good_step");
        sequence(cases, &sentence, good(overflows), "ssgsssssssggssss");
        let sentence = format!("an_overflow_is_let_pass_until_the_{overflows}th_since_growth");
        sequence(cases, &sentence, growth(overflows), "sgsgsggssgggssgggsssss");
    }
    let mut low = growth(2);
    low.max_exponent = low.init_exponent;
    let mut add = |sentence, rule, letters| sequence(cases, sentence, rule, letters);
    add("a_spent_hysteresis_backs_off_at_each_overflow", good(3), "ssssdsd");
    add("a_good_step_refills_apexs_hysteresis", good(2), "sssgsgdsgss");
    add("growth_alone_refills_deepspeeds_hysteresis", growth(2), "sgsgsgggsgs");
    add("growth_that_the_ceiling_keeps_back_refills_all_the_same", low, "ssgggsss");
    add("a_tolerated_overflow_counts_no_good_steps_on", good(4), "ggsgggggsggg");
}

fn in_a_row<S: Backend>(cases: &mut Cases<S>) {
    let nth = |overflows| rule(Tolerance::InARow { overflows });
    for overflows in [0, 1, 3] {
        let sentence = format!("each_{overflows}th_overflow_in_a_row_backs_off");
        sequence(cases, &sentence, nth(overflows), "sssgssssssssdsgds");
    }
    sequence(cases, "a_back_off_starts_the_row_anew", nth(2), "sssss");
    sequence(cases, "a_good_step_starts_the_row_anew", nth(2), "sgsgds");
}

fn since_move<S: Backend>(cases: &mut Cases<S>) {
    let nth = |overflows| rule(Tolerance::SinceMove { overflows });
    for overflows in [0, 1, 3] {
        let sentence = format!("each_{overflows}th_overflow_since_a_move_backs_off");
        sequence(cases, &sentence, nth(overflows), "sgsggssggsgdsggggsgggsds");
    }
    sequence(cases, "a_good_step_keeps_the_overflows_since_a_move", nth(2), "sgsgdggs");
    let sentence = "a_back_off_or_a_growth_starts_the_overflows_since_a_move_anew";
    sequence(cases, sentence, nth(2), "sssgggsgs");
}

fn share<S: Backend>(cases: &mut Cases<S>) {
    let share = |of_65536| rule(Tolerance::Share { of_65536 });
    let tenth = 6553;
    for of_65536 in [0, tenth, 1 << 15, 40_000, 1 << 16, u32::MAX] {
        let sentence = format!("{of_65536}_in_65536_updates_may_overflow");
        sequence(cases, &sentence, share(of_65536), "sggggsgsdggggggggggsggdgsss");
    }
    let mut never = share(tenth);
    never.growth_exponent = 0;
    let mut add = |sentence, rule, letters| sequence(cases, sentence, rule, letters);
    add("a_share_that_is_met_exactly_is_one_too_many", never, "gggggggggsggggggggggs");
    let restarts = "growth_restarts_the_updates_of_a_share_and_not_its_overflows";
    add(restarts, share(40_000), "ggdgggdggs");
    let restarts = "a_back_off_restarts_the_updates_of_a_share_and_its_overflows";
    add(restarts, share(1 << 15), "ssggssgggs");
}

fn floor<S: Backend>(cases: &mut Cases<S>) {
    let mut low = rule(Tolerance::UntilGrowth { overflows: 2 });
    (low.init_exponent, low.min_exponent) = (0, 0);
    let sentence = "a_tolerated_overflow_at_the_floor_is_no_divergence_and_the_next_is";
    sequence(cases, sentence, low, "sgssgs");
    let mut fixed = fixed_at(3).with_tolerance(Tolerance::InARow { overflows: 2 });
    fixed.patience = 3;
    let sentence = "patience_counts_tolerated_skips_too";
    sequence(cases, sentence, fixed, "ssgsss");
}
