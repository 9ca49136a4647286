//! Ranks that share their verdicts: how what each has found becomes what all have found.

use binade_core::{FoundInf, MergeRule, OrderError};

/// Which finding the hook of [`Scaler::with_reducer`](crate::Scaler::with_reducer) is called with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Pass {
    /// A pass over gradients: each rank has found something of its own.
    Gradients,
    /// A norm that clipping has measured. What was found before it is in the verdict, and alike on all ranks already.
    Norm,
}

/// Puts in place of `own` what all `ranks` found together; `own` is among them, and they are in the same order on each rank.
///
/// A rank skips where any does, and names the overflow of the first rank that has one. The magnitude is the largest, so that
/// [`LogMax`](crate::LogMax) learns the same everywhere. Counts of a pass over gradients add up. Missing gradients stay
/// `own`'s. A norm that is not finite on one rank is that of all.
///
/// # Errors
///
/// [`OrderError::RankNorms`] where clipping measured finite norms that differ. Groups' norms are in no finding, and are not
/// compared.
pub fn join_ranks(own: &mut FoundInf, pass: Pass, ranks: &[FoundInf]) -> Result<(), OrderError> {
    let norm = joint_norm(ranks)?;
    let mut ranks = ranks.iter();
    let mut joint = ranks.next().unwrap_or(own).clone();
    ranks.for_each(|rank| joint.merge(rank, MergeRule::Any));
    if pass == Pass::Norm {
        // Joined before, and so the same on each rank.
        (joint.infinities, joint.nans) = (own.infinities, own.nans);
    }
    *own = FoundInf { norm, missing: std::mem::take(&mut own.missing), ..joint };
    Ok(())
}

/// The one norm of all ranks that have measured one, or the first that is not finite.
fn joint_norm(ranks: &[FoundInf]) -> Result<Option<f32>, OrderError> {
    let norms = || ranks.iter().map(|found| found.norm).enumerate();
    let norms = || norms().filter_map(|(rank, norm)| Some((rank, norm?)));
    if let Some((_, norm)) = norms().find(|(_, norm)| !norm.is_finite()) {
        return Ok(Some(norm));
    }
    let Some((_, other)) = norms().next() else { return Ok(None) };
    match norms().find(|(_, norm)| norm.to_bits() != other.to_bits()) {
        Some((rank, norm)) => Err(OrderError::RankNorms { rank, norm, other }),
        None => Ok(Some(other)),
    }
}
