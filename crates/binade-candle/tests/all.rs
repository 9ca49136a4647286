//! Tests of the public interface, in one program so that the linker runs once.

mod batch_norm;
mod blocks;
mod checkpoint;
mod common;
#[path = "../../../tests/frameworks/mod.rs"]
mod frameworks;
mod images_and_rows;
mod kit;
mod ops;
mod parameters;
mod ranks;
mod sparse;
mod wrapped;

use candle_core::{DType, Device, Result as CandleResult, Tensor};

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Returns the elements of a tensor, in row-major order.
fn values(tensor: &Tensor) -> CandleResult<Vec<f32>> {
    tensor.to_dtype(DType::F32)?.flatten_all()?.to_vec1()
}

/// Returns multiples of 1/64 in [-1, 1), which every type holds. Neighbours differ.
fn drawn(shape: &[usize], seed: u8) -> CandleResult<Tensor> {
    let count: usize = shape.iter().product();
    let mixed = (0..251_u8).cycle().take(count).map(|i| f32::from(i ^ seed));
    let values = mixed.map(|i| i.mul_add(37.0, 11.0) % 128.0);
    Tensor::from_iter(values.map(|x| x / 64.0 - 1.0), &Device::Cpu)?.reshape(shape)
}
