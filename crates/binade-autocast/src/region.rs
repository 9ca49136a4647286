//! The whole state of autocast, as one value.

use binade_cast_policy::{CastPolicy, Decision, OpCall, OpTable, Refusal};
use binade_core::{DType, ErrorKind};
use std::sync::Arc;

/// Whether to cast, to what, and by which policy: one value, passed or captured whole.
///
/// Cloning it costs a reference count. It knows no device, so that two devices may have two regions at once.
///
/// * A region that is off casts nothing, bans nothing and refuses nothing.
/// * A decision allocates nothing.
#[derive(Clone, Debug)]
pub struct Region {
    enabled: bool,
    dtype: DType,
    policy: Arc<dyn CastPolicy>,
}

/// A region was asked for in a type that a region cannot have.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a region cannot compute in {dtype}: {why}")]
pub struct RegionError {
    /// The type asked for.
    pub dtype: DType,
    why: &'static str,
}

impl binade_core::Error for RegionError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::InvalidArgument
    }
}

impl Region {
    /// A region in `dtype` by `policy`.
    ///
    /// `f32` is a region that lowers nothing: the same program at full precision.
    ///
    /// # Errors
    ///
    /// Where `dtype` is not `bf16`, `f16` or `f32`.
    pub fn new(dtype: DType, policy: impl CastPolicy + 'static) -> Result<Self, RegionError> {
        Ok(Self::on(check(dtype)?, Arc::new(policy)))
    }

    /// A region in bf16 by torch's CUDA lists.
    pub fn bf16() -> Self {
        Self::on(DType::BF16, Arc::new(OpTable::torch_cuda()))
    }

    /// A region in f16 by torch's CUDA lists.
    pub fn f16() -> Self {
        Self::on(DType::F16, Arc::new(OpTable::torch_cuda()))
    }

    fn on(dtype: DType, policy: Arc<dyn CastPolicy>) -> Self {
        Self { enabled: true, dtype, policy }
    }

    /// The same by another policy.
    #[must_use]
    pub fn with_policy(&self, policy: impl CastPolicy + 'static) -> Self {
        Self { policy: Arc::new(policy), ..self.clone() }
    }

    /// The same, on, in another type.
    ///
    /// # Errors
    ///
    /// Where `dtype` is not `bf16`, `f16` or `f32`.
    pub fn with_dtype(&self, dtype: DType) -> Result<Self, RegionError> {
        Ok(Self::on(check(dtype)?, self.policy.clone()))
    }

    /// The same, off: every operation runs in the types it is given.
    #[must_use]
    pub fn off(&self) -> Self {
        Self { enabled: false, ..self.clone() }
    }

    /// Whether it casts at all.
    pub const fn is_on(&self) -> bool {
        self.enabled
    }

    /// What `Lower` means here.
    pub const fn dtype(&self) -> DType {
        self.dtype
    }

    /// Who decides.
    pub fn policy(&self) -> &Arc<dyn CastPolicy> {
        &self.policy
    }

    /// What to cast `call`'s operands to. Allocates nothing unless it refuses.
    ///
    /// # Errors
    ///
    /// Where the policy bans the operation, does not know it and is strict, or cannot promote its operands.
    pub fn decide(&self, call: &OpCall<'_>) -> Result<Decision, Refusal> {
        if self.enabled {
            self.policy.rule(call).decide(call, self.dtype)
        } else {
            Ok(Decision::default())
        }
    }
}

fn check(dtype: DType) -> Result<DType, RegionError> {
    let why = match dtype {
        DType::BF16 | DType::F16 | DType::F32 => return Ok(dtype),
        DType::E4M3 | DType::E5M2 => {
            "8-bit values need a scale of their own, which a region does not carry"
        }
        DType::F64 => "f64 is never cast; use bf16, f16 or f32",
        _ => "it is no floating-point type; use bf16, f16 or f32",
    };
    Err(RegionError { dtype, why })
}
