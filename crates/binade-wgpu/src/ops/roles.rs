//! Operands that a normalisation takes whole, each with what it is to the shader.

use crate::{Error, Tensor, Wgpu, dispatch::Bound};

/// What an operand is to the shader, which says where the place of its first element goes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Role {
    A,
    B,
    Weight,
    Bias,
    /// What begins with its binding.
    Own,
}

/// Places of first elements in their bindings; 0 of what is not there.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Starts {
    /// Of A and B.
    pub(super) operands: [u32; 2],
    pub(super) weight: u32,
    pub(super) bias: u32,
}

impl Wgpu {
    /// All of each operand, in order, and where those begin that have a role.
    pub(super) fn whole_by_role(
        &self,
        operands: &[(&Tensor, Role)],
    ) -> Result<(Vec<Bound>, Starts), Error> {
        let mut bound = Vec::with_capacity(operands.len());
        let mut starts = Starts::default();
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
