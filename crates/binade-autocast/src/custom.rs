//! Operations with their own backward, which runs in the region of their forward.

use crate::{Autocast, CastError, Region, Scope};
use binade_cast_policy::{CastRule, Decision, OpCall};
use binade_core::{DType, Op};
use std::borrow::Cow;

/// Operation with its own backward, as torch's `custom_fwd` and `custom_bwd` wrap it.
///
/// * Without [`cast_inputs`](Self::cast_inputs) the forward runs in the scope it is called in.
/// * With it, where the region is on, castable operands are cast and the forward runs with autocast off.
/// * With it, where the region is off, nothing is cast.
/// * The backward is given exactly the region that the forward ran in, whatever the thread is in by then.
///
/// While either runs, that region is also the ambient one for devices of its type.
#[derive(Clone, Copy, Debug)]
pub struct CustomOp {
    op: Op,
    inputs: Option<DType>,
}

/// Region of a custom forward, kept for its backward.
#[derive(Clone, Debug)]
pub struct Backward(Region);

impl CustomOp {
    /// Creates an operation that runs in whatever region it is called in.
    pub const fn new(op: Op) -> Self {
        Self { op, inputs: None }
    }

    /// Casts operands to one type, and turns autocast off inside.
    #[must_use]
    pub const fn cast_inputs(self, to: DType) -> Self {
        Self { inputs: Some(to), ..self }
    }

    /// Runs `forward` on the operands as it should see them. Keep the [`Backward`] for its backward.
    ///
    /// # Errors
    ///
    /// If the device cannot cast, or the inputs' type is not floating-point.
    pub fn forward<'d, 't, D: Autocast + 'static, R, const N: usize>(
        &self,
        scope: &Scope<'d, D>,
        operands: [&'t D::Tensor; N],
        forward: impl FnOnce(&Scope<'d, D>, [Cow<'t, D::Tensor>; N]) -> R,
    ) -> Result<(R, Backward), CastError<D::Error>> {
        let dtypes = operands.map(|tensor| scope.device().dtype(tensor));
        let call = OpCall::new(self.op, &dtypes);
        let inputs = self.inputs.filter(|_| scope.region().is_on());
        let decision = match inputs {
            Some(to) => CastRule::To(to).decide(&call, to)?,
            None => Decision::default(),
        };
        let operands = scope.array(&call, decision, operands)?;
        let region = scope.region();
        let region = if inputs.is_some() { region.off() } else { region.clone() };
        let _ambient = region.enter_for::<D>();
        Ok((forward(&scope.within(region.clone()), operands), Backward(region)))
    }
}

impl Backward {
    /// Runs `backward` in the forward's region, opened on `device`.
    pub fn run<D: Autocast + 'static, R>(
        &self,
        device: &D,
        backward: impl FnOnce(&Scope<'_, D>) -> R,
    ) -> R {
        let _ambient = self.0.enter_for::<D>();
        backward(&self.0.open(device))
    }

    /// Returns the region.
    pub const fn region(&self) -> &Region {
        &self.0
    }
}
