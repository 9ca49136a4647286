//! Parameters that join a running optimizer.

use crate::{MasterWeights, Plan};

/// A device whose optimizers take in parameters in the middle of a run: a layer that is added, one that thaws.
///
/// # For implementers
///
/// * Parameters that join begin as those of [`masters`](MasterWeights::masters) do: masters of their values, then stored as
///   the plan says, moments zero, no step applied. They stand behind the others, and are numbered on.
/// * Nothing that is kept for the others changes but their rule, which is the plan's.
/// * A join that is refused has changed nothing.
pub trait Join: MasterWeights {
    /// Puts `more` behind `params`, all to be moved by `plan` from the next step on.
    ///
    /// # Errors
    ///
    /// When the device fails, a name of `more` is in `params` or comes twice, or
    /// [`set_plan`](MasterWeights::set_plan) would refuse `plan`.
    fn join(
        &self,
        params: &mut Self::Params,
        masters: &mut Self::Masters,
        more: Self::Params,
        plan: &Plan,
    ) -> Result<(), Self::Error>;
}
