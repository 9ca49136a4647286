//! Reordering of axes.

use super::{Outcome, linear_map::map};
use crate::{Device, Var};
use binade_core::ops::Permute;
use binade_core::{Op, OpClass};

const PERMUTE: Op = Op::custom("permute", OpClass::Shape);

impl<D: Device + Permute> Var<D> {
    /// Returns `self` with its axes in another order: see [`Permute`]. No policy applies, since nothing is computed.
    ///
    /// # Errors
    ///
    /// If `axes` do not name each axis once, or the device fails.
    pub fn permute(&self, axes: &[usize]) -> Outcome<D> {
        // Axes that are none are refused by the device.
        let place = |axis| axes.iter().position(|from| *from == axis).unwrap_or_default();
        let back = (0..axes.len()).map(place).collect();
        let by = |axes: Vec<usize>| map(move |device: &D, x: &D::Tensor| device.permute(x, &axes));
        self.linear_map(PERMUTE, [by(axes.to_vec()), by(back)])
    }
}
