//! Update rules, as data.

use binade_core::{Error, ErrorKind};

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

/// Adam (arXiv 1412.6980); `AdamW` (arXiv 1711.05101) where decay is decoupled; `AMSGrad` (arXiv 1904.09237) on request.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Adam {
    /// Learning rate.
    pub lr: f64,
    /// Shares of the running mean, and of the running mean of squares, that a step keeps.
    pub betas: [f64; 2],
    /// Added to the square root, so that it divides.
    pub eps: f64,
    /// Added to the gradient times the parameter, or taken off the parameter times `lr`: see [`decoupled`](Self::decoupled).
    pub weight_decay: f64,
    /// Decays the parameter directly, as `AdamW` does, and leaves the moments out of it.
    pub decoupled: bool,
    /// Divides by the largest mean of squares so far.
    pub amsgrad: bool,
}

/// How a gradient changes a parameter. Pure data: the state is kept elsewhere.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum UpdateRule {
    /// Stochastic gradient descent.
    Sgd(Sgd),
    /// Adam and its relatives.
    Adam(Adam),
}

impl UpdateRule {
    /// Plain gradient descent.
    pub const fn sgd(lr: f64) -> Self {
        Self::Sgd(Sgd { lr, momentum: 0.0, dampening: 0.0, weight_decay: 0.0, nesterov: false })
    }

    /// Adam with the betas 0.9 and 0.999 and eps 1e-8, without decay: torch's defaults.
    pub const fn adam(lr: f64) -> Self {
        Self::Adam(Adam {
            lr,
            betas: [0.9, 0.999],
            eps: 1e-8,
            weight_decay: 0.0,
            decoupled: false,
            amsgrad: false,
        })
    }

    /// `AdamW`: as [`adam`](Self::adam), with a decoupled decay of 0.01, torch's default.
    pub const fn adamw(lr: f64) -> Self {
        Self::Adam(Adam {
            lr,
            betas: [0.9, 0.999],
            eps: 1e-8,
            weight_decay: 0.01,
            decoupled: true,
            amsgrad: false,
        })
    }

    /// The learning rate.
    pub const fn lr(&self) -> f64 {
        match self {
            Self::Sgd(sgd) => sgd.lr,
            Self::Adam(adam) => adam.lr,
        }
    }

    /// Returns the rule at another learning rate.
    #[must_use]
    pub const fn with_lr(mut self, lr: f64) -> Self {
        match &mut self {
            Self::Sgd(sgd) => sgd.lr = lr,
            Self::Adam(adam) => adam.lr = lr,
        }
        self
    }

    /// How many `f32` values of state it keeps for each parameter.
    pub const fn moments(&self) -> usize {
        match self {
            Self::Sgd(sgd) if sgd.momentum == 0.0 => 0,
            Self::Sgd(_) => 1,
            Self::Adam(adam) if adam.amsgrad => 3,
            Self::Adam(_) => 2,
        }
    }

    /// Refuses what torch's constructors refuse, and whatever is not a finite number.
    ///
    /// # Errors
    ///
    /// The first value out of its range, by name.
    pub fn validate(&self) -> Result<(), RuleError> {
        match self {
            Self::Sgd(sgd) => sgd.validate(),
            Self::Adam(adam) => adam.validate(),
        }
    }
}

impl Sgd {
    fn validate(&self) -> Result<(), RuleError> {
        not_negative("lr", self.lr)?;
        not_negative("momentum", self.momentum)?;
        not_negative("weight_decay", self.weight_decay)?;
        need(self.dampening.is_finite(), "dampening", self.dampening, "a finite number")?;
        if self.nesterov {
            need(self.momentum > 0.0, "momentum", self.momentum, "above 0 with nesterov")?;
            need(self.dampening == 0.0, "dampening", self.dampening, "0 with nesterov")?;
        }
        Ok(())
    }
}

impl Adam {
    fn validate(&self) -> Result<(), RuleError> {
        not_negative("lr", self.lr)?;
        not_negative("eps", self.eps)?;
        not_negative("weight_decay", self.weight_decay)?;
        for (name, beta) in ["betas[0]", "betas[1]"].into_iter().zip(self.betas) {
            need((0.0..1.0).contains(&beta), name, beta, "at least 0 and below 1")?;
        }
        Ok(())
    }
}

fn not_negative(name: &'static str, value: f64) -> Result<(), RuleError> {
    need(value.is_finite() && value >= 0.0, name, value, "a finite number, 0 or above")
}

fn need(met: bool, name: &'static str, value: f64, range: &'static str) -> Result<(), RuleError> {
    if met { Ok(()) } else { Err(RuleError { name, value, range }) }
}

/// A hyper-parameter that no step can be taken with.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("`{name}` is {value}, and has to be {range}")]
pub struct RuleError {
    /// Which one.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
    /// Range that it has to be in.
    pub range: &'static str,
}

impl Error for RuleError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::InvalidArgument
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(rule: UpdateRule) -> (&'static str, String) {
        let error = rule.validate().unwrap_err();
        (error.name, error.to_string())
    }

    fn sgd(change: impl FnOnce(&mut Sgd)) -> UpdateRule {
        let mut sgd =
            Sgd { lr: 0.1, momentum: 0.9, dampening: 0.0, weight_decay: 0.0, nesterov: false };
        change(&mut sgd);
        UpdateRule::Sgd(sgd)
    }

    fn adam(change: impl FnOnce(&mut Adam)) -> UpdateRule {
        let mut rule = UpdateRule::adamw(0.1);
        if let UpdateRule::Adam(adam) = &mut rule {
            change(adam);
        }
        rule
    }

    #[test]
    fn torchs_defaults_are_valid() {
        for rule in
            [UpdateRule::sgd(0.0), UpdateRule::adam(1e-3), UpdateRule::adamw(1e-3), sgd(|_| ())]
        {
            assert_eq!(rule.validate(), Ok(()), "{rule:?}");
        }
    }

    #[test]
    fn a_refusal_names_the_value() {
        let table = [
            (sgd(|r| r.lr = -0.1), "lr"),
            (sgd(|r| r.lr = f64::NAN), "lr"),
            (sgd(|r| r.momentum = -0.5), "momentum"),
            (sgd(|r| r.dampening = f64::INFINITY), "dampening"),
            (sgd(|r| r.weight_decay = -1.0), "weight_decay"),
            (sgd(|r| (r.nesterov, r.momentum) = (true, 0.0)), "momentum"),
            (sgd(|r| (r.nesterov, r.dampening) = (true, 0.1)), "dampening"),
            (adam(|r| r.lr = f64::INFINITY), "lr"),
            (adam(|r| r.eps = -1e-8), "eps"),
            (adam(|r| r.betas[0] = 1.0), "betas[0]"),
            (adam(|r| r.betas[1] = f64::NAN), "betas[1]"),
            (adam(|r| r.weight_decay = f64::NAN), "weight_decay"),
        ];
        for (rule, name) in table {
            let (refused, text) = refused(rule);
            assert_eq!(refused, name, "{rule:?}");
            assert!(text.starts_with(&format!("`{name}` is ")), "{text}");
        }
    }

    #[test]
    fn moments_are_counted_by_what_is_kept() {
        let rules =
            [sgd(|r| r.momentum = 0.0), sgd(|_| ()), adam(|_| ()), adam(|r| r.amsgrad = true)];
        assert_eq!(rules.map(|rule| rule.moments()), [0, 1, 2, 3]);
    }

    #[test]
    fn another_rate_changes_nothing_else() {
        assert_eq!(sgd(|_| ()).with_lr(0.5), sgd(|r| r.lr = 0.5));
        assert_eq!(UpdateRule::adamw(0.1).with_lr(0.5), UpdateRule::adamw(0.5));
        assert_eq!(UpdateRule::adam(0.5).lr(), 0.5);
    }
}
