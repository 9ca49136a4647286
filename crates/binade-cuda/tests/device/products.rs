//! Exact products, and the bounds that the kit sets for kernels.

#![expect(
    clippy::many_single_char_names,
    reason = "matrices and extents go by the letters the field gives them"
)]

use crate::support::cuda;
use binade_core::DType;
use binade_core::ops::{Download, Upload};
use binade_cpu::Cpu;
use binade_cuda::{Tensor, cudarc::driver::sys::CUdevice_attribute as Attribute};

/// Returns the types that this GPU multiplies.
pub(crate) fn types() -> Vec<DType> {
    let old = [DType::F16, DType::F32];
    if is_old() { old.into() } else { vec![DType::BF16, DType::F16, DType::F32] }
}

pub(crate) fn is_old() -> bool {
    let major = Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;
    cuda().stream().context().attribute(major).unwrap() < 8
}

/// Returns these values rounded to a type.
pub(crate) fn stored(values: &[f32], dtype: DType) -> Vec<f32> {
    let tensor = Cpu.upload(values, &[values.len()], dtype).unwrap();
    Cpu.download(&tensor).unwrap()
}

/// Matrix by its elements.
pub(crate) struct Matrix<'a> {
    values: &'a [f32],
    columns: usize,
    transposed: bool,
}

impl Matrix<'_> {
    pub(crate) fn at(&self, row: usize, column: usize) -> f64 {
        let (row, column) = if self.transposed { (column, row) } else { (row, column) };
        self.values[row * self.columns + column].into()
    }
}

pub(crate) fn matrix(values: &[f32], columns: usize) -> Matrix<'_> {
    Matrix { values, columns, transposed: false }
}

pub(crate) fn turned(values: &[f32], columns: usize) -> Matrix<'_> {
    Matrix { transposed: true, ..matrix(values, columns) }
}

/// Returns half of the last place of a type's values of this magnitude, or of its least.
fn rounding(value: f64, dtype: DType) -> f64 {
    let (bits, least) = match dtype {
        DType::BF16 => (8, -133),
        DType::F16 => (11, -24),
        _ => (24, -149),
    };
    (value.abs() * 2.0_f64.powi(-bits)).max(2.0_f64.powi(least))
}

/// Asserts that every element is within c·n·2^-24·Σ|a||b| of the exact sum, with c of 1, or 4 for Tensor Cores, and one rounding
/// to the type.
pub(crate) fn assert_within(
    got: &[f32],
    a: &Matrix<'_>,
    b: &Matrix<'_>,
    bias: Option<&[f32]>,
    [m, n, k]: [usize; 3],
    (dtype, what): (DType, &str),
) {
    assert_eq!(got.len(), m * n, "{what}");
    let c = if dtype == DType::F32 { 1.0 } else { 4.0 };
    // All elements of a small product are checked; of a large one some of every row and column.
    let stride = if got.len() > 10_000 { 101 } else { 1 };
    for (index, got) in got.iter().enumerate().step_by(stride) {
        let (row, column) = (index / n, index % n);
        let bias = bias.map_or(0.0, |bias| f64::from(bias[column]));
        let (mut sum, mut size) = (bias, bias.abs());
        for k in 0..k {
            let product = a.at(row, k) * b.at(k, column);
            (sum, size) = (sum + product, size + product.abs());
        }
        let terms = f64::from(u32::try_from(k + 1).unwrap());
        let inside = c * terms * 2.0_f64.powi(-24) * size;
        let bound = inside + rounding(sum.abs() + inside, dtype);
        let off = (f64::from(*got) - sum).abs();
        assert!(
            off <= bound,
            "{what} {dtype}: {got} for {sum} at {row}, {column}: {off} > {bound}"
        );
    }
}

pub(crate) fn upload(values: &[f32], shape: &[usize], dtype: DType) -> Tensor {
    cuda().upload(values, shape, dtype).unwrap()
}
