//! `NovoGrad`, as Apex's `FusedNovoGrad` computes it.

use super::{
    Constants, Correction, ElementState, Norms, Row, Rule, RuleError, UpdateRule, betas_below_1,
    not_negative, of_kind, round,
};

/// `NovoGrad` (arXiv 1905.11286): Adam with one second moment for each tensor, the running norm of its gradients.
///
/// The formulas are those of Apex's `csrc/multi_tensor_novograd.cu` and `apex/optimizers/fused_novograd.py`.
#[expect(clippy::struct_excessive_bools, reason = "the options of Apex, by its names")]
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NovoGrad {
    /// Learning rate.
    pub lr: f64,
    /// Shares of the running mean of gradients, and of their running norm, that a step keeps.
    pub betas: [f64; 2],
    /// Added to the norm in the denominator.
    pub eps: f64,
    /// Added to the update, times the parameter, or to the gradient: see [`reg_inside_moment`](Self::reg_inside_moment).
    pub weight_decay: f64,
    /// Divides the mean by 1 - beta1^t, and the norm by sqrt(1 - beta2^t).
    pub bias_correction: bool,
    /// Divides and decays each gradient before it enters the mean, as in the paper. Otherwise divides the mean, and adds the decay to the update.
    pub reg_inside_moment: bool,
    /// Takes 1 - beta1 of each gradient into the mean; all of it otherwise.
    pub grad_averaging: bool,
    /// Norm of a tensor's gradient.
    pub norm: GradNorm,
    /// Starts the running norm at zero; otherwise it starts at the norm of the first gradient.
    pub init_zero: bool,
}

/// Norm of a tensor's gradient, which [`NovoGrad`] divides by.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum GradNorm {
    /// Root of the sum of squares: Apex's `norm_type` 2.
    L2,
    /// Largest magnitude: Apex's `norm_type` 0.
    Max,
}

impl UpdateRule {
    /// Returns `NovoGrad` with Apex's defaults: betas 0.9 and 0.999, eps 1e-8, no decay.
    pub const fn novograd(lr: f64) -> Self {
        Self::NovoGrad(NovoGrad {
            lr,
            betas: [0.9, 0.999],
            eps: 1e-8,
            weight_decay: 0.0,
            bias_correction: true,
            reg_inside_moment: false,
            grad_averaging: true,
            norm: GradNorm::L2,
            init_zero: false,
        })
    }
}

/// Constants of one step of [`NovoGrad`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct NovoGradConstants {
    lr: f32,
    /// 1 - beta2^t and 1 - beta1^t, or 1, and 1 in the first step
    corrections: [f32; 3],
    betas: [f32; 2],
    /// 1 - beta1, or 1
    mean_weight: f32,
    /// 1 - beta2
    norm_weight: f32,
    eps: f32,
    weight_decay: f32,
    is_inside: bool,
    norm: GradNorm,
    init_zero: bool,
    /// Corrected running norm plus `eps`, once the gradient is measured.
    denominator: Option<f32>,
}

impl Rule for NovoGrad {
    type Constants = NovoGradConstants;
    /// Apex's key. The running norm, which is Apex's `exp_avg_sq`, is kept as `norm` here.
    const MOMENTS: &'static [&'static str] = &["exp_avg"];

    fn validate(&self) -> Result<(), RuleError> {
        not_negative("lr", self.lr)?;
        not_negative("eps", self.eps)?;
        not_negative("weight_decay", self.weight_decay)?;
        betas_below_1(self.betas)
    }

    fn keeps_norm(&self) -> bool {
        true
    }

    fn correction(&self) -> Option<Correction> {
        Some(Correction::Divisors(self.corrected_betas()))
    }

    fn constants(&self, applied: u64) -> NovoGradConstants {
        let [beta1, _] = self.betas;
        NovoGradConstants {
            lr: round(self.lr),
            corrections: Correction::divisors(self.corrected_betas(), applied),
            betas: self.betas.map(round),
            mean_weight: if self.grad_averaging { round(1.0 - beta1) } else { 1.0 },
            norm_weight: round(1.0 - self.betas[1]),
            eps: round(self.eps),
            weight_decay: round(self.weight_decay),
            is_inside: self.reg_inside_moment,
            norm: self.norm,
            init_zero: self.init_zero,
            denominator: None,
        }
    }
}

impl NovoGrad {
    /// Returns the betas whose bias is corrected: none has one at 0.
    const fn corrected_betas(&self) -> [f64; 2] {
        if self.bias_correction { self.betas } else { [0.0; 2] }
    }
}

impl Constants for NovoGradConstants {
    fn row(self) -> Row {
        let ([c2, c1, first], [b1, b2]) = (self.corrections, self.betas);
        let flags = [self.is_inside, self.norm == GradNorm::Max, self.init_zero].map(f32::from);
        let Self { lr, mean_weight, norm_weight, eps, weight_decay, .. } = self;
        let means = [c2, c1, first, lr, b1, b2, mean_weight, norm_weight, eps, weight_decay];
        // The device writes the denominator behind these.
        of_kind(2, &[&means[..], &flags].concat())
    }

    #[inline(always)]
    fn moments(&self) -> usize {
        1
    }

    fn measures(&self) -> bool {
        self.denominator.is_none()
    }

    #[inline(always)]
    fn measure(&self, grad: f32, _: &mut ElementState) -> [f32; 2] {
        [grad, 0.0]
    }

    fn measured(mut self, norms: Norms, kept: &mut f32) -> Self {
        let (kept_share, share) = (self.betas[1], self.norm_weight);
        let [square_correction, _, first] = self.corrections;
        let begins = first != 0.0 && !self.init_zero;
        *kept = match self.norm {
            GradNorm::L2 => {
                let [now, _] = norms.of_squares();
                let before = if begins { now } else { *kept };
                (kept_share * before * before + share * now * now).sqrt()
            }
            GradNorm::Max => {
                let before = if begins { norms.largest() } else { *kept };
                kept_share * before + share * norms.largest()
            }
        };
        self.denominator = Some(*kept / square_correction.sqrt() + self.eps);
        self
    }

    #[inline(always)]
    fn element(&self, grad: f32, ElementState { param, moments }: &mut ElementState) -> bool {
        let denominator = self.denominator.unwrap_or(f32::NAN);
        let mean = &mut moments[0];
        let update = if self.is_inside {
            let grad = grad / denominator + self.weight_decay * *param;
            *mean = self.betas[0] * *mean + self.mean_weight * grad;
            *mean / self.corrections[1]
        } else {
            *mean = self.betas[0] * *mean + self.mean_weight * grad;
            *mean / self.corrections[1] / denominator + self.weight_decay * *param
        };
        let change = self.lr * update;
        *param -= change;
        change != 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::refused;
    use super::*;

    #[test]
    fn apexs_defaults_are_valid_and_a_refusal_names_the_value() {
        let UpdateRule::NovoGrad(novograd) = UpdateRule::novograd(1e-3) else { unreachable!() };
        assert_eq!(UpdateRule::NovoGrad(novograd).validate(), Ok(()));
        assert_eq!(UpdateRule::NovoGrad(novograd).moment_names(), ["exp_avg"]);
        refused([
            (UpdateRule::NovoGrad(NovoGrad { lr: -1.0, ..novograd }), "lr"),
            (UpdateRule::NovoGrad(NovoGrad { eps: f64::NAN, ..novograd }), "eps"),
            (UpdateRule::NovoGrad(NovoGrad { betas: [1.0, 0.9], ..novograd }), "betas[0]"),
            (UpdateRule::NovoGrad(NovoGrad { weight_decay: -0.1, ..novograd }), "weight_decay"),
        ]);
    }
}
