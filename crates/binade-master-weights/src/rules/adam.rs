//! Adam, `AdamW` and `AMSGrad`: torch's `_single_tensor_adam`.

use super::{
    Constants, Correction, ElementState, Row, Rule, RuleError, UpdateRule, betas_below_1, need,
    not_negative, round,
};

/// Adam (arXiv 1412.6980); `AdamW` (arXiv 1711.05101) where decay is decoupled; `AMSGrad` (arXiv 1904.09237) on request.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Adam {
    /// Learning rate.
    pub lr: f64,
    /// Shares of the running mean, and of the running mean of squares, that a step keeps.
    pub betas: [f64; 2],
    /// Added to the square root in the denominator.
    pub eps: f64,
    /// Weight decay. This factor times the parameter is added to the gradient, or, times `lr`, subtracted from the parameter: see
    /// [`decoupled`](Self::decoupled).
    pub weight_decay: f64,
    /// Decays the parameter directly, as `AdamW` does, and leaves the moments out of it.
    pub decoupled: bool,
    /// Divides by the largest mean of squares so far.
    pub amsgrad: bool,
    /// Steps only the rows of a sparse gradient, and adds `eps` before the bias is corrected: torch's `SparseAdam`.
    #[cfg_attr(feature = "serde", serde(default))]
    pub sparse: bool,
}

/// torch's defaults.
const TORCH: Adam = Adam {
    lr: 0.001,
    betas: [0.9, 0.999],
    eps: 1e-8,
    weight_decay: 0.0,
    decoupled: false,
    amsgrad: false,
    sparse: false,
};

/// torch's `Adam`: a rate of 0.001, betas of 0.9 and 0.999, `eps` of 1e-8, no decay.
///
/// ```
/// use binade_master_weights::{Adam, UpdateRule};
///
/// let rule = UpdateRule::Adam(Adam { lr: 2e-3, betas: [0.9, 0.98], ..Adam::default() });
/// assert_eq!(UpdateRule::Adam(Adam::default()), UpdateRule::adam(1e-3));
/// # assert!(rule.validate().is_ok());
/// ```
impl Default for Adam {
    fn default() -> Self {
        TORCH
    }
}

impl UpdateRule {
    /// Returns Adam with the betas 0.9 and 0.999 and eps 1e-8, without decay: torch's defaults.
    pub const fn adam(lr: f64) -> Self {
        Self::Adam(Adam { lr, ..TORCH })
    }

    /// Returns `AdamW`: as [`adam`](Self::adam), with a decoupled decay of 0.01, torch's default.
    pub const fn adamw(lr: f64) -> Self {
        Self::Adam(Adam { lr, weight_decay: 0.01, decoupled: true, ..TORCH })
    }

    /// Returns Adam for sparse gradients: torch's `SparseAdam`, with its betas of 0.9 and 0.999 and its eps of 1e-8. A step with a sparse gradient
    /// leaves the elements and means of all other rows unchanged.
    ///
    /// A dense gradient, which torch refuses, updates every row; rows with a zero gradient change by their means. The last bits differ from torch's,
    /// which adds up the means and divides in another order.
    pub const fn sparse_adam(lr: f64) -> Self {
        Self::Adam(Adam { lr, sparse: true, ..TORCH })
    }
}

impl Adam {
    fn bias(&self) -> Correction {
        let bias = if self.sparse { Correction::SparseBias } else { Correction::Bias };
        bias(self.betas)
    }
}

step_constants! {
    /// Constants of one step of [`Adam`]; t counts applied steps from 1.
    AdamConstants {
        /// sqrt(1 - beta2^t); 1 for sparse Adam
        root_correction: f32,
        /// -lr / (1 - beta1^t); for sparse Adam times sqrt(1 - beta2^t)
        negative_step: f32,
        /// 1 - lr · `weight_decay` where decay is decoupled, 1 otherwise
        shrink: f32,
        /// `weight_decay` where it is not decoupled, 0 otherwise; at 0 the parameter is not read for it.
        weight_decay: f32,
        /// 1 - beta1
        mean_weight: f32,
        /// beta2
        beta2: f32,
        /// 1 - beta2
        square_weight: f32,
        /// `eps`
        eps: f32,
        amsgrad: bool,
    }
}

impl Rule for Adam {
    type Constants = AdamConstants;
    const MOMENTS: &'static [&'static str] = &["exp_avg", "exp_avg_sq", "max_exp_avg_sq"];

    fn validate(&self) -> Result<(), RuleError> {
        not_negative("lr", self.lr)?;
        not_negative("eps", self.eps)?;
        not_negative("weight_decay", self.weight_decay)?;
        if self.sparse {
            need(self.weight_decay == 0.0, "weight_decay", self.weight_decay, "0 with `sparse`")?;
            need(!self.amsgrad, "amsgrad", 1.0, "false with `sparse`")?;
        }
        betas_below_1(self.betas)
    }

    fn steps_rows(&self) -> bool {
        self.sparse
    }

    fn correction(&self) -> Option<Correction> {
        Some(self.bias())
    }

    fn constants(&self, applied: u64) -> AdamConstants {
        let correction = self.bias().at(applied);
        let [beta1, beta2] = self.betas;
        let (decoupled, coupled) =
            if self.decoupled { (self.weight_decay, 0.0) } else { (0.0, self.weight_decay) };
        AdamConstants {
            root_correction: correction.first,
            negative_step: round(-self.lr / correction.divisor),
            shrink: round(1.0 - self.lr * decoupled),
            weight_decay: round(coupled),
            mean_weight: round(1.0 - beta1),
            beta2: round(beta2),
            square_weight: round(1.0 - beta2),
            eps: round(self.eps),
            amsgrad: self.amsgrad,
        }
    }
}

impl Constants for AdamConstants {
    fn row(self) -> Row {
        self.in_order()
    }

    #[inline(always)]
    fn moments(&self) -> usize {
        2 + usize::from(self.amsgrad)
    }

    #[inline(always)]
    fn element(&self, mut grad: f32, ElementState { param, moments }: &mut ElementState) -> bool {
        let [mean, square, largest] = moments;
        let shrinks = self.shrink != 1.0 && *param != 0.0;
        *param *= self.shrink;
        if self.weight_decay != 0.0 {
            grad = param.mul_add(self.weight_decay, grad);
        }
        *mean = lerp(*mean, grad, self.mean_weight);
        *square = (self.square_weight * grad).mul_add(grad, *square * self.beta2);
        let mut divisor = *square;
        if self.amsgrad {
            *largest = maximum(*largest, *square);
            divisor = *largest;
        }
        let denominator = divisor.sqrt() / self.root_correction + self.eps;
        let change = self.negative_step * *mean;
        *param += change / denominator;
        shrinks || change != 0.0
    }
}

/// torch's `lerp`: from whichever end is nearer, so that a weight of 1 gives `to` itself.
///
/// Itself but for a zero's sign: with a weight of 1 and `to` -0, torch's vector loop and the scalar loop of its tails
/// give opposite zeros. This is the scalar one.
#[inline(always)]
fn lerp(from: f32, to: f32, weight: f32) -> f32 {
    let way = to - from;
    if weight < 0.5 { weight.mul_add(way, from) } else { (-way).mul_add(1.0 - weight, to) }
}

/// torch's `maximum`: NaN if either is.
#[inline(always)]
fn maximum(a: f32, b: f32) -> f32 {
    if b > a || b.is_nan() { b } else { a }
}

#[cfg(test)]
mod tests {
    use super::super::refused;
    use super::*;

    fn adam(change: impl FnOnce(&mut Adam)) -> UpdateRule {
        let mut adam = TORCH;
        change(&mut adam);
        UpdateRule::Adam(adam)
    }

    #[test]
    fn torchs_defaults_are_valid_and_a_refusal_names_the_value() {
        for rule in [UpdateRule::adam(1e-3), UpdateRule::adamw(1e-3)] {
            assert_eq!(rule.validate(), Ok(()), "{rule:?}");
        }
        refused([
            (adam(|r| r.lr = f64::INFINITY), "lr"),
            (adam(|r| r.eps = -1e-8), "eps"),
            (adam(|r| r.betas[0] = 1.0), "betas[0]"),
            (adam(|r| r.betas[1] = f64::NAN), "betas[1]"),
            (adam(|r| r.weight_decay = f64::NAN), "weight_decay"),
            (adam(|r| (r.sparse, r.weight_decay) = (true, 0.1)), "weight_decay"),
            (adam(|r| (r.sparse, r.amsgrad) = (true, true)), "amsgrad"),
        ]);
    }

    #[test]
    fn moments_are_those_that_are_kept() {
        assert_eq!(adam(|_| ()).moment_names(), ["exp_avg", "exp_avg_sq"]);
        assert_eq!(adam(|r| r.amsgrad = true).moments(), 3);
    }

    #[test]
    fn a_row_begins_with_the_corrections() {
        let constants = Adam { amsgrad: true, ..TORCH }.constants(3);
        let row = constants.row();
        assert_eq!(row[..2], [constants.root_correction, constants.negative_step]);
        assert_eq!(row[2..9], [1.0, 0.0, 0.1, 0.999, 0.001, 1e-8, 1.0]);
    }

    /// Moves an element whose moments are the mean, the mean of squares and their largest.
    fn moved(constants: &AdamConstants, grad: f32, moments: [f32; 3]) -> ElementState {
        let mut element = ElementState { param: 1.0, moments };
        constants.element(grad, &mut element);
        element
    }

    #[test]
    fn amsgrad_keeps_a_nan_once_it_has_one() {
        let constants = Adam { amsgrad: true, ..TORCH }.constants(5);
        for moments in [[0.0, f32::NAN, 4.0], [0.0, 0.0, f32::NAN]] {
            assert!(moved(&constants, 1.0, moments).moments[2].is_nan(), "{moments:?}");
        }
    }

    #[test]
    fn a_mean_that_is_replaced_by_minus_zero_has_the_zero_of_torchs_scalar_loop() {
        let constants = Adam { betas: [0.0, 0.99], ..TORCH }.constants(0);
        for mean in [1.0_f32, -1.0] {
            let next = moved(&constants, -0.0, [mean, 1.0, 0.0]).moments[0];
            assert_eq!(next.to_bits(), 0.0_f32.copysign(mean).to_bits(), "from {mean}");
        }
    }
}
