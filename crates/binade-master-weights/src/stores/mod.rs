//! Stores: ways to keep the `f32` value of a low-precision parameter between steps.
//!
//! A store is a pair of functions: one returns the `f32` value that a step starts from, the other stores the step's result. The step between is the
//! same for all, and every backend repeats these bit for bit.
//!
//! | [`MasterStore`] | bytes beside the parameter | keeps | the parameter is |
//! |---|---|---|---|
//! | `Copy` | 4 | all 24 bits | its master, to nearest even |
//! | `NoMaster` | 0 | what the parameter holds | the step's result, to nearest even |
//! | `Remainder` | 2 | all 24 bits | its master's upper half, ties away from zero |
//! | `Stochastic` | 0 | what the parameter holds, and the rest on average | the step's result, up or down at random |
//! | `Kahan` | 2 | 17 bits for bf16, 23 for f16 | its master, to nearest even |
//! | `ScaledF16` | 2, and 4 a tensor | 11 bits | its master, to nearest even |

pub(crate) mod kahan;
pub mod remainder;
pub mod scaled;
pub mod stochastic;

use binade_core::{DType, Element};
use half::bf16;
use std::borrow::Cow;

/// Store of the `f32` values of low-precision parameters between steps.
///
/// Moments are the same whatever the store, a parameter that is `f32` already is its own master under each, and a step
/// computes in `f32`.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum MasterStore {
    /// In a separate `f32` copy: 4 bytes a parameter.
    #[default]
    Copy,
    /// Nowhere: each step widens the parameter and rounds it back, and an update smaller than half a unit in its last
    /// place is lost. Apex's O3; a baseline for speed, not for training.
    NoMaster,
    /// In the parameter and the sixteen bits that `bf16` cuts off: 2 more bytes a parameter, and no bit is lost. See [`remainder`]. This works only
    /// for `bf16` parameters: an `f16` is not the upper half of an `f32`.
    Remainder,
    /// Nowhere: each step widens the parameter and rounds it up or down by chance, so that small updates add up on
    /// average. See [`stochastic`].
    Stochastic {
        /// Seed of the run: the same seed gives the same run.
        seed: u64,
    },
    /// In a compensation of the parameter's type, which holds the part that rounding cut off: 2 bytes a parameter, and 17 bits of the master beside
    /// bf16, 23 beside f16.
    Kahan,
    /// In an `f16` copy with one exponent per tensor: 2 bytes a parameter, and lossy. See [`scaled`].
    ScaledF16,
}

impl MasterStore {
    /// Returns the bytes kept in addition to one element stored as `stored`, without the exponent per tensor.
    pub(crate) fn bytes_beside(self, stored: DType) -> usize {
        match self {
            _ if stored == DType::F32 => 0,
            Self::NoMaster | Self::Stochastic { .. } => 0,
            Self::Remainder | Self::Kahan | Self::ScaledF16 => 2,
            Self::Copy => 4,
        }
    }

    /// Returns true if it can keep masters of parameters that are stored as `stored`.
    pub fn takes(self, stored: DType) -> bool {
        match self {
            Self::Remainder => matches!(stored, DType::BF16 | DType::F32),
            _ => crate::config::is_trainable(stored),
        }
    }

    /// Returns values whose rounding to `stored`, to nearest even, gives the first parameters of this store. For every store except
    /// [`Remainder`](Self::Remainder) they are `values` themselves.
    pub fn before_lowering(self, values: &[f32], stored: DType) -> Cow<'_, [f32]> {
        if self != Self::Remainder || stored != DType::BF16 {
            return Cow::Borrowed(values);
        }
        let copy = |x: &f32| <bf16 as Element>::from_code(remainder::split(*x).0.into()).to_f32();
        Cow::Owned(values.iter().map(copy).collect())
    }
}
