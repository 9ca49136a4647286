//! A resumed run has the bits of one that was not interrupted.

use crate::common::{file, small};
use binade_checkpoint::Checkpoint;
use binade_example_imagenet::args::Args;
use binade_example_imagenet::report::Run;
use binade_example_imagenet::session;
use std::path::{Path, PathBuf};

/// Trains, saves in `save`, and resumes from `resume` where it is given.
fn train(line: &str, save: Option<&Path>, resume: Option<&Path>) -> Result<Run, String> {
    let [checkpoint, resume] = [save, resume].map(|file| file.map(PathBuf::from));
    let args = Args { checkpoint, resume, ..small(line) };
    session::train(&args).map_err(|error| error.to_string())
}

/// Returns the bytes of a checkpoint without the best validation so far, which may be of a stop inside an epoch.
fn contents(file: &Path) -> Vec<u8> {
    let mut saved = Checkpoint::read(file).unwrap();
    saved.words.remove("best").unwrap();
    saved.to_bytes().unwrap()
}

#[test]
fn a_run_resumed_inside_an_epoch_or_after_one_has_the_bits_of_an_uninterrupted_one() {
    let runs: [(&str, &[u32]); 5] = [
        ("--opt-level O0", &[2, 4]),
        ("--opt-level O1 --dtype f16 --no-norm-decay", &[2, 4]),
        ("--opt-level O2 --dtype bf16", &[2, 4]),
        ("--opt-level O2 --dtype f16 --ranks 2 --batch-size 4 --sync-bn", &[2, 4]),
        // Ranks that normalise apart share their running statistics where a run stops, which rounds.
        ("--opt-level O2 --dtype f16 --ranks 2 --batch-size 4", &[4]),
    ];
    for (number, (line, stops)) in runs.into_iter().enumerate() {
        let [whole, part] = ["whole", "part"].map(|name| file(&format!("{name}{number}.ckpt")));
        let uninterrupted = train(line, Some(&whole), None).unwrap();
        for steps in stops {
            train(&format!("{line} --steps {steps}"), Some(&part), None).unwrap();
            let resumed = train(line, Some(&part), Some(&part)).unwrap();
            assert_eq!(resumed.last, uninterrupted.last, "{line}");
            assert_eq!(resumed.outcomes.steps, uninterrupted.outcomes.steps, "{line}");
            assert_eq!(resumed.curve.last().unwrap().step, 8);
            assert!(contents(&part) == contents(&whole), "{line} {steps}");
        }
    }
}

#[test]
fn a_saved_model_is_validated_and_another_is_refused() {
    let saved = file("saved.ckpt");
    let line = "--opt-level O2 --dtype f16";
    let run = train(line, Some(&saved), None).unwrap();
    assert!(run.best > 0.0);
    let validated =
        train(&format!("{line} --evaluate --batch-size 3"), None, Some(&saved)).unwrap();
    assert_eq!((validated.last.top1, validated.last.top5), (run.last.top1, run.last.top5));
    assert!((validated.last.loss - run.last.loss).abs() < 1e-5);
    assert!(validated.curve.is_empty() && validated.best == run.best);
    let told = validated.to_string();
    assert!(told.contains("; best Prec@1 ") && !told.contains("NaN"), "{told}");
    let rules =
        "--loss-scale 128 --momentum 0 --weight-decay 0.5 --no-norm-decay --seed 1 --batch-size 64";
    let other = train(&format!("{line} --evaluate {rules}"), None, Some(&saved)).unwrap();
    assert_eq!((other.last.top1, other.outcomes.steps), (run.last.top1, run.outcomes.steps));
    assert!((other.last.loss - run.last.loss).abs() < 1e-5, "{:?} {:?}", other.last, run.last);
    let best = train(&format!("{line} --evaluate"), None, Some(&file("saved.ckpt.best"))).unwrap();
    assert_eq!(best.last.top1, run.best);

    let refused = |line: &str| {
        let told = train(line, None, Some(&saved)).unwrap_err();
        told.strip_prefix(&format!("--resume {}: ", saved.display())).expect(&told).to_owned()
    };
    let told = refused("--opt-level O2 --dtype bf16");
    assert_eq!(
        told,
        "it is of `resnet18 O2 f16 of 8 classes, --width 4`, and this is `resnet18 O2 bf16 of 8 classes, --width 4`"
    );
    let told = refused(&format!("{line} --seed 1"));
    assert!(told.contains("--seed 0 ") && told.contains("--seed 1 "), "{told}");
    assert_eq!(refused(line), "it has taken 8 of 8 steps; take more --epochs or --steps");
}
