//! Elements on the host, of any type.

use burn::tensor::{DType, TensorData, bf16, f16};

/// Returns the elements as `f32`; `f64` elements are rounded.
///
/// They are read from the bytes, which cannot fail: an element that cannot be read would go unchecked.
pub(crate) fn decoded(data: &TensorData) -> Vec<f32> {
    let bytes = data.as_bytes();
    match data.dtype() {
        DType::BF16 => of(bytes, |bits| bf16::from_ne_bytes(bits).to_f32()),
        DType::F16 => of(bytes, |bits| f16::from_ne_bytes(bits).to_f32()),
        DType::F64 => of(bytes, |bits| narrow(f64::from_ne_bytes(bits))),
        _ => of(bytes, f32::from_ne_bytes),
    }
}

/// Returns elements of type `dtype`, each rounded once, along one axis.
pub(crate) fn encoded(values: Vec<f32>, dtype: DType) -> TensorData {
    let shape = [values.len()];
    match dtype {
        DType::BF16 => TensorData::new(each(&values, bf16::from_f32), shape),
        DType::F16 => TensorData::new(each(&values, f16::from_f32), shape),
        DType::F64 => TensorData::new(each(&values, f64::from), shape),
        _ => TensorData::new(values, shape),
    }
}

fn of<const N: usize>(bytes: &[u8], value: impl Fn([u8; N]) -> f32) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|bits| value(*bits)).collect()
}

fn each<E>(values: &[f32], element: impl Fn(f32) -> E) -> Vec<E> {
    values.iter().map(|x| element(*x)).collect()
}

#[expect(clippy::cast_possible_truncation, reason = "rounds to f32 on purpose")]
fn narrow(x: f64) -> f32 {
    x as f32
}
