//! Type that the operands of one operation are promoted to.

use crate::DType;

/// Returns the type that operands are cast to when they must agree; `None` if autocast may cast none of them.
///
/// * `f32` wins.
/// * `bf16` with `f16` is `f32`: neither holds the other's range and precision.
/// * An 8-bit float gives way to `bf16`, `f16` and `f32`, each of which holds it exactly.
/// * E4M3 with E5M2 is `f32`: both 16-bit types would hold the two, and which of them is fast depends on the device.
/// * `f64`, integers and booleans have no say, as in torch's autocast.
///
/// The result depends on the set of types, not on their order or number. Don't fold it over pairs: E4M3, E5M2 and `bf16` are
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
