//! Claims of the pages, checked for all three recipes.

use binade::prelude::DType;
use binade_example_candle::{Result, Trained, alone};

#[path = "../examples/candle_forward.rs"]
#[expect(dead_code, reason = "a page has a `main` of its own")]
mod forward;
#[path = "../examples/candle_half_vars.rs"]
#[expect(dead_code, reason = "a page has a `main` of its own")]
mod half_vars;
#[path = "../examples/candle_ranks.rs"]
#[expect(dead_code, reason = "a page has a `main` of its own")]
mod ranks;
#[path = "../examples/candle_sparse.rs"]
#[expect(dead_code, reason = "a page has a `main` of its own")]
mod sparse;
#[path = "../examples/candle_var_builder.rs"]
#[expect(dead_code, reason = "a page has a `main` of its own")]
mod var_builder;

type Recipe = fn(DType) -> Result<Trained>;

const RECIPES: [(&str, Recipe); 3] = [
    ("forward", forward::train),
    ("half_vars", half_vars::train),
    ("var_builder", var_builder::train),
];

fn f32_alone() -> Trained {
    alone(candle_core::DType::F32).unwrap()
}

#[test]
fn every_recipe_ends_within_a_hundredth_of_f32() {
    let wanted = f32_alone().last();
    for (name, train) in RECIPES {
        for dtype in [DType::BF16, DType::F16] {
            let trained = train(dtype).unwrap();
            let off = (trained.last() - wanted).abs();
            assert!(off <= 0.01 * wanted, "{name} in {dtype}: {} for {wanted}", trained.last());
            assert!(trained.moved > 0.95, "{name} in {dtype}: {}", trained.moved);
        }
    }
}

#[test]
fn a_view_in_f32_is_candle_alone_within_rounding() {
    let wanted = f32_alone().last();
    let last = var_builder::train(DType::F32).unwrap().last();
    assert!((last - wanted).abs() <= 1e-4 * wanted, "{last} for {wanted}");
}

#[test]
fn in_f16_the_first_step_overflows_is_skipped_and_halves_the_scale() {
    for (name, train) in RECIPES {
        let trained = train(DType::F16).unwrap();
        assert_eq!((trained.skipped, trained.scale), (1, Some(32768.0)), "{name}");
        assert_eq!(trained.losses[0], trained.losses[1], "{name}: a skipped step moved something");
    }
}

#[test]
fn in_bf16_nothing_is_scaled_and_nothing_skipped() {
    for (name, train) in RECIPES {
        let trained = train(DType::BF16).unwrap();
        assert_eq!((trained.skipped, trained.scale), (0, Some(1.0)), "{name}");
    }
}

#[test]
fn candle_alone_moves_no_weight_in_bf16() {
    let trained = alone(candle_core::DType::BF16).unwrap();
    assert_eq!(trained.moved, 0.0);
    assert!(trained.last() > 1.2 * f32_alone().last());
}

#[test]
fn candle_alone_is_nan_in_f16() {
    let trained = alone(candle_core::DType::F16).unwrap();
    assert!(trained.losses[0].is_finite() && trained.last().is_nan());
}

#[test]
fn two_runs_of_a_recipe_are_equal_to_the_bit() {
    for (name, train) in RECIPES {
        assert_eq!(train(DType::F16).unwrap().losses, train(DType::F16).unwrap().losses, "{name}");
    }
}

#[test]
fn one_two_and_four_ranks_end_with_the_same_bits_and_name_the_rank_that_overflowed() {
    binade_example_shared::ranks::check(ranks::rank);
}

#[test]
fn steps_of_rows_are_those_of_whole_gradients_and_leave_other_rows_alone() {
    let rows = 5000;
    let ends = [true, false]
        .map(|is_sparse| sparse::train(rows, is_sparse).unwrap().table.to_vec2::<f32>().unwrap());
    let words = sparse::words(rows).unwrap().to_vec1::<u32>().unwrap();
    for (row, [sparse, whole]) in ends[0].iter().zip(&ends[1]).map(<[_; 2]>::from).enumerate() {
        let off = sparse.iter().zip(whole).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(off <= 1e-6, "{off} in row {row}");
        let is_word = words.iter().any(|word| *word as usize == row);
        assert_eq!(sparse[0] != 0.0, is_word, "row {row}");
    }
}
