//! Constants of a step, computed in `f64` and rounded once to `f32`.
//!
//! This is the place where a rule's scalars meet `f32` tensors, and the only one: a host loop takes these constants, and
//! a device's hyper-parameter table is filled with the same ones, so that every backend starts from the same bits.

use crate::{Adam, Sgd, UpdateRule};

/// The constants of one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StepConstants {
    /// Of stochastic gradient descent.
    Sgd(SgdConstants),
    /// Of Adam and its relatives.
    Adam(AdamConstants),
}

/// The constants of one step of [`Sgd`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SgdConstants {
    /// -lr
    pub negative_lr: f32,
    /// `weight_decay`; at 0 the parameter is not read for it.
    pub weight_decay: f32,
    /// `momentum`; at 0 there is no buffer.
    pub momentum: f32,
    /// 1 - dampening
    pub undamped: f32,
    /// `nesterov`
    pub nesterov: bool,
    /// Nothing was applied before: the buffer becomes the gradient, undamped.
    pub first: bool,
}

/// The constants of one step of [`Adam`]; t counts applied steps from 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamConstants {
    /// 1 - lr · `weight_decay` where decay is decoupled, 1 otherwise
    pub shrink: f32,
    /// `weight_decay` where it is not decoupled, 0 otherwise; at 0 the parameter is not read for it.
    pub weight_decay: f32,
    /// 1 - beta1
    pub mean_weight: f32,
    /// beta2
    pub beta2: f32,
    /// 1 - beta2
    pub square_weight: f32,
    /// sqrt(1 - beta2^t)
    pub root_correction: f32,
    /// `eps`
    pub eps: f32,
    /// -lr / (1 - beta1^t)
    pub negative_step: f32,
    /// `amsgrad`
    pub amsgrad: bool,
}

/// Part of Adam's constants that depends on the count of applied steps alone: the learning rate comes in later, so that
/// a device's table of these outlives a schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BiasCorrection {
    /// 1 - beta1^t
    pub bias: f64,
    /// sqrt(1 - beta2^t)
    pub root: f32,
}

impl BiasCorrection {
    /// Of the step that follows `applied` applied steps, t being one more.
    #[expect(clippy::cast_precision_loss, reason = "exact below 2^53 steps; torch counts in f32")]
    pub fn at([beta1, beta2]: [f64; 2], applied: u64) -> Self {
        let t = (applied + 1) as f64;
        Self { bias: 1.0 - beta1.powf(t), root: round((1.0 - beta2.powf(t)).sqrt()) }
    }

    /// Returns true if all that follow are equal: the bias has faded.
    pub fn is_last(&self) -> bool {
        self.bias == 1.0 && self.root == 1.0
    }
}

impl StepConstants {
    /// The constants of the step that follows `applied` applied steps: 0 for the first.
    ///
    /// Skipped steps are not counted, so a table of these over `applied` can be uploaded ahead of verdicts.
    pub fn at(rule: &UpdateRule, applied: u64) -> Self {
        match rule {
            UpdateRule::Sgd(sgd) => Self::Sgd(SgdConstants::at(sgd, applied)),
            UpdateRule::Adam(adam) => Self::Adam(AdamConstants::at(adam, applied)),
        }
    }

    /// How many moments the step reads and writes.
    pub fn moments(&self) -> usize {
        match self {
            Self::Sgd(sgd) => usize::from(sgd.momentum != 0.0),
            Self::Adam(adam) => 2 + usize::from(adam.amsgrad),
        }
    }
}

impl SgdConstants {
    fn at(rule: &Sgd, applied: u64) -> Self {
        Self {
            negative_lr: round(-rule.lr),
            weight_decay: round(rule.weight_decay),
            momentum: round(rule.momentum),
            undamped: round(1.0 - rule.dampening),
            nesterov: rule.nesterov,
            first: applied == 0,
        }
    }

    /// A row of a device's table: the fields in order, flags as 0 and 1.
    pub fn to_row(&self) -> [f32; 6] {
        [
            self.negative_lr,
            self.weight_decay,
            self.momentum,
            self.undamped,
            flag(self.nesterov),
            flag(self.first),
        ]
    }
}

impl AdamConstants {
    fn at(rule: &Adam, applied: u64) -> Self {
        let correction = BiasCorrection::at(rule.betas, applied);
        let [beta1, beta2] = rule.betas;
        let (decoupled, coupled) =
            if rule.decoupled { (rule.weight_decay, 0.0) } else { (0.0, rule.weight_decay) };
        Self {
            shrink: round(1.0 - rule.lr * decoupled),
            weight_decay: round(coupled),
            mean_weight: round(1.0 - beta1),
            beta2: round(beta2),
            square_weight: round(1.0 - beta2),
            root_correction: correction.root,
            eps: round(rule.eps),
            negative_step: round(-rule.lr / correction.bias),
            amsgrad: rule.amsgrad,
        }
    }

    /// A row of a device's table: the fields in order, flags as 0 and 1.
    pub fn to_row(&self) -> [f32; 9] {
        [
            self.shrink,
            self.weight_decay,
            self.mean_weight,
            self.beta2,
            self.square_weight,
            self.root_correction,
            self.eps,
            self.negative_step,
            flag(self.amsgrad),
        ]
    }
}

#[expect(clippy::cast_possible_truncation, reason = "rounding is the point")]
fn round(value: f64) -> f32 {
    value as f32
}

fn flag(set: bool) -> f32 {
    f32::from(u8::from(set))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adam(rule: &UpdateRule, applied: u64) -> AdamConstants {
        match StepConstants::at(rule, applied) {
            StepConstants::Adam(constants) => constants,
            StepConstants::Sgd(_) => panic!("{rule:?}"),
        }
    }

    #[test]
    fn the_first_step_of_adam_undoes_its_whole_bias() {
        let first = adam(&UpdateRule::adam(0.001), 0);
        // 0.001 / (1 - 0.9) and sqrt(1 - 0.999) in f64, rounded once.
        assert_eq!(first.negative_step.to_bits(), 0xBC23D70A);
        assert_eq!(first.root_correction, 0.031622775);
    }

    #[test]
    fn bias_fades_with_applied_steps() {
        let late = adam(&UpdateRule::adam(0.001), 1_000_000);
        assert_eq!((late.negative_step, late.root_correction), (-0.001, 1.0));
    }

    #[test]
    fn once_the_bias_has_faded_it_stays_so() {
        let betas = [0.9, 0.95];
        let last = (0..1000).find(|&applied| BiasCorrection::at(betas, applied).is_last()).unwrap();
        assert!((300..400).contains(&last), "{last}");
        assert!((last..last + 1000).all(|applied| BiasCorrection::at(betas, applied).is_last()));
        for only_one_has_faded in [[0.0, 0.999], [0.9, 0.0]] {
            assert!(!BiasCorrection::at(only_one_has_faded, 0).is_last());
        }
    }

    #[test]
    fn complements_are_taken_before_rounding() {
        let constants = adam(&UpdateRule::adam(0.001), 0);
        assert_eq!(constants.square_weight, 0.001);
        assert_ne!(constants.square_weight, 1.0 - constants.beta2);
    }

    #[test]
    fn decay_is_in_one_place_only() {
        let coupled = |decoupled| Adam {
            lr: 0.5,
            betas: [0.9, 0.999],
            eps: 1e-8,
            weight_decay: 0.25,
            decoupled,
            amsgrad: false,
        };
        let [adam, adamw] = [false, true].map(|d| adam(&UpdateRule::Adam(coupled(d)), 0));
        assert_eq!((adam.shrink, adam.weight_decay), (1.0, 0.25));
        assert_eq!((adamw.shrink, adamw.weight_decay), (0.875, 0.0));
    }

    #[test]
    fn only_the_first_step_is_first() {
        let rule = UpdateRule::sgd(0.5);
        let row = |applied| match StepConstants::at(&rule, applied) {
            StepConstants::Sgd(constants) => constants.to_row(),
            StepConstants::Adam(_) => panic!("{rule:?}"),
        };
        assert_eq!(row(0), [-0.5, 0.0, 0.0, 1.0, 0.0, 1.0]);
        assert_eq!(row(1), [-0.5, 0.0, 0.0, 1.0, 0.0, 0.0]);
    }

    #[test]
    fn the_rest_of_a_new_gradient_that_dampening_leaves_is_undamped() {
        let sgd =
            Sgd { lr: 0.5, momentum: 0.75, dampening: 0.25, weight_decay: 0.0, nesterov: false };
        assert_eq!(SgdConstants::at(&sgd, 1).to_row(), [-0.5, 0.0, 0.75, 0.75, 0.0, 0.0]);
    }

    #[test]
    fn a_row_has_every_field_once() {
        let mut constants = adam(&UpdateRule::adamw(0.001), 3);
        constants.amsgrad = true;
        let AdamConstants { shrink, weight_decay, mean_weight, beta2, square_weight, .. } =
            constants;
        let AdamConstants { root_correction, eps, negative_step, .. } = constants;
        let row = constants.to_row();
        assert_eq!(row[..5], [shrink, weight_decay, mean_weight, beta2, square_weight]);
        assert_eq!(row[5..], [root_correction, eps, negative_step, 1.0]);
    }
}
