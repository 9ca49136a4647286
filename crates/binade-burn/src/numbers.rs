//! Elements on the host, whatever their type.

use binade_core::Element;
use burn::tensor::{DType, Element as BurnElement, TensorData, bf16, f16};

/// `data` with each element `x` at index `i` replaced by `f(i, x)`, which sees `f32` and is rounded once.
pub(crate) fn mapped(data: TensorData, f: &mut dyn FnMut(usize, f32) -> f32) -> TensorData {
    match data.dtype() {
        DType::BF16 => each::<bf16>(data, f),
        DType::F16 => each::<f16>(data, f),
        DType::F64 => each_f64(data, f),
        _ => each::<f32>(data, f),
    }
}

fn each<E: Element + BurnElement>(
    mut data: TensorData,
    f: &mut dyn FnMut(usize, f32) -> f32,
) -> TensorData {
    // The type was asked for just now, so that the slice is there.
    for (index, x) in data.as_mut_slice::<E>().into_iter().flatten().enumerate() {
        *x = E::from_f32(f(index, x.to_f32()));
    }
    data
}

#[expect(clippy::cast_possible_truncation, reason = "the function takes f32")]
fn each_f64(mut data: TensorData, f: &mut dyn FnMut(usize, f32) -> f32) -> TensorData {
    for (index, x) in data.as_mut_slice::<f64>().into_iter().flatten().enumerate() {
        *x = f64::from(f(index, *x as f32));
    }
    data
}
