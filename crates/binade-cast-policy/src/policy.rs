//! Trait of cast policies.

use crate::{CastRule, Explanation, OpCall, PolicyError};
use binade_core::DType;
use std::{borrow::Cow, fmt::Debug, sync::Arc};

/// Policy that chooses the precision an operation computes in.
///
/// # For implementers
///
/// * `rule` is pure: asked twice, it answers the same.
/// * `rule` does not allocate, since it is asked before every operation.
/// * It sees types, names and sizes only; the region and its cache do the rest. `f64`, integers and booleans are left alone
///   whatever it answers.
///
/// # Examples
///
/// ```
/// use binade_cast_policy::{CastPolicy, CastRule, OpCall};
/// use binade_core::{DType, Op, OpClass};
///
/// /// Products low, everything else as it comes.
/// #[derive(Debug)]
/// struct ProductsOnly;
///
/// impl CastPolicy for ProductsOnly {
///     fn rule(&self, call: &OpCall<'_>) -> CastRule {
///         match call.op.class() {
///             OpClass::MatMul | OpClass::Conv => CastRule::Lower,
///             _ => CastRule::Untouched,
///         }
///     }
/// }
///
/// let call = OpCall::new(Op::BMM, &[DType::F32, DType::F32]);
/// assert_eq!(ProductsOnly.rule(&call), CastRule::Lower);
/// ```
pub trait CastPolicy: Debug + Send + Sync {
    /// Returns the rule for `call`'s castable operands. It is pure: asked twice, it answers the same.
    fn rule(&self, call: &OpCall<'_>) -> CastRule;

    /// Returns the reason of the rule: a clause that names the list or the override.
    fn reason(&self, call: &OpCall<'_>) -> Cow<'static, str> {
        let _ = call;
        Cow::Borrowed("the policy says so and gives no reason")
    }

    /// Refuses overrides that can never apply, such as one by a number that its operation does not have. A region calls this when
    /// it is made. By default nothing is refused.
    ///
    /// # Errors
    ///
    /// The first such override.
    fn check(&self) -> Result<(), PolicyError> {
        Ok(())
    }

    /// Returns the rule for `call`, its reason, and the casts it causes in a region of type `region`.
    fn explain(&self, call: &OpCall<'_>, region: DType) -> Explanation {
        Explanation::new(self.rule(call), self.reason(call), call, region)
    }
}

macro_rules! forward {
    ($($pointer:ty),*) => {
        $(impl<P: CastPolicy + ?Sized> CastPolicy for $pointer {
            fn rule(&self, call: &OpCall<'_>) -> CastRule {
                (**self).rule(call)
            }

            fn reason(&self, call: &OpCall<'_>) -> Cow<'static, str> {
                (**self).reason(call)
            }

            fn check(&self) -> Result<(), PolicyError> {
                (**self).check()
            }

            fn explain(&self, call: &OpCall<'_>, region: DType) -> Explanation {
                (**self).explain(call, region)
            }
        })*
    };
}

forward!(&mut P, Box<P>, Arc<P>);

// The compiler checks here that the trait is object safe.
const _: Option<&dyn CastPolicy> = None;
