//! Figures of runs: at every level, with clipping, with windows, and with an overflow put in.

use crate::common::{only, parse, runs, short, weights};
use binade::OptLevel;
use binade::core::DType::{BF16, F16, F32};
use binade::master_weights::Memory;
use binade_cpu::Cpu;
use binade_example_digits::config;
use binade_example_digits::record::{Run, Steps};

fn learns(run: &Run) {
    let name = format!("{} {}: {:?}", run.level, run.dtype, run.losses);
    assert!(run.losses.len() == 2 && run.losses.iter().all(|loss| loss.is_finite()), "{name}");
    assert!(run.losses[1] < run.losses[0], "{name}");
    assert!(run.accuracy() > 0.2 && run.accuracy() <= 1.0, "twice a guess: {name}");
}

#[test]
fn every_level_learns_and_accounts_for_every_step() {
    let runs = runs("--level all");
    let names: Vec<_> = runs.iter().map(|run| format!("{} {}", run.level, run.dtype)).collect();
    assert_eq!(names, ["O0 f32", "O1 f16", "O1 bf16", "O2 f16", "O2 bf16", "O3 f16"]);
    for run in &runs {
        learns(run);
        let Steps { attempted, applied, skipped } = run.outcomes.steps;
        assert_eq!((attempted, applied + skipped), (14, 14), "{} {}", run.level, run.dtype);
        assert_eq!(run.outcomes.scales.len(), 1 + 14);
    }
}

#[test]
fn the_convolutional_model_learns_at_every_level_too() {
    for level in ["O0", "O1 --dtype f16", "O2 --dtype bf16", "O2 --dtype f16", "O3"] {
        learns(&only(&format!("--model cnn --batch 100 --lr 0.02 --level {level}")));
    }
}

#[test]
fn every_optimizer_learns() {
    for optimizer in ["sgd", "adam", "adamw", "amsgrad"] {
        learns(&only(&format!("--level O2 --dtype f16 --optimizer {optimizer}")));
    }
}

#[test]
fn f16_starts_at_two_to_the_sixteenth_and_bf16_and_the_baselines_at_one() {
    for run in runs("--level all --epochs 1") {
        let scaled = run.dtype == "f16" && run.level != "O3";
        let first = if scaled { 65536.0 } else { 1.0 };
        assert_eq!(run.outcomes.scales[0], first, "{} {}", run.level, run.dtype);
        assert!(scaled || run.outcomes.scales.iter().all(|&scale| scale == 1.0));
    }
}

#[test]
fn bytes_are_those_of_the_level() {
    let [full, cast, half, bare] = ["O0", "O1 --dtype f16", "O2 --dtype f16", "O3"]
        .map(|level| only(&format!("--epochs 1 --level {level}")));
    assert!(half.activations_peak < full.activations_peak);
    let [full, cast, half, bare] = [full, cast, half, bare].map(|run| run.bytes);
    let elements = 64 * 128 + 128 + 128 * 64 + 64 + 64 * 10 + 10;
    assert_eq!((full.parameters, full.masters, full.optimizer), (4 * elements, 0, 8 * elements));
    assert_eq!(cast, full);
    assert_eq!(
        (half.parameters, half.masters, half.gradients),
        (2 * elements, 4 * elements, 2 * elements)
    );
    assert_eq!((bare.parameters, bare.masters), (2 * elements, 0));
}

#[test]
fn o2_keeps_gains_and_offsets_of_both_normalisations_in_f32() {
    let of = |level| only(&format!("--model cnn --epochs 1 --batch 100 --level {level}")).bytes;
    let (full, half) = (of("O0").parameters, of("O2 --dtype bf16").parameters);
    assert_eq!(half, full / 2 + 2 * 2 * (16 + 32));
}

#[test]
fn the_sum_of_a_window_is_four_bytes_an_element_beside_the_gradients() {
    for level in ["O0", "O1 --dtype bf16", "O2 --dtype f16", "O3"] {
        let bytes = |line| only(&format!("--epochs 1 --level {level} {line}")).bytes;
        let (one, four) = (bytes(""), bytes("--accumulate 4"));
        let elements = 64 * 128 + 128 + 128 * 64 + 64 + 64 * 10 + 10;
        assert_eq!(four, Memory { gradients: one.gradients + 4 * elements, ..one }, "{level}");
    }
}

#[test]
fn an_overflow_put_in_is_skipped_named_and_halves_the_scale_in_f16() {
    for level in ["O1", "O2"] {
        let run =
            only(&format!("--level {level} --dtype f16 --inject-overflow 3 --init-scale 2^8"));
        assert_eq!(run.outcomes.steps, Steps { attempted: 14, applied: 13, skipped: 1 }, "{level}");
        assert_eq!(run.outcomes.scales[..4], [256.0, 256.0, 256.0, 128.0]);
        assert_eq!(run.outcomes.scales.last(), Some(&128.0));
        let report = run.outcomes.first_skip.as_deref().expect("a report");
        assert!(report.starts_with("step 3 skipped; "), "{report}");
        assert!(report.contains("linear0.weight[0] is +inf"), "{report}");
        assert!(report.contains("scale 256 -> 128"), "{report}");
    }
}

#[test]
fn an_overflow_put_in_is_skipped_at_every_level_and_moves_no_scale_of_one() {
    for level in ["O0", "O1 --dtype bf16", "O2 --dtype bf16", "O3"] {
        let run = only(&format!("--level {level} --inject-overflow 14"));
        assert_eq!(run.outcomes.steps, Steps { attempted: 14, applied: 13, skipped: 1 }, "{level}");
        assert!(run.outcomes.scales.iter().all(|&scale| scale == 1.0), "{level}");
        assert!(run.losses.iter().all(|loss| loss.is_finite()), "{level}: nothing was spoiled");
    }
}

#[test]
fn the_scale_grows_at_its_interval() {
    let run = only("--level O2 --dtype f16 --init-scale 2^4 --growth-interval 5");
    let history: Vec<_> = run.outcomes.scales.iter().map(|scale| scale.log2()).collect();
    assert_eq!(history, [4., 4., 4., 4., 4., 5., 5., 5., 5., 5., 6., 6., 6., 6., 6.]);
}

#[test]
fn a_named_rule_moves_the_scale_its_own_way() {
    let overflow = "--level O2 --dtype f16 --init-scale 2^8 --inject-overflow 3 --loss-scale";
    let tolerant = only(&format!("{overflow} deepspeed"));
    assert_eq!(tolerant.outcomes.steps, Steps { attempted: 14, applied: 13, skipped: 1 });
    assert!(tolerant.outcomes.scales.iter().all(|&scale| scale == 256.0), "a hysteresis of 2");
    assert_eq!(only(&format!("{overflow} apex")).outcomes.scales.last(), Some(&128.0));
    let predicted = only("--level O2 --dtype f16 --loss-scale log-max");
    assert_eq!(predicted.outcomes.scales[0], 1.0);
    assert!(predicted.outcomes.scales.last() > Some(&256.0), "{:?}", predicted.outcomes.scales);
}

#[test]
fn a_scale_that_starts_too_high_comes_down_and_the_run_goes_on() {
    let run = only("--level O1 --dtype f16 --init-scale 2^30 --epochs 4");
    assert!(
        run.outcomes.steps.skipped > 0 && run.outcomes.steps.applied > 0,
        "{:?}",
        run.outcomes.steps
    );
    assert!(
        run.outcomes.scales.last() < run.outcomes.scales.first() && run.final_loss().is_finite()
    );
    assert_eq!(run.outcomes.diverged, None);
}

#[test]
fn a_window_of_micro_batches_is_one_step() {
    let run = only("--level O2 --dtype f16 --batch 16 --accumulate 4");
    learns(&run);
    assert_eq!(run.outcomes.steps.attempted, 2 * 4, "13 batches in windows of 4");
    let one = only("--level O2 --dtype f16 --batch 16 --accumulate 4 --inject-overflow 2");
    assert_eq!(one.outcomes.steps, Steps { attempted: 8, applied: 7, skipped: 1 });
    assert!(
        one.outcomes
            .first_skip
            .is_some_and(|report| report.contains("micro-batch 0: linear0.weight[0]"))
    );
}

#[test]
fn clipping_to_a_small_norm_slows_plain_descent_down() {
    let free = only("--level O2 --dtype f16 --optimizer sgd");
    let clipped = only("--level O2 --dtype f16 --optimizer sgd --clip-norm 0.01");
    assert_eq!(clipped.outcomes.steps.skipped, 0);
    assert!(clipped.final_loss() > free.final_loss(), "{clipped:?} {free:?}");
    assert!(clipped.final_loss() < clipped.losses[0]);
}

#[test]
fn what_is_asked_for_is_what_runs() {
    let settings = |line: &str| config::settings(&parse(line).expect(line));
    let [o0, o1, o2, o3] = OptLevel::ALL;
    assert_eq!(settings("--level O0 --dtype f16"), [(o0, F32)]);
    assert_eq!(settings("--level O2"), [(o2, F16), (o2, BF16)]);
    assert_eq!(settings("--level o3"), [(o3, F16)]);
    assert_eq!(settings("--dtype bf16"), [(o0, F32), (o1, BF16), (o2, BF16), (o3, BF16)]);
    assert_eq!(settings("").len(), 6);
}

#[test]
fn a_rest_of_one_image_is_no_batch() {
    let args = short("--batch 199");
    assert_eq!((config::batches(&args, 200), config::batches(&args, 201)), (1, 2));
    assert_eq!(config::steps(&args, 201), 4);
}

#[test]
fn a_weight_that_was_stepped_is_cast_anew() {
    for dtype in ["bf16", "f16"] {
        weights::stepped(&Cpu, dtype, 0.0);
    }
}
