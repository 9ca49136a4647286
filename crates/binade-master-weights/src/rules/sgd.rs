//! Stochastic gradient descent: torch's `_single_tensor_sgd`.

use super::{
    Constants, ElementState, Row, Rule, RuleError, UpdateRule, finite, need, not_negative, round,
};

/// Stochastic gradient descent with torch's momentum.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Sgd {
    /// Learning rate.
    pub lr: f64,
    /// Share of the momentum buffer that a step keeps; 0 keeps no buffer at all.
    pub momentum: f64,
    /// Share of each gradient but the first that stays out of the buffer.
    pub dampening: f64,
    /// Added to the gradient, times the parameter.
    pub weight_decay: f64,
    /// Steps along the gradient plus the buffer, rather than along the buffer.
    pub nesterov: bool,
}

/// torch's defaults.
const TORCH: Sgd =
    Sgd { lr: 0.001, momentum: 0.0, dampening: 0.0, weight_decay: 0.0, nesterov: false };

/// torch's `SGD`: a rate of 0.001, without momentum and decay.
///
/// ```
/// use binade_master_weights::{Sgd, UpdateRule};
///
/// let rule = UpdateRule::Sgd(Sgd { lr: 0.1, momentum: 0.9, ..Sgd::default() });
/// assert_eq!(UpdateRule::Sgd(Sgd::default()), UpdateRule::sgd(1e-3));
/// # assert!(rule.validate().is_ok());
/// ```
impl Default for Sgd {
    fn default() -> Self {
        TORCH
    }
}

impl UpdateRule {
    /// Returns plain gradient descent.
    pub const fn sgd(lr: f64) -> Self {
        Self::Sgd(Sgd { lr, ..TORCH })
    }
}

step_constants! {
    /// Constants of one step of [`Sgd`].
    SgdConstants {
        /// True in the first applied step: the momentum buffer becomes the gradient, undamped.
        first: bool,
        /// -lr
        negative_lr: f32,
        /// `weight_decay`; at 0 the parameter is not read for it.
        weight_decay: f32,
        /// `momentum`; without a buffer if it is 0.
        momentum: f32,
        /// 1 - dampening
        undamped: f32,
        nesterov: bool,
    }
}

impl Rule for Sgd {
    type Constants = SgdConstants;
    const MOMENTS: &'static [&'static str] = &["momentum_buffer"];

    fn validate(&self) -> Result<(), RuleError> {
        not_negative("lr", self.lr)?;
        not_negative("momentum", self.momentum)?;
        not_negative("weight_decay", self.weight_decay)?;
        finite("dampening", self.dampening)?;
        if self.nesterov {
            need(self.momentum > 0.0, "momentum", self.momentum, "above 0 with nesterov")?;
            need(self.dampening == 0.0, "dampening", self.dampening, "0 with nesterov")?;
        }
        Ok(())
    }

    fn steps_rows(&self) -> bool {
        self.momentum == 0.0 && self.weight_decay == 0.0
    }

    fn constants(&self, applied: u64) -> SgdConstants {
        SgdConstants {
            first: applied == 0,
            negative_lr: round(-self.lr),
            weight_decay: round(self.weight_decay),
            momentum: round(self.momentum),
            undamped: round(1.0 - self.dampening),
            nesterov: self.nesterov,
        }
    }
}

impl Constants for SgdConstants {
    fn row(self) -> Row {
        self.in_order()
    }

    #[inline(always)]
    fn moments(&self) -> usize {
        usize::from(self.momentum != 0.0)
    }

    #[inline(always)]
    fn element(&self, mut grad: f32, ElementState { param, moments }: &mut ElementState) -> bool {
        let momentum = &mut moments[0];
        if self.weight_decay != 0.0 {
            grad = param.mul_add(self.weight_decay, grad);
        }
        if self.momentum != 0.0 {
            let kept = *momentum * self.momentum;
            *momentum = if self.first { grad } else { grad.mul_add(self.undamped, kept) };
            grad = if self.nesterov { momentum.mul_add(self.momentum, grad) } else { *momentum };
        }
        *param = grad.mul_add(self.negative_lr, *param);
        grad * self.negative_lr != 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::{StepConstants, padded, refused};
    use super::*;

    fn sgd(change: impl FnOnce(&mut Sgd)) -> UpdateRule {
        let mut sgd = Sgd { lr: 0.1, momentum: 0.9, ..TORCH };
        change(&mut sgd);
        UpdateRule::Sgd(sgd)
    }

    #[test]
    fn torchs_defaults_are_valid_and_a_refusal_names_the_value() {
        for rule in [UpdateRule::sgd(0.0), sgd(|_| ())] {
            assert_eq!(rule.validate(), Ok(()), "{rule:?}");
        }
        refused([
            (sgd(|r| r.lr = -0.1), "lr"),
            (sgd(|r| r.lr = f64::NAN), "lr"),
            (sgd(|r| r.lr = 1e300), "lr"),
            (sgd(|r| r.dampening = -1e39), "dampening"),
            (sgd(|r| r.momentum = -0.5), "momentum"),
            (sgd(|r| r.dampening = f64::INFINITY), "dampening"),
            (sgd(|r| r.weight_decay = -1.0), "weight_decay"),
            (sgd(|r| (r.nesterov, r.momentum) = (true, 0.0)), "momentum"),
            (sgd(|r| (r.nesterov, r.dampening) = (true, 0.1)), "dampening"),
        ]);
    }

    #[test]
    fn a_buffer_is_kept_where_there_is_momentum() {
        assert_eq!(sgd(|r| r.momentum = 0.0).moment_names(), [""; 0]);
        assert_eq!(sgd(|_| ()).moment_names(), ["momentum_buffer"]);
    }

    #[test]
    fn a_row_has_every_constant_and_only_the_first_step_is_first() {
        let rule = sgd(|r| (r.lr, r.dampening, r.weight_decay) = (0.5, 0.25, 0.125));
        let row = padded(&[0.0, -0.5, 0.125, 0.9, 0.75]);
        assert_eq!(<[f32; 16]>::from(StepConstants::at(&rule, 1)), row);
        let first: [f32; 16] = StepConstants::at(&sgd(|r| r.nesterov = true), 0).into();
        assert_eq!([first[0], first[5]], [1.0, 1.0]);
    }
}
