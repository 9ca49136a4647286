//! Keras 3's dtype policies by name: `DTypePolicy._parse_name` in `keras/src/dtype_policies/dtype_policy.py`.

use super::DTypePolicy;
use binade_core::DType;

/// Policies by name: the mixed ones, and floating-point types, which stand for themselves.
pub(super) const POLICIES: [(&str, DTypePolicy); 6] = [
    ("mixed_bfloat16", DTypePolicy::mixed(DType::BF16)),
    ("mixed_float16", DTypePolicy::mixed(DType::F16)),
    ("bfloat16", DTypePolicy::uniform(DType::BF16)),
    ("float16", DTypePolicy::uniform(DType::F16)),
    ("float32", DTypePolicy::uniform(DType::F32)),
    ("float64", DTypePolicy::uniform(DType::F64)),
];
