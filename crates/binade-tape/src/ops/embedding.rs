//! Rows of a table by index.

use super::{Outcome, Saves, linear_map::map};
use crate::{Device, Var};
use binade_core::Op;
use binade_core::ops::Embedding;

impl<D: Device + Embedding> Var<D> {
    /// Returns the rows of this table [V, D] that i64 `indices` name: see [`Embedding`].
    ///
    /// # Errors
    ///
    /// If the region's policy refuses, the operands do not fit, or the device fails.
    pub fn embedding(&self, indices: &D::Tensor) -> Outcome<D> {
        let indices = self.tape().constant(indices.clone());
        let [table, indices] = self.operands(Op::EMBEDDING, [self, &indices])?;
        let output = self.tape().device().embedding(&table.tensor, &indices.tensor)?;
        // A table that the device took has rows.
        let rows = self.shape()[0];
        let [of, back] = [indices.tensor.clone(), indices.tensor.clone()];
        let look_up = map(move |device: &D, x: &D::Tensor| device.embedding(x, &of));
        let back = move |device: &D, x: &D::Tensor| device.embedding_backward(x, &back, rows);
        let (inputs, maps) = ([&table, &indices], [look_up, map(back)]);
        Ok(self.push_linear(Op::EMBEDDING, &inputs, &Saves::Inputs(&inputs[1..]), output, maps))
    }
}
