//! Operands that a normalisation binds whole, each with its role in the shader.

use crate::{Result, Tensor, Wgpu, dispatch::Bound};

/// Role of an operand in the shader, which decides the parameter for the place of its first element.
#[derive(Clone, Copy, Debug)]
pub(super) enum Role {
    A,
    B,
    Weight,
    Bias,
    /// Operand that begins with its binding.
    Own,
}

/// Places of first elements in their bindings; 0 for a missing operand.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OperandOffsets {
    /// Places of A and B.
    pub(super) operands: [u32; 2],
    pub(super) weight: u32,
    pub(super) bias: u32,
}

impl Wgpu {
    /// Binds all of each operand, in order. Also returns the first places of those that have a role.
    pub(super) fn whole_by_role(
        &self,
        operands: &[(&Tensor, Role)],
    ) -> Result<(Vec<Bound>, OperandOffsets)> {
        let mut bound = Vec::with_capacity(operands.len());
        let mut starts = OperandOffsets::default();
        for (operand, role) in operands {
            let (piece, start) = self.whole(operand)?;
            bound.push(piece);
            match role {
                Role::A => starts.operands[0] = start,
                Role::B => starts.operands[1] = start,
                Role::Weight => starts.weight = start,
                Role::Bias => starts.bias = start,
                Role::Own => {}
            }
        }
        Ok((bound, starts))
    }
}
