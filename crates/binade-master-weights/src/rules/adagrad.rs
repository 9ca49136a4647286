//! Adagrad: torch's `_single_tensor_adagrad`.

use super::{
    Constants, Correction, ElementState, Row, Rule, RuleError, UpdateRule, not_negative, round,
};

/// Adagrad (Duchi, Hazan and Singer, JMLR 12, 2011): divides by the root of the sum of all squares so far.
///
/// Apex's `FusedAdagrad` is this with an `lr` of 0.01, no `lr_decay` and, unless `adagrad_w_mode` is set, this weight decay.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Adagrad {
    /// Learning rate.
    pub lr: f64,
    /// Divides the learning rate by 1 + t · `lr_decay` after t applied steps.
    pub lr_decay: f64,
    /// Added to the gradient, times the parameter.
    pub weight_decay: f64,
    /// Sum of squares before the first step.
    pub initial_accumulator_value: f64,
    /// Added to the square root in the denominator.
    pub eps: f64,
}

impl UpdateRule {
    /// Returns Adagrad with an eps of 1e-10, without decay: torch's defaults.
    pub const fn adagrad(lr: f64) -> Self {
        let (lr_decay, weight_decay, initial_accumulator_value, eps) = (0.0, 0.0, 0.0, 1e-10);
        Self::Adagrad(Adagrad { lr, lr_decay, weight_decay, initial_accumulator_value, eps })
    }
}

step_constants! {
    /// Constants of one step of [`Adagrad`].
    AdagradConstants {
        /// Read by no step: the sum has its initial value before the first one.
        first: f32,
        /// -lr / (1 + t · `lr_decay`)
        negative_step: f32,
        /// `weight_decay`; at 0 the parameter is not read for it.
        weight_decay: f32,
        /// `eps`
        eps: f32,
    }
}

impl Rule for Adagrad {
    type Constants = AdagradConstants;
    const MOMENTS: &'static [&'static str] = &["sum"];

    fn validate(&self) -> Result<(), RuleError> {
        not_negative("lr", self.lr)?;
        not_negative("lr_decay", self.lr_decay)?;
        not_negative("weight_decay", self.weight_decay)?;
        not_negative("initial_accumulator_value", self.initial_accumulator_value)?;
        not_negative("eps", self.eps)
    }

    fn steps_rows(&self) -> bool {
        self.weight_decay == 0.0
    }

    fn initial(&self) -> [f32; 3] {
        [round(self.initial_accumulator_value), 0.0, 0.0]
    }

    fn correction(&self) -> Option<Correction> {
        (self.lr_decay != 0.0).then_some(Correction::LrDecay(self.lr_decay))
    }

    fn constants(&self, applied: u64) -> AdagradConstants {
        AdagradConstants {
            first: 0.0,
            negative_step: round(-self.lr / Correction::LrDecay(self.lr_decay).at(applied).divisor),
            weight_decay: round(self.weight_decay),
            eps: round(self.eps),
        }
    }
}

impl Constants for AdagradConstants {
    fn row(self) -> Row {
        self.in_order()
    }

    #[inline(always)]
    fn moments(&self) -> usize {
        1
    }

    #[inline(always)]
    fn element(&self, mut grad: f32, ElementState { param, moments }: &mut ElementState) -> bool {
        let sum = &mut moments[0];
        if self.weight_decay != 0.0 {
            grad = param.mul_add(self.weight_decay, grad);
        }
        *sum = grad.mul_add(grad, *sum);
        let change = self.negative_step * grad;
        *param += change / (sum.sqrt() + self.eps);
        change != 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::refused;
    use super::*;

    const EXACT: Adagrad = Adagrad {
        lr: 1.0,
        lr_decay: 0.5,
        weight_decay: 0.0,
        initial_accumulator_value: 16.0,
        eps: 1.0,
    };

    #[test]
    fn torchs_defaults_are_valid_and_a_refusal_names_the_value() {
        assert_eq!(UpdateRule::adagrad(1e-2).validate(), Ok(()));
        assert_eq!(UpdateRule::adagrad(1e-2).moment_names(), ["sum"]);
        refused([
            (UpdateRule::Adagrad(Adagrad { lr: f64::NAN, ..EXACT }), "lr"),
            (UpdateRule::Adagrad(Adagrad { lr_decay: -1.0, ..EXACT }), "lr_decay"),
            (UpdateRule::Adagrad(Adagrad { weight_decay: f64::INFINITY, ..EXACT }), "weight_decay"),
            (
                UpdateRule::Adagrad(Adagrad { initial_accumulator_value: -1.0, ..EXACT }),
                "initial_accumulator_value",
            ),
            (UpdateRule::Adagrad(Adagrad { eps: -1e-8, ..EXACT }), "eps"),
        ]);
    }

    #[test]
    fn the_rate_falls_with_the_count_of_steps_and_the_root_of_all_squares_divides() {
        let mut element =
            ElementState { param: 1.0, moments: UpdateRule::Adagrad(EXACT).initial() };
        EXACT.constants(0).element(3.0, &mut element);
        assert_eq!(element, ElementState { param: 0.5, moments: [25.0, 0.0, 0.0] });
        EXACT.constants(2).element(0.0, &mut element);
        assert_eq!(element, ElementState { param: 0.5, moments: [25.0, 0.0, 0.0] });
        let mut element = ElementState { param: 1.0, moments: [16.0, 0.0, 0.0] };
        EXACT.constants(2).element(-3.0, &mut element);
        assert_eq!(element.param, 1.25);
    }
}
