//! Region: the whole state of autocast, as one value.

use binade_cast_policy::{CastPolicy, Decision, OpCall, OpTable, PolicyError};
use binade_core::DType;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Region of autocast: on or off, a type, and a policy, as one value that is passed or captured whole.
///
/// Cloning it costs a reference count. It belongs to no device, so that two devices may have two regions at once.
///
/// * A region that is off casts nothing, bans nothing and refuses nothing.
/// * A decision allocates nothing.
///
/// # Examples
///
/// ```
/// use binade_autocast::Region;
/// use binade_cast_policy::OpCall;
/// use binade_core::{DType, Op};
///
/// let region = Region::f16();
/// let call = OpCall::new(Op::MATMUL, &[DType::F32, DType::F32]);
/// assert_eq!(region.decide(&call)?.operands, Some(DType::F16));
/// assert_eq!(region.off().decide(&call)?.operands, None);
/// # Ok::<(), binade_cast_policy::PolicyError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Region {
    /// True if the region is on.
    pub enabled: bool,
    dtype: DType,
    policy: Arc<dyn CastPolicy>,
    /// Flag set once an operation has asked this region, or one that it shares the flag with.
    asked: Arc<AtomicBool>,
}

impl Region {
    /// Creates a region in `dtype` with `policy`.
    ///
    /// A region in `f32` lowers nothing: the same program runs at full precision.
    ///
    /// # Errors
    ///
    /// If `dtype` is not `bf16`, `f16` or `f32`, or the policy says what can never apply.
    pub fn new(dtype: DType, policy: impl CastPolicy + 'static) -> Result<Self, PolicyError> {
        policy.check()?;
        Ok(Self::on(check(dtype)?, Arc::new(policy)))
    }

    /// Creates a region in bf16 with torch's CUDA lists.
    pub fn bf16() -> Self {
        Self::on(DType::BF16, Arc::new(OpTable::torch_cuda()))
    }

    /// Creates a region in f16 with torch's CUDA lists.
    pub fn f16() -> Self {
        Self::on(DType::F16, Arc::new(OpTable::torch_cuda()))
    }

    fn on(dtype: DType, policy: Arc<dyn CastPolicy>) -> Self {
        Self { enabled: true, dtype, policy, asked: Arc::default() }
    }

    /// Returns the region with another policy.
    ///
    /// # Errors
    ///
    /// If the policy says what can never apply: see [`CastPolicy::check`].
    pub fn with_policy(&self, policy: impl CastPolicy + 'static) -> Result<Self, PolicyError> {
        policy.check()?;
        Ok(Self { policy: Arc::new(policy), ..self.clone() })
    }

    /// Returns the region off: every operation runs in the types it is given.
    #[must_use]
    pub fn off(&self) -> Self {
        Self { enabled: false, ..self.clone() }
    }

    /// Returns true if the region is on and no operation has asked it yet, nor a region that was made of it or that it was made
    /// of. A framework's own layers ask no region, and compute in the types that they are given.
    pub fn is_idle(&self) -> bool {
        self.enabled && !self.asked.load(Ordering::Relaxed)
    }

    /// Returns the type that `Lower` casts to.
    pub const fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns the policy.
    pub fn policy(&self) -> &Arc<dyn CastPolicy> {
        &self.policy
    }

    /// Returns the decision for `call`'s operands. Allocates nothing unless it refuses.
    ///
    /// # Errors
    ///
    /// If the policy bans the operation, does not know it and is strict, or cannot promote its operands.
    pub fn decide(&self, call: &OpCall<'_>) -> Result<Decision, PolicyError> {
        if self.enabled {
            self.asked.store(true, Ordering::Relaxed);
            self.policy.rule(call).decide(call, self.dtype)
        } else {
            Ok(Decision::default())
        }
    }
}

fn check(dtype: DType) -> Result<DType, PolicyError> {
    let why = match dtype {
        DType::BF16 | DType::F16 | DType::F32 => return Ok(dtype),
        DType::E4M3 | DType::E5M2 => {
            "8-bit values need a scale of their own, which a region does not carry"
        }
        DType::F64 => "f64 is never cast; use bf16, f16 or f32",
        _ => "it is no floating-point type; use bf16, f16 or f32",
    };
    Err(PolicyError::Region { dtype, why })
}
