//! Claims of the page on convergence, without a loss scale and with one.

use binade::prelude::*;
use binade_example_pages::convergence::run;

#[test]
fn without_a_scale_gradients_vanish_and_no_bit_of_the_weights_changes() {
    let stuck = run(LossScale::none()).unwrap();
    assert_eq!(stuck.largest, 0.0);
    assert_eq!(stuck.weight.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), [0; 4]);
    assert_eq!(stuck.losses[1].to_bits(), stuck.losses[0].to_bits());
    assert!(stuck.losses[0] > 1e-12, "there was something to learn: {stuck:?}");
}

#[test]
fn with_a_scale_the_same_program_learns() {
    let learnt = run(LossScale::dynamic()).unwrap();
    assert!(learnt.largest > 0.0);
    assert!(learnt.losses[1] < 1e-3 * learnt.losses[0], "{learnt:?}");
    for (weight, truth) in learnt.weight.iter().zip([4e-6, -3e-6, 2e-6, -1e-6]) {
        assert!((weight - truth).abs() < 1e-7, "{learnt:?}");
    }
}

#[test]
fn both_start_from_the_same_loss() {
    let first = [LossScale::none(), LossScale::dynamic()].map(|rule| run(rule).unwrap().losses[0]);
    assert_eq!(first[0].to_bits(), first[1].to_bits());
}
