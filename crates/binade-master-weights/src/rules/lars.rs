//! LARS and LARC, as Apex's `LARC` around SGD computes them.

use super::sgd::{Sgd, SgdConstants};
use super::{
    Constants, ElementState, Norms, Row, Rule, RuleError, UpdateRule, not_negative, of_kind, round,
};

/// LARS (arXiv 1708.03888): SGD with the rate of each tensor scaled by the parameter's norm divided by the gradient's.
///
/// With [`clip`](Self::clip) it is LARC, which only scales down. The formulas are those of Apex's `apex/parallel/LARC.py`: the gradient and its decay
/// are scaled, and then stepped by [`Sgd`]. If a norm is zero, the gradient is neither decayed nor scaled.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Lars {
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
    /// Factor that multiplies the ratio of the parameter's norm to the gradient's.
    pub trust_coefficient: f64,
    /// Takes the lesser of a tensor's rate and `lr`; their product otherwise.
    pub clip: bool,
    /// Added to the gradient's norm in the denominator.
    pub eps: f64,
}

impl UpdateRule {
    /// Returns LARC around plain gradient descent, with Apex's defaults: a coefficient of 0.02, clipped, and an eps of 1e-8.
    pub const fn larc(lr: f64) -> Self {
        Self::Lars(Lars {
            lr,
            momentum: 0.0,
            dampening: 0.0,
            weight_decay: 0.0,
            nesterov: false,
            trust_coefficient: 0.02,
            clip: true,
            eps: 1e-8,
        })
    }
}

impl Lars {
    /// Returns the rule that steps with the scaled gradient.
    const fn sgd(&self) -> Sgd {
        let Self { lr, momentum, dampening, nesterov, .. } = *self;
        Sgd { lr, momentum, dampening, weight_decay: 0.0, nesterov }
    }
}

/// Constants of one step of [`Lars`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LarsConstants {
    sgd: SgdConstants,
    lr: f32,
    weight_decay: f32,
    trust_coefficient: f32,
    clip: bool,
    eps: f32,
    /// Factor of the gradient, once it is measured.
    ratio: Option<f32>,
}

impl Rule for Lars {
    type Constants = LarsConstants;
    const MOMENTS: &'static [&'static str] = Sgd::MOMENTS;

    fn validate(&self) -> Result<(), RuleError> {
        self.sgd().validate()?;
        not_negative("weight_decay", self.weight_decay)?;
        not_negative("trust_coefficient", self.trust_coefficient)?;
        not_negative("eps", self.eps)
    }

    fn constants(&self, applied: u64) -> LarsConstants {
        LarsConstants {
            sgd: self.sgd().constants(applied),
            lr: round(self.lr),
            weight_decay: round(self.weight_decay),
            trust_coefficient: round(self.trust_coefficient),
            clip: self.clip,
            eps: round(self.eps),
            ratio: None,
        }
    }
}

impl LarsConstants {
    /// Returns the lesser of `rate / lr` and 1, or NaN where the rate is.
    fn clipped_ratio(&self, rate: f32) -> f32 {
        let ratio = if self.lr > 0.0 { rate / self.lr } else { f32::INFINITY };
        if ratio > 1.0 { 1.0 } else { ratio }
    }
}

impl Constants for LarsConstants {
    fn row(self) -> Row {
        let own = [self.weight_decay, self.trust_coefficient, f32::from(self.clip), self.eps];
        // The device writes the ratio behind these.
        of_kind(3, &[&self.sgd.row()[..6], &own].concat())
    }

    #[inline(always)]
    fn moments(&self) -> usize {
        self.sgd.moments()
    }

    fn measures(&self) -> bool {
        self.ratio.is_none()
    }

    #[inline(always)]
    fn measure(&self, grad: f32, element: &mut ElementState) -> [f32; 2] {
        [element.param, grad]
    }

    fn measured(mut self, norms: Norms, _: &mut f32) -> Self {
        let [param, grad] = norms.of_squares();
        if param == 0.0 || grad == 0.0 {
            (self.weight_decay, self.ratio) = (0.0, Some(1.0));
            return self;
        }
        let rate = self.trust_coefficient * param / (grad + param * self.weight_decay + self.eps);
        self.ratio = Some(if self.clip { self.clipped_ratio(rate) } else { rate });
        self
    }

    #[inline(always)]
    fn element(&self, grad: f32, element: &mut ElementState) -> bool {
        let grad = grad + self.weight_decay * element.param;
        self.sgd.element(grad * self.ratio.unwrap_or_default(), element)
    }
}

#[cfg(test)]
mod tests {
    use super::super::measure::measure;
    use super::super::refused;
    use super::*;

    /// Returns the factor of a gradient, for a parameter of norm 5.
    fn ratio(lars: &Lars, grads: [f32; 2]) -> Option<f32> {
        let constants = lars.constants(0);
        let sums = measure(&constants, grads.into_iter(), &[3.0, 4.0], [&mut [], &mut [], &mut []]);
        constants.measured(sums.norms(), &mut 0.0).ratio
    }

    #[test]
    fn a_clipped_ratio_is_one_at_a_rate_of_zero_and_nan_where_a_gradient_is() {
        let UpdateRule::Lars(larc) = UpdateRule::larc(0.0) else { unreachable!() };
        assert_eq!(ratio(&larc, [6.0, 8.0]), Some(1.0));
        for lr in [0.1, 1e-6] {
            let nan = ratio(&Lars { lr, ..larc }, [f32::NAN, 8.0]);
            assert!(nan.is_some_and(f32::is_nan), "{lr}: {nan:?}");
        }
        assert_eq!(ratio(&Lars { lr: 1e-6, ..larc }, [6.0, 8.0]), Some(1.0));
    }

    #[test]
    fn apexs_defaults_are_valid_and_a_refusal_names_the_value() {
        let UpdateRule::Lars(lars) = UpdateRule::larc(0.1) else { unreachable!() };
        assert_eq!(UpdateRule::Lars(lars).validate(), Ok(()));
        assert_eq!(UpdateRule::Lars(lars).moments(), 0);
        let momentum = UpdateRule::Lars(Lars { momentum: 0.9, ..lars });
        assert_eq!(momentum.moment_names(), ["momentum_buffer"]);
        refused([
            (UpdateRule::Lars(Lars { lr: f64::NAN, ..lars }), "lr"),
            (UpdateRule::Lars(Lars { nesterov: true, ..lars }), "momentum"),
            (UpdateRule::Lars(Lars { weight_decay: -0.1, ..lars }), "weight_decay"),
            (UpdateRule::Lars(Lars { trust_coefficient: -0.1, ..lars }), "trust_coefficient"),
            (UpdateRule::Lars(Lars { eps: f64::INFINITY, ..lars }), "eps"),
        ]);
    }
}
