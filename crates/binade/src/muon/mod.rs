//! Muon: momentum whose direction is made orthogonal, for the matrices of a model (torch's `torch.optim.Muon`).

mod newton_schulz;

use binade_autocast::{Autocast, Scope};
use binade_core::ops::Ops;
use binade_core::{DType, Error, ErrorKind, MultiTensor, Named, Norm};
use binade_master_weights::{MasterSet, MasterStep, RuleError};
use std::sync::Arc;

/// Factor by which the learning rate of a matrix of shape `[A, B]` is multiplied: torch's `adjust_lr_fn`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum AdjustLr {
    /// `sqrt(max(1, A / B))`, of Keller Jordan's implementation.
    #[default]
    Original,
    /// `0.2 * sqrt(max(A, B))`, so that rate and weight decay of `AdamW` can be kept (arXiv 2502.16982).
    MatchRmsAdamW,
    /// `sqrt(A / B)`, which holds the spectral norm of a step.
    SpectralUnclamped,
}

impl AdjustLr {
    /// Returns the factor of a matrix of this shape, which is not empty.
    #[expect(clippy::cast_precision_loss, reason = "extents are far below 2^53")]
    fn factor(self, [a, b]: [usize; 2]) -> f64 {
        let [a, b] = [a as f64, b as f64];
        match self {
            Self::Original => (a / b).max(1.0).sqrt(),
            Self::MatchRmsAdamW => 0.2 * a.max(b).sqrt(),
            Self::SpectralUnclamped => (a / b).sqrt(),
        }
    }
}

/// Muon, an optimizer of matrices: `torch.optim.Muon`, as a rule for [`Fp16Optimizer`](crate::master_weights::Fp16Optimizer).
///
/// The momentum is an average of gradients. A step goes along its nearest orthogonal matrix, which Newton–Schulz iterations approximate:
/// singular values above 0.002 of the norm end between 0.68 and 1.21. The iterations are products of matrices, cast by a region as a
/// model's own are; torch's are in bf16, which is [`Region::bf16`](crate::autocast::Region::bf16). Sums, norms and momentum are `f32`,
/// and so is everything in a region that is off.
///
/// The parameters are matrices, of two axes: [`state`](Self::state) refuses others. An embedding, a bias or a gain is stepped by Adam
/// beside it. [`Default`] has torch's values.
///
/// The step is made of operations of the device, and the host reads nothing.
///
/// # Examples
///
/// ```
/// use binade::master_weights::Fp16Optimizer;
/// use binade::{Muon, prelude::*};
/// use binade_cpu::{Cpu, Gradients, Tensor};
///
/// let muon = Muon { lr: 0.02, ..Muon::default() };
/// let weight = Tensor::new(vec![1.0_f32, 2.0, 3.0, 4.0], &[2, 2])?;
/// let params = vec![Named::new("weight", weight)];
/// let (region, state) = (Region::bf16(), muon.state(&Cpu, &params)?);
/// let mut optimizer =
///     Fp16Optimizer::new(Cpu, params, DType::BF16, |step| muon.step(&region.open(&Cpu), step))?.with_state(&state)?;
///
/// let grad = Tensor::new(vec![1e-3_f32, 0.0, 0.0, 2e-3], &[2, 2])?;
/// let grads: Gradients = vec![Named::new("weight", Some(grad))].into();
/// optimizer.step(grads, &Default::default())?;
/// let step = 4.0 * (1.0 - 0.02 * 0.1) - optimizer.masters()[0].value.to_f32()[3];
/// assert!((step - 0.02).abs() < 0.007); // the rate, whatever the gradient's size
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Muon {
    /// Learning rate, before [`adjust_lr`](Self#structfield.adjust_lr).
    pub lr: f64,
    /// Share of the parameter that a step takes off, times the rate: decoupled, as `AdamW`'s. It goes by `lr` unadjusted.
    pub weight_decay: f64,
    /// Share of the average that a step keeps.
    pub momentum: f64,
    /// True to step along the average of gradient and momentum, rather than along the momentum.
    pub nesterov: bool,
    /// Coefficients `a`, `b`, `c` of an iteration, which takes `X` to `(a I + b A + c A A) X` with `A = X Xᵀ`.
    pub ns_coefficients: [f64; 3],
    /// Least norm that a direction is divided by.
    pub eps: f64,
    /// Number of iterations.
    pub ns_steps: u32,
    /// Factor of the rate by the matrix's shape.
    pub adjust_lr: AdjustLr,
}

impl Default for Muon {
    fn default() -> Self {
        Self {
            lr: 1e-3,
            weight_decay: 0.1,
            momentum: 0.95,
            nesterov: true,
            ns_coefficients: [3.4445, -4.7750, 2.0315],
            eps: 1e-7,
            ns_steps: 5,
            adjust_lr: AdjustLr::Original,
        }
    }
}

/// Reason why Muon cannot step parameters.
#[derive(Debug, thiserror::Error)]
pub enum MuonError<E> {
    /// Hyper-parameter out of its range.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// Parameter that is no matrix.
    #[error(
        "`{parameter}` has the shape {shape:?}, and Muon steps matrices, which have two axes and at least one element: step it by Adam \
         in a second optimizer, or reshape it"
    )]
    Shape {
        /// Name of the parameter.
        parameter: Arc<str>,
        /// Its shape.
        shape: Vec<usize>,
    },
    /// Error of the device.
    #[error(transparent)]
    Device(E),
}

impl<E: Error> Error for MuonError<E> {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Rule(error) => error.kind(),
            Self::Shape { .. } => ErrorKind::Mismatch,
            Self::Device(error) => error.kind(),
        }
    }
}

impl Muon {
    /// Checks the hyper-parameters and shapes, and returns the state to begin with: a momentum of zeros for each parameter, under its name.
    ///
    /// # Errors
    ///
    /// If a hyper-parameter is out of its range, a parameter is no matrix, or the device fails.
    pub fn state<D: Ops>(
        &self,
        device: &D,
        params: &[Named<D::Tensor>],
    ) -> Result<Vec<Named<D::Tensor>>, MuonError<D::Error>> {
        self.validate()?;
        let zeros = |param: &Named<D::Tensor>| {
            let shape = device.shape(&param.value);
            if shape.len() != 2 || shape.contains(&0) {
                return Err(MuonError::Shape { parameter: param.name.clone(), shape });
            }
            let zeros = device.fill(0.0, &shape, DType::F32).map_err(MuonError::Device)?;
            Ok(Named::new(param.name.clone(), zeros))
        };
        params.iter().map(zeros).collect()
    }

    /// Returns the masters and momentum after a step: the rule of an [`Fp16Optimizer`](crate::master_weights::Fp16Optimizer) whose state
    /// came from [`state`](Self::state).
    ///
    /// `scope` casts the products, under the names of the parameters as paths. A parameter without a gradient keeps master and momentum.
    /// For a schedule the rule calls this of a `Muon` with another rate. Its numbers are not checked again: keep them in the ranges of
    /// [`state`](Self::state).
    ///
    /// # Errors
    ///
    /// If the scope's policy refuses a product, an operand does not fit, or the device fails.
    #[expect(clippy::needless_pass_by_value, reason = "the rule of an optimizer is given its step")]
    pub fn step<D: Ops + Autocast + MultiTensor>(
        &self,
        scope: &Scope<'_, D>,
        step: MasterStep<'_, D::Tensor>,
    ) -> Result<MasterSet<D::Tensor>, D::Error> {
        let (device, grads) = (scope.device, step.present());
        let [masters, state] = [step.masters, step.state].map(|set| of_names(set, &grads));
        let (kept, new) = (round(self.momentum), round(1.0 - self.momentum));
        let (momentum, _) = device.axpby((kept, &state), (new, &grads))?;
        let ahead = self.nesterov.then(|| device.axpby((kept, &momentum), (new, &grads)));
        let directions = ahead.transpose()?.map_or_else(|| momentum.clone(), |(ahead, _)| ahead);
        let norms = device.norms(&directions, Norm::L2)?.each;
        let mut next = Vec::new();
        for ((master, direction), norm) in masters.iter().zip(&directions).zip(&norms) {
            let shape = matrix(&device.shape(&direction.value));
            let rate = -self.lr * self.adjust_lr.factor(shape);
            let direction = self.orthogonal(scope, direction, &norm.value, shape)?;
            let decayed = (round(1.0 - self.lr * self.weight_decay), std::slice::from_ref(master));
            next.extend(device.axpby(decayed, (round(rate), &[direction]))?.0);
        }
        Ok(MasterSet {
            masters: replaced(step.masters, next),
            state: replaced(step.state, momentum),
        })
    }

    fn validate(&self) -> Result<(), RuleError> {
        let not_negative = [
            ("lr", self.lr),
            ("weight_decay", self.weight_decay),
            ("momentum", self.momentum),
            ("ns_coefficients[0]", self.ns_coefficients[0]),
        ];
        for (name, value) in not_negative {
            let is_finite = round(value).is_finite();
            need(is_finite && value >= 0.0, name, value, "0 or above, and finite in f32")?;
        }
        for (name, value) in [("ns_coefficients[1]", 1), ("ns_coefficients[2]", 2)] {
            let value = self.ns_coefficients[value];
            need(round(value).is_finite(), name, value, "finite in f32")?;
        }
        need(self.eps.is_finite() && round(self.eps) > 0.0, "eps", self.eps, "above 0 in f32")?;
        need(self.ns_steps < 100, "ns_steps", self.ns_steps.into(), "below 100")
    }
}

fn need(
    is_met: bool,
    name: &'static str,
    value: f64,
    range: &'static str,
) -> Result<(), RuleError> {
    if is_met { Ok(()) } else { Err(RuleError { name, value, range }) }
}

#[expect(clippy::cast_possible_truncation, reason = "rounds to f32 on purpose")]
fn round(value: f64) -> f32 {
    value as f32
}

/// Returns the extents of a matrix; those of anything else are refused by the products.
fn matrix(shape: &[usize]) -> [usize; 2] {
    [0, 1].map(|axis| shape.get(axis).copied().unwrap_or(1))
}

/// Returns the tensors of `set` whose names are those of `present`, which lists some of them in the same order.
fn of_names<T: Clone>(set: &[Named<T>], present: &[Named<T>]) -> Vec<Named<T>> {
    let mut names = present.iter().map(|grad| &grad.name).peekable();
    let one = |tensor: &&Named<T>| names.next_if(|name| **name == tensor.name).is_some();
    set.iter().filter(one).cloned().collect()
}

/// Returns `set` with the tensors of `next`, which lists some of its names in the same order, in the place of its own.
fn replaced<T: Clone>(set: &[Named<T>], next: Vec<Named<T>>) -> Vec<Named<T>> {
    let mut next = next.into_iter().peekable();
    let mut one = |old: &Named<T>| next.next_if(|new| new.name == old.name);
    set.iter().map(|old| one(old).unwrap_or_else(|| old.clone())).collect()
}
