//! Runs at every level, and the flags that change them.

use crate::common::{COLOURS, file, run, small};
use binade_example_imagenet::args::Args;
use binade_example_imagenet::report::Run;
use binade_example_imagenet::session;
use binade_example_shared::program::Steps;
use std::fs;

/// Returns the run of `line` on two colours.
fn learns(line: &str) -> Run {
    let args = small(&format!("{line} --epochs 10"));
    let run = session::train(&Args { data: Some(COLOURS.clone()), ..args }).unwrap();
    let Steps { attempted, applied, skipped } = run.outcomes.steps;
    assert_eq!((attempted, applied + skipped), (40, 40), "{line}");
    let (first, last) = (run.curve[0].train, run.curve[9].train);
    assert!(last < 0.5 * first, "{line}: {:?}", run.curve);
    assert!(run.last.loss.is_finite() && run.last.top1 <= run.best, "{line}: {:?}", run.last);
    assert!(run.best > 75.0 && run.last.top5 == 100.0, "{line}: {} of two colours", run.best);
    run
}

#[test]
fn every_level_learns_in_both_types() {
    let [full, mixed] = ["--opt-level O0", "--opt-level O1 --dtype f16"].map(learns);
    assert_eq!((&*full.name, &*mixed.name), ("resnet18 O0 f32", "resnet18 O1 f16"));
    assert_eq!((full.outcomes.scales[0], mixed.outcomes.scales[0]), (1.0, 65536.0));
    for line in ["O1 --dtype bf16", "O2 --dtype f16", "O2 --dtype bf16", "O3 --dtype bf16"] {
        learns(&format!("--opt-level {line}"));
    }
}

#[test]
fn a_fixed_scale_normalisation_in_the_low_type_and_groups_without_decay() {
    let line = "--opt-level O2 --dtype f16 --loss-scale 128 --keep-batchnorm-fp32 False --no-norm-decay --zero-init-residual";
    let run = learns(line);
    assert!(run.outcomes.scales.iter().all(|scale| *scale == 128.0));
    let decayed = |line: &str| run_losses(&format!("--opt-level O0 --weight-decay 0.5 {line}"));
    assert_ne!(decayed(""), decayed("--no-norm-decay"));
    assert_ne!(decayed(""), decayed("--zero-init-residual"));
}

fn run_losses(line: &str) -> Vec<f32> {
    run(line).curve.iter().map(|it| it.train).collect()
}

#[test]
fn a_seed_fixes_every_bit_and_workers_change_none() {
    let line = "--opt-level O1 --dtype f16 --epochs 1";
    let first = run_losses(line);
    assert_eq!(run_losses(&format!("{line} --workers 3")), first);
    assert_ne!(run_losses(&format!("{line} --seed 1")), first);
}

#[test]
fn a_run_stops_after_the_steps_asked_for_and_draws_its_curve() {
    let picture = file("curve.svg");
    let args = Args { svg: Some(picture.clone()), ..small("--opt-level O0 --steps 5") };
    let run = session::train(&args).unwrap();
    let steps: Vec<_> = run.curve.iter().map(|it| it.step).collect();
    assert_eq!((run.outcomes.steps.attempted, steps), (5, vec![4, 5]));
    assert_eq!(run.images, 40.0);
    assert!(fs::read_to_string(picture).unwrap().contains(">resnet18 O0 f32</text>"));
    let told = run.to_string();
    assert!(told.starts_with("resnet18 O0 f32: 5 steps applied, 0 skipped, scale 1; "), "{told}");
}

#[test]
fn an_overflow_is_skipped_and_told_and_the_model_stays() {
    let run = run("--opt-level O1 --dtype f16 --loss-scale 2^60 --epochs 1");
    let steps = run.outcomes.steps;
    assert_eq!((steps.attempted, steps.applied, steps.skipped), (4, 0, 4));
    let told = run.to_string();
    assert!(told.contains("0 steps applied, 4 skipped, scale 2^60"), "{told}");
    assert!(told.contains("\nfirst skip: step 1 skipped; "), "{told}");
}

#[test]
fn channels_last_trains_to_the_same_losses() {
    let both = "--arch resnet50 --epochs 1";
    for (line, share) in [("--opt-level O0", 1e-4), ("--opt-level O2 --dtype bf16", 2e-2)] {
        let [first, last] = ["", "--channels-last"].map(|it| run(&format!("{line} {both} {it}")));
        let ([a], [b]) = (&*first.curve, &*last.curve) else { panic!("{first:?} {last:?}") };
        assert!((a.train - b.train).abs() <= share * a.train, "{line}: {a:?} {b:?}");
        assert!((a.validation - b.validation).abs() <= share * a.validation, "{line}: {a:?} {b:?}");
    }
}

#[test]
fn the_deeper_model_trains() {
    let run = run("--arch resnet50 --opt-level O2 --dtype bf16 --epochs 1");
    assert_eq!((&*run.name, run.outcomes.steps.applied), ("resnet50 O2 bf16", 4));
    assert!(run.last.loss.is_finite());
}
