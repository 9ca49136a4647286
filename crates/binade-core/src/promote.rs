//! Which type the operands of one operation meet in.

use crate::{DType, Error, ErrorKind};

/// The type that operands are cast to when they must agree; `None` if autocast may touch none of them.
///
/// * `f32` wins.
/// * `bf16` with `f16` is `f32`: neither holds the other's range and precision.
/// * An 8-bit float gives way to `bf16`, `f16` and `f32`, each of which holds it exactly.
/// * E4M3 with E5M2 is `f32`: both 16-bit types would hold the two, and which of them is fast depends on the device.
/// * `f64`, integers and booleans have no say, as in torch's autocast.
///
/// It depends on the set of types, not on their order or number. Don't fold it over pairs: E4M3, E5M2 and `bf16` are
/// `bf16` together, and `f32` two by two.
pub fn promote(operands: &[DType]) -> Option<DType> {
    let has = |dtype| operands.contains(&dtype);
    let meet = |a, b| match (has(a), has(b)) {
        (true, true) => Some(DType::F32),
        (true, false) => Some(a),
        (false, true) => Some(b),
        (false, false) => None,
    };
    if has(DType::F32) {
        return Some(DType::F32);
    }
    meet(DType::BF16, DType::F16).or_else(|| meet(DType::E4M3, DType::E5M2))
}

/// The type that a `promote` operation runs in inside torch's autocast.
///
/// Starts from the region's type; an `f32` operand makes it `f32`; `f64`, integers and booleans have no say. Any other
/// float is an error, whatever the order of operands. (`at::autocast::prioritize` in torch 2.15 lets it pass after an `f32`
/// operand and raises before one.)
///
/// # Errors
///
/// [`PromoteError::Region`] where the region's type is not castable, [`PromoteError::Operand`] for an operand that is
/// neither the region's type nor `f32`.
pub fn promote_like_torch(region: DType, operands: &[DType]) -> Result<DType, PromoteError> {
    if !region.is_castable() {
        return Err(PromoteError::Region { region });
    }
    let stranger = |dtype: &DType| dtype.is_castable() && ![region, DType::F32].contains(dtype);
    match operands.iter().copied().find(stranger) {
        Some(operand) => Err(PromoteError::Operand { region, operand }),
        None if operands.contains(&DType::F32) => Ok(DType::F32),
        None => Ok(region),
    }
}

/// Why torch's rule gives no type.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum PromoteError {
    /// The region's type is one that autocast never casts to.
    #[error(
        "a region cannot cast to {region}: choose bf16 or f16, or run the operation outside the region"
    )]
    Region {
        /// The region's type.
        region: DType,
    },
    /// An operand of a third type.
    #[error(
        "an {operand} operand in a {region} region: torch's rule promotes {region} and f32 only; cast the operand to \
         {region} or f32, or use a policy that promotes {operand} with {region}"
    )]
    Operand {
        /// The region's type.
        region: DType,
        /// The operand's.
        operand: DType,
    },
}

impl Error for PromoteError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Region { .. } => ErrorKind::InvalidArgument,
            Self::Operand { .. } => ErrorKind::Mismatch,
        }
    }
}
