//! Claims of the page on two losses and two optimizers.

use binade::prelude::*;
use binade_example_pages::two_losses::Gan;

const GOOD: [f32; 2] = [1.5, 2.5];
/// Real numbers that overflow the critic's input in f16; the maker never sees them.
const BAD: [f32; 2] = [1e5, 2.5];

#[test]
fn alone_the_one_that_overflowed_skips_and_the_other_moves() {
    let mut gan = Gan::new().unwrap();
    let before = gan.weights().unwrap();
    let step = gan.step(BAD, false).unwrap();
    let after = gan.weights().unwrap();
    assert_eq!(after[..2], before[..2]);
    assert_ne!(after[2], before[2]);
    let skipped = step.report().steps.iter().map(|step| (&*step.name, step.skipped));
    assert_eq!(skipped.collect::<Vec<_>>(), [("critic", true), ("maker", false)]);
}

#[test]
fn together_neither_moves_and_the_report_says_for_whom() {
    let mut gan = Gan::new().unwrap();
    let before = gan.weights().unwrap();
    let step = gan.step(BAD, true).unwrap();
    assert_eq!(gan.weights().unwrap(), before);
    assert!(matches!(step, Step::Skipped(_)), "{step:?}");
    let text = step.report().to_string();
    assert!(text.contains("maker: skipped together for weight[0]"), "{text}");
}

#[test]
fn one_overflow_backs_the_shared_scale_off_once() {
    for together in [false, true] {
        let mut gan = Gan::new().unwrap();
        let scale = gan.step(BAD, together).unwrap().report().scale;
        assert_eq!((scale.before, scale.exponent, scale.updates), (10, 9, 1));
    }
}

#[test]
fn without_an_overflow_both_ways_take_the_same_steps() {
    let run = |together| {
        let mut gan = Gan::new().unwrap();
        for _ in 0..20 {
            assert!(gan.step(GOOD, together).unwrap().is_applied());
        }
        gan.weights().unwrap()
    };
    assert_eq!(run(false), run(true));
    assert!(run(true)[2] > 0.5, "the maker has moved towards the real numbers: {:?}", run(true));
}
