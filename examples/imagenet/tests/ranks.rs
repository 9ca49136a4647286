//! Ranks: with one normalisation over all of them they train as one device does.

use crate::common::run;
use binade_example_imagenet::report::Run;

fn train(line: &str) -> Run {
    run(&format!("{line} --lr 0.1"))
}

#[test]
fn two_ranks_that_normalise_together_train_as_one_does() {
    for (level, epochs, share) in
        [("--opt-level O0", 2, 1e-4), ("--opt-level O2 --dtype f16 --loss-scale 128", 1, 1e-2)]
    {
        let level = format!("{level} --epochs {epochs}");
        let one = train(&format!("{level} --batch-size 8"));
        let two = train(&format!("{level} --batch-size 4 --ranks 2 --sync-bn"));
        assert_eq!(one.outcomes, two.outcomes, "{level}");
        assert_eq!((one.curve.len(), two.curve.len()), (epochs, epochs));
        for (a, b) in one.curve.iter().zip(&two.curve) {
            for (a, b) in [(a.train, b.train), (a.validation, b.validation)] {
                assert!(
                    (a - b).abs() <= share * a.abs(),
                    "{level}: {:?} {:?}",
                    one.curve,
                    two.curve
                );
            }
        }
    }
}

#[test]
fn ranks_that_normalise_apart_train_too_and_as_another_run() {
    let [apart, together] = ["", "--sync-bn"]
        .map(|flag| train(&format!("--opt-level O0 --batch-size 4 --ranks 2 {flag}")));
    assert!(apart.curve[1].train.is_finite() && apart.curve[1].train != together.curve[1].train);
    assert_eq!(apart.outcomes.steps, together.outcomes.steps);
}
