//! Properties of a step under every rule; agreement with torch is shown where the recorded runs are replayed.

use super::*;
use crate::{Adam, Sgd, UpdateRule};
use half::{bf16, f16};

const RULES: [UpdateRule; 5] = [
    UpdateRule::sgd(0.1),
    UpdateRule::Sgd(Sgd {
        lr: 0.1,
        momentum: 0.9,
        dampening: 0.0,
        weight_decay: 0.01,
        nesterov: true,
    }),
    UpdateRule::adam(0.01),
    UpdateRule::adamw(0.01),
    UpdateRule::Adam(Adam {
        lr: 0.01,
        betas: [0.4, 0.99],
        eps: 1e-6,
        weight_decay: 0.1,
        decoupled: false,
        amsgrad: true,
        sparse: false,
    }),
];

/// Parameters, moments and copy of a length.
#[derive(Clone, Debug, PartialEq)]
struct Owned<C> {
    params: Vec<f32>,
    moments: [Vec<f32>; 3],
    copy: Vec<C>,
}

impl<C: Element> Owned<C> {
    fn new(rule: &UpdateRule, params: &[f32]) -> Self {
        let moment = |i| vec![0.0; if i < rule.moments() { params.len() } else { 0 }];
        Self {
            params: params.to_vec(),
            moments: [0, 1, 2].map(moment),
            copy: vec![C::default(); params.len()],
        }
    }

    fn slices<'a, G: Element>(&'a mut self, grads: &'a [G]) -> Slices<'a, G, C> {
        Slices {
            grads,
            params: Params::Copy { master: &mut self.params, low: &mut self.copy },
            moments: self.moments.each_mut().map(|moment| &mut moment[..]),
        }
    }
}

fn ramp(n: u16) -> Vec<f32> {
    (0..n).map(|i| f32::from(i) * 0.37 - 5.0).collect()
}

#[test]
fn clipping_comes_after_unscaling_and_hides_no_overflow() {
    let factor = Factor { inverse: 2.0, clip: 0.25 };
    assert_eq!(factor.apply(1e38), 5e37);
    assert_eq!(factor.apply(3e38), f32::INFINITY); // the product of the factors, 0.5, would have hidden it
}

#[test]
fn unscaling_within_the_step_is_unscaling_before_it() {
    let factor = Factor { inverse: 2.0_f32.powi(-9), clip: 1.0 };
    let scaled: Vec<f16> = ramp(100).into_iter().map(f16::from_f32).collect();
    let plain: Vec<f32> = scaled.iter().map(|g| g.to_f32() * factor.inverse).collect();
    for rule in &RULES {
        let constants = StepConstants::at(rule, 0);
        let mut lazy = Owned::<bf16>::new(rule, &ramp(100));
        let mut eager = lazy.clone();
        step(&constants, factor, lazy.slices(&scaled)).unwrap();
        step(&constants, Factor::ONE, eager.slices(&plain)).unwrap();
        assert_eq!(lazy, eager, "{rule:?}");
    }
}

#[test]
fn a_length_that_does_not_fit_is_named_and_nothing_changes() {
    let rule = &RULES[4];
    let constants = StepConstants::at(rule, 0);
    let mut owned = Owned::<bf16>::new(rule, &ramp(3));
    let before = owned.clone();
    let mut refused = |change: fn(&mut Slices<'_, f32, bf16>)| {
        let grads = ramp(3);
        let mut slices = owned.slices(&grads);
        change(&mut slices);
        step(&constants, Factor::ONE, slices).unwrap_err()
    };
    let gradients = refused(|s| s.grads = &[1.0]);
    assert_eq!(gradients, LengthError { what: "gradients", got: 1, expected: 3 });
    assert_eq!(refused(|s| s.moments[0] = &mut []).what, "first moments");
    assert_eq!(refused(|s| s.moments[2] = &mut []).what, "largest second moments");
    let short = |s: &mut Slices<'_, f32, bf16>| {
        if let Params::Copy { low, .. } = &mut s.params {
            *low = &mut [];
        }
    };
    assert_eq!(refused(short).what, "low-precision parameters");
    assert_eq!(owned, before);
}

#[test]
fn a_moment_that_the_rule_does_not_keep_is_refused() {
    let mut owned = Owned::<f32>::new(&RULES[2], &ramp(3));
    let refused = step(&StepConstants::at(&RULES[0], 0), Factor::ONE, owned.slices(&ramp(3)));
    assert_eq!(refused, Err(LengthError { what: "first moments", got: 3, expected: 0 }));
}

#[test]
fn a_step_whose_norms_are_not_measured_is_refused_in_words_of_its_own() {
    let (rule, grads) = (UpdateRule::larc(0.1), ramp(3));
    let mut owned = Owned::<f32>::new(&rule, &ramp(3));
    let before = owned.clone();
    let error = step(&StepConstants::at(&rule, 0), Factor::ONE, owned.slices(&grads)).unwrap_err();
    assert!(error.to_string().starts_with("the step needs norms of the whole tensor"), "{error}");
    assert_eq!(owned, before);
}
