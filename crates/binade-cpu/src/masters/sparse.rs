//! Rows of a parameter that a sparse gradient updates: they are copied out, stepped as a separate parameter, and written back.

use super::fused::Move;
use crate::{Error, Stored, Tensor, gradients::rows_of};
use binade_core::{DType, Element};
use binade_master_weights::{HostParamState, StepConstants, scattered};
use half::{bf16, f16};

/// Rows of one parameter, with their gradients and their state.
pub(super) struct StepRows {
    rows: Vec<usize>,
    /// Elements of a row.
    width: usize,
    grad: Tensor,
    param: Tensor,
    slot: HostParamState,
}

impl StepRows {
    /// Copies the rows out of a parameter and its state. `rows` has the place of each among the rows of `grad`.
    pub(super) fn of(
        grad: &Tensor,
        rows: Vec<(usize, usize)>,
        param: &Tensor,
        slot: &HostParamState,
    ) -> Result<Self, Error> {
        let width = param.shape()[1..].iter().product();
        let (places, rows): (Vec<usize>, Vec<usize>) = rows.into_iter().unzip();
        let has_all = places.iter().copied().eq(0..grad.shape()[0]);
        Ok(Self {
            grad: if has_all { grad.clone() } else { rows_of(grad, &places)? },
            param: rows_of(param, &rows)?,
            slot: slot.gather(&rows, width),
            rows,
            width,
        })
    }

    /// Returns the step of the rows.
    pub(super) fn step(&mut self, constants: StepConstants) -> Move<'_> {
        Move { constants, grad: &self.grad, param: &mut self.param, slot: &mut self.slot }
    }

    /// Puts the rows back.
    pub(super) fn finish(self, param: &mut Tensor, slot: &mut HostParamState) {
        let Self { rows, width, param: stepped, slot: state, .. } = self;
        match param.dtype() {
            DType::BF16 => put::<bf16>(param, &stepped, &rows, width),
            DType::F16 => put::<f16>(param, &stepped, &rows, width),
            _ => put::<f32>(param, &stepped, &rows, width),
        }
        slot.scatter(state, &rows, width);
    }
}

fn put<E: Element + Stored>(to: &mut Tensor, from: &Tensor, rows: &[usize], width: usize) {
    let (to, from) = (to.as_mut_slice::<E>(), from.as_slice::<E>());
    if let (Some(to), Some(from)) = (to, from) {
        scattered(to, from, rows, width);
    }
}
