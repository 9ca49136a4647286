//! LAMB, as Apex's `FusedLAMB` and `FusedMixedPrecisionLamb` compute it.

use super::{
    Constants, Correction, ElementState, Norms, Row, Rule, RuleError, UpdateRule, betas_below_1,
    not_negative, of_kind, round,
};

/// LAMB (arXiv 1904.00962): Adam's update, scaled by the norm of the parameter over the norm of the update, tensor by tensor.
///
/// The formulas are those of Apex's `csrc/multi_tensor_lamb.cu` and `apex/optimizers/fused_lamb.py`. With masters it is
/// `FusedMixedPrecisionLamb`: the norms are those of masters and of unscaled gradients.
#[expect(clippy::struct_excessive_bools, reason = "the options of Apex, by its names")]
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Lamb {
    /// Learning rate.
    pub lr: f64,
    /// Shares of the running mean, and of the running mean of squares, that a step keeps.
    pub betas: [f64; 2],
    /// Added to the square root in the denominator.
    pub eps: f64,
    /// Added to the update, times the parameter, or to the gradient: see [`adam_w_mode`](Self::adam_w_mode).
    pub weight_decay: f64,
    /// Divides the means by 1 - beta^t.
    pub bias_correction: bool,
    /// Decays by the update, as `AdamW` does; by the gradient otherwise.
    pub adam_w_mode: bool,
    /// Takes 1 - beta1 of each gradient into the mean; all of it otherwise.
    pub grad_averaging: bool,
    /// Largest norm of all gradients of a step together: larger gradients are divided down to it. 0 sets no limit.
    pub max_grad_norm: f64,
    /// Scales the update also without weight decay.
    pub use_nvlamb: bool,
}

impl UpdateRule {
    /// Returns LAMB with Apex's defaults: betas 0.9 and 0.999, eps 1e-6, a decay of 0.01, and gradients clipped to a norm of 1.
    pub const fn lamb(lr: f64) -> Self {
        Self::Lamb(Lamb {
            lr,
            betas: [0.9, 0.999],
            eps: 1e-6,
            weight_decay: 0.01,
            bias_correction: true,
            adam_w_mode: true,
            grad_averaging: true,
            max_grad_norm: 1.0,
            use_nvlamb: false,
        })
    }
}

/// Constants of one step of [`Lamb`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LambConstants {
    lr: f32,
    /// 1 - beta2^t and 1 - beta1^t, or 1, and a flag that no step reads
    corrections: [f32; 3],
    betas: [f32; 2],
    /// 1 - beta1, or 1
    mean_weight: f32,
    /// 1 - beta2
    square_weight: f32,
    eps: f32,
    weight_decay: f32,
    is_decoupled: bool,
    /// True where the norms scale the update.
    adapts: bool,
    /// 0 for none
    max_grad_norm: f32,
    /// Divides gradients.
    divisor: f32,
    /// Learning rate times the norm of the parameter over that of the update, once both are measured.
    ratio: Option<f32>,
}

impl Rule for Lamb {
    type Constants = LambConstants;
    /// Apex's keys.
    const MOMENTS: &'static [&'static str] = &["exp_avg", "exp_avg_sq"];

    fn validate(&self) -> Result<(), RuleError> {
        not_negative("lr", self.lr)?;
        not_negative("eps", self.eps)?;
        not_negative("weight_decay", self.weight_decay)?;
        not_negative("max_grad_norm", self.max_grad_norm)?;
        betas_below_1(self.betas)
    }

    fn correction(&self) -> Option<Correction> {
        Some(Correction::Divisors(self.corrected_betas()))
    }

    fn constants(&self, applied: u64) -> LambConstants {
        let [beta1, beta2] = self.betas;
        LambConstants {
            lr: round(self.lr),
            corrections: Correction::divisors(self.corrected_betas(), applied),
            betas: [beta1, beta2].map(round),
            mean_weight: if self.grad_averaging { round(1.0 - beta1) } else { 1.0 },
            square_weight: round(1.0 - beta2),
            eps: round(self.eps),
            weight_decay: round(self.weight_decay),
            is_decoupled: self.adam_w_mode,
            adapts: self.use_nvlamb || self.weight_decay != 0.0,
            max_grad_norm: round(self.max_grad_norm),
            divisor: 1.0,
            ratio: None,
        }
    }
}

impl Lamb {
    /// Returns the betas whose bias is corrected: none has one at 0.
    const fn corrected_betas(&self) -> [f64; 2] {
        if self.bias_correction { self.betas } else { [0.0; 2] }
    }
}

impl LambConstants {
    /// Returns the update that the moments make.
    #[inline(always)]
    fn update(&self, ElementState { param, moments }: &ElementState) -> f32 {
        let mean = moments[0] / self.corrections[1];
        let square = moments[1] / self.corrections[0];
        let update = mean / (square.sqrt() + self.eps);
        if self.is_decoupled { update + self.weight_decay * *param } else { update }
    }
}

impl Constants for LambConstants {
    fn row(self) -> Row {
        let ([c2, c1, first], [b1, b2]) = (self.corrections, self.betas);
        let [is_decoupled, adapts] = [self.is_decoupled, self.adapts].map(f32::from);
        let Self { lr, mean_weight, square_weight, eps, weight_decay, .. } = self;
        let means = [c2, c1, first, lr, b1, b2, mean_weight, square_weight, eps, weight_decay];
        let clip = [is_decoupled, adapts, self.max_grad_norm, self.divisor];
        // The device writes the ratio behind these.
        of_kind(1, &[&means[..], &clip].concat())
    }

    #[inline(always)]
    fn moments(&self) -> usize {
        2
    }

    fn measures(&self) -> bool {
        self.ratio.is_none()
    }

    fn clips(&self) -> bool {
        self.max_grad_norm > 0.0
    }

    fn clipped(mut self, norm: f32) -> Self {
        if self.clips() && norm > self.max_grad_norm {
            self.divisor = norm / self.max_grad_norm;
        }
        self
    }

    #[inline(always)]
    fn measure(&self, grad: f32, element: &mut ElementState) -> [f32; 2] {
        let mut grad = grad / self.divisor;
        if !self.is_decoupled {
            grad += self.weight_decay * element.param;
        }
        let [mean, square, _] = &mut element.moments;
        *mean = *mean * self.betas[0] + self.mean_weight * grad;
        *square = *square * self.betas[1] + self.square_weight * grad * grad;
        [element.param, self.update(element)]
    }

    fn measured(mut self, norms: Norms, _: &mut f32) -> Self {
        let [param, update] = norms.of_squares();
        let is_scaled = self.adapts && param != 0.0 && update != 0.0;
        self.ratio = Some(if is_scaled { self.lr * (param / update) } else { self.lr });
        self
    }

    #[inline(always)]
    fn element(&self, _: f32, element: &mut ElementState) -> bool {
        let change = self.ratio.unwrap_or_default() * self.update(element);
        element.param -= change;
        change != 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::refused;
    use super::*;

    #[test]
    fn apexs_defaults_are_valid_and_a_refusal_names_the_value() {
        let UpdateRule::Lamb(lamb) = UpdateRule::lamb(1e-3) else { unreachable!() };
        assert_eq!(UpdateRule::Lamb(lamb).validate(), Ok(()));
        assert_eq!(UpdateRule::Lamb(lamb).moment_names(), ["exp_avg", "exp_avg_sq"]);
        refused([
            (UpdateRule::Lamb(Lamb { lr: f64::NAN, ..lamb }), "lr"),
            (UpdateRule::Lamb(Lamb { eps: -1.0, ..lamb }), "eps"),
            (UpdateRule::Lamb(Lamb { betas: [0.9, 1.0], ..lamb }), "betas[1]"),
            (UpdateRule::Lamb(Lamb { weight_decay: -0.1, ..lamb }), "weight_decay"),
            (UpdateRule::Lamb(Lamb { max_grad_norm: f64::INFINITY, ..lamb }), "max_grad_norm"),
        ]);
    }
}
