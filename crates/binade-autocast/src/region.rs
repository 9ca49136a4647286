//! The whole state of autocast, as one value.

use binade_cast_policy::{CastPolicy, Decision, Inapplicable, OpCall, OpTable, Refusal};
use binade_core::{DType, ErrorKind};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

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
    /// Set once an operation has asked it, or a region that it shares this with.
    asked: Arc<AtomicBool>,
}

/// Why there can be no such region.
#[non_exhaustive]
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum RegionError {
    /// It was asked for in a type that a region cannot have.
    #[error("a region cannot compute in {dtype}: {why}")]
    DType {
        /// The type asked for.
        dtype: DType,
        /// Why not, and which to take.
        why: &'static str,
    },
    /// Its policy says what can never apply.
    #[error(transparent)]
    Policy(#[from] Inapplicable),
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
    /// Where `dtype` is not `bf16`, `f16` or `f32`, or the policy says what can never apply.
    pub fn new(dtype: DType, policy: impl CastPolicy + 'static) -> Result<Self, RegionError> {
        policy.check()?;
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
        Self { enabled: true, dtype, policy, asked: Arc::default() }
    }

    /// The same by another policy.
    ///
    /// # Errors
    ///
    /// Where the policy says what can never apply: see [`CastPolicy::check`].
    pub fn with_policy(&self, policy: impl CastPolicy + 'static) -> Result<Self, RegionError> {
        policy.check()?;
        Ok(Self { policy: Arc::new(policy), ..self.clone() })
    }

    /// The same, on, in another type.
    ///
    /// # Errors
    ///
    /// Where `dtype` is not `bf16`, `f16` or `f32`.
    pub fn with_dtype(&self, dtype: DType) -> Result<Self, RegionError> {
        Ok(Self { enabled: true, dtype: check(dtype)?, ..self.clone() })
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

    /// Says that it is on and that no operation has asked it yet, nor a region that was made of it or that it was made of. A
    /// framework's own layers ask no region, and compute in the types that they are given.
    pub fn is_idle(&self) -> bool {
        self.enabled && !self.asked.load(Ordering::Relaxed)
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
            self.asked.store(true, Ordering::Relaxed);
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
    Err(RegionError::DType { dtype, why })
}
