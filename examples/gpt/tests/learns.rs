//! Every level learns a sentence by heart, and writes it.

use crate::common::{SENTENCE, file, only, small};
use binade_example_gpt::args::Args;
use binade_example_gpt::report::report;
use binade_example_gpt::session;

#[test]
fn every_level_learns_a_sentence_and_mixed_ones_end_near_o0() {
    let mut runs = Vec::new();
    let picture = file("curve.svg");
    let line = "--level all --steps 80 --lr 0.02 --dropout 0 --temperature 0.1";
    let args = Args { svg: Some(picture.clone()), ..small(line) };
    session::run(&args, &mut runs).unwrap();
    let names: Vec<_> = runs.iter().map(|run| run.name.as_str()).collect();
    assert_eq!(names, ["O0 f32", "O1 f16", "O2 f16", "O3 f16"]);
    for run in &runs[..3] {
        let (first, last) = (run.curve[0].validation, run.validation());
        assert!(last < 0.3 && last < first, "{}: {:?}", run.name, run.curve);
        assert!((last - runs[0].validation()).abs() < 0.05, "{}: {last}", run.name);
        let end = &run.sample[10..];
        assert!(SENTENCE.repeat(2).contains(end), "{}: {:?}", run.name, run.sample);
    }
    assert!(std::fs::read_to_string(picture).unwrap().contains(">O3 f16</text>"));
    let text = report(&runs);
    assert!(text.contains("O1 f16: validation █") && text.contains(" from O0"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 125), "{text}");
}

#[test]
fn bf16_learns_too_with_dropout_and_windows_of_two() {
    for level in ["O1", "O2"] {
        let run = only(&small(&format!(
            "--level {level} --dtype bf16 --steps 60 --lr 0.02 --accumulate 2"
        )));
        assert!(run.validation() < 1.0, "{level}: {:?}", run.curve);
        assert_eq!((run.curve.len(), run.outcomes.steps.applied), (3, 60));
    }
}

#[test]
fn a_run_that_computes_blocks_again_has_the_same_bits() {
    for level in ["--level O0", "--level O1 --dtype f16", "--level O2 --dtype bf16"] {
        let line = format!("{level} --layers 2 --steps 6 --every 3 --accumulate 2 --dropout 0.2");
        let (kept, again) = (only(&small(&line)), only(&small(&format!("{line} --recompute"))));
        assert_eq!((kept.curve, kept.sample), (again.curve, again.sample), "{level}");
    }
}
