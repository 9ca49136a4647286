//! Lion: algorithm 2 of arXiv 2302.06675.

use super::{
    Constants, ElementState, Row, Rule, RuleError, UpdateRule, betas_below_1, not_negative, round,
};

/// Lion (arXiv 2302.06675): every element changes by the learning rate, in the direction of the sign of an interpolation between the
/// momentum and the gradient.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Lion {
    /// Learning rate: the paper takes three to ten times less than for `AdamW`.
    pub lr: f64,
    /// Share of the momentum in the interpolation, and share of the momentum that a step keeps.
    pub betas: [f64; 2],
    /// Taken off the parameter times `lr`: three to ten times more than for `AdamW`, as the rate is less.
    pub weight_decay: f64,
}

impl UpdateRule {
    /// Returns Lion with the paper's betas, 0.9 and 0.99, without decay.
    pub const fn lion(lr: f64) -> Self {
        Self::Lion(Lion { lr, betas: [0.9, 0.99], weight_decay: 0.0 })
    }
}

step_constants! {
    /// Constants of one step of [`Lion`].
    LionConstants {
        /// Read by no step: Lion begins with a momentum of 0.
        first: f32,
        /// -lr
        negative_lr: f32,
        /// 1 - lr · `weight_decay`
        shrink: f32,
        /// beta1
        beta1: f32,
        /// 1 - beta1
        grad_weight: f32,
        /// beta2
        beta2: f32,
        /// 1 - beta2
        kept_weight: f32,
    }
}

impl Rule for Lion {
    type Constants = LionConstants;
    /// Key of the authors' optimizer for torch; torch has no Lion.
    const MOMENTS: &'static [&'static str] = &["exp_avg"];

    fn validate(&self) -> Result<(), RuleError> {
        not_negative("lr", self.lr)?;
        not_negative("weight_decay", self.weight_decay)?;
        betas_below_1(self.betas)
    }

    fn constants(&self, _: u64) -> LionConstants {
        let [beta1, beta2] = self.betas;
        LionConstants {
            first: 0.0,
            negative_lr: round(-self.lr),
            shrink: round(1.0 - self.lr * self.weight_decay),
            beta1: round(beta1),
            grad_weight: round(1.0 - beta1),
            beta2: round(beta2),
            kept_weight: round(1.0 - beta2),
        }
    }
}

impl Constants for LionConstants {
    fn row(self) -> Row {
        self.in_order()
    }

    #[inline(always)]
    fn moments(&self) -> usize {
        1
    }

    #[inline(always)]
    fn element(&self, grad: f32, ElementState { param, moments }: &mut ElementState) -> bool {
        let momentum = &mut moments[0];
        let shrinks = self.shrink != 1.0 && *param != 0.0;
        let direction = sign(*momentum * self.beta1 + grad * self.grad_weight);
        *momentum = grad.mul_add(self.kept_weight, *momentum * self.beta2);
        let change = direction * self.negative_lr;
        *param = *param * self.shrink + change;
        shrinks || change != 0.0
    }
}

/// Returns the sign of `x`: 0 for zeros, and NaN for NaN, so that a NaN momentum is visible.
#[inline(always)]
fn sign(x: f32) -> f32 {
    if x == 0.0 { 0.0 } else { x.signum() }
}

#[cfg(test)]
mod tests {
    use super::super::refused;
    use super::*;

    const LION: Lion = Lion { lr: 0.25, betas: [0.5, 0.75], weight_decay: 0.0 };

    /// Moves a parameter of 1 with this momentum.
    fn moved(rule: Lion, grad: f32, momentum: f32) -> [f32; 2] {
        let mut element = ElementState { param: 1.0, moments: [momentum, 0.0, 0.0] };
        rule.constants(0).element(grad, &mut element);
        [element.param, element.moments[0]]
    }

    #[test]
    fn the_papers_defaults_are_valid_and_a_refusal_names_the_value() {
        assert_eq!(UpdateRule::lion(1e-4).validate(), Ok(()));
        assert_eq!(UpdateRule::lion(1e-4).moment_names(), ["exp_avg"]);
        refused([
            (UpdateRule::Lion(Lion { lr: f64::NAN, ..LION }), "lr"),
            (UpdateRule::Lion(Lion { betas: [0.9, 1.0], ..LION }), "betas[1]"),
            (UpdateRule::Lion(Lion { weight_decay: -0.1, ..LION }), "weight_decay"),
        ]);
    }

    #[test]
    fn an_element_moves_by_the_rate_along_the_sign_of_the_interpolation() {
        assert_eq!(moved(LION, 4.0, 0.0), [0.75, 1.0]);
        assert_eq!(moved(LION, -1e-30, 0.0)[0], 1.25);
        assert_eq!(moved(LION, -2.0, 4.0), [0.75, 2.5]);
        assert_eq!(moved(LION, -4.0, 4.0), [1.0, 2.0]);
        assert_eq!(moved(Lion { weight_decay: 0.5, ..LION }, 0.0, 0.0), [0.875, 0.0]);
    }

    #[test]
    fn a_momentum_that_is_no_number_leaves_none() {
        assert!(moved(LION, 1.0, f32::NAN).into_iter().all(f32::is_nan));
    }
}
