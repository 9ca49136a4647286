//! Parameters of operations with a shape of their own: sums, channels, rows, tables, products, windows.

use bytemuck::{Pod, Zeroable};

/// Parameters of `total.wgsl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Total {
    pub(crate) len: u32,
    pub(crate) dtype: u32,
    pub(crate) starts: [u32; 2],
    pub(crate) at: u32,
    pub(crate) divisor: f32,
}

/// Parameters of `bias_add.wgsl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Channels {
    pub(crate) len: u32,
    pub(crate) dtype: u32,
    pub(crate) starts: [u32; 2],
    pub(crate) count: u32,
    pub(crate) inner: u32,
    pub(crate) first: u32,
    pub(crate) samples: u32,
    pub(crate) to: u32,
}

/// Parameters of `rows.wgsl`.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Rows {
    pub(crate) len: u32,
    pub(crate) dtype: u32,
    pub(crate) starts: [u32; 2],
    pub(crate) first: u32,
    pub(crate) count: u32,
    pub(crate) width: u32,
    pub(crate) team: u32,
    pub(crate) at: u32,
    pub(crate) labels_start: u32,
    pub(crate) grad_start: u32,
    pub(crate) divisor: f32,
    pub(crate) weight_start: u32,
    pub(crate) bias_start: u32,
    pub(crate) parameter_dtype: u32,
    pub(crate) eps: f32,
}

/// Parameters of `batch_norm.wgsl`.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct BatchNorm {
    pub(crate) len: u32,
    pub(crate) dtype: u32,
    pub(crate) starts: [u32; 2],
    pub(crate) channels: u32,
    pub(crate) inner: u32,
    pub(crate) samples: u32,
    pub(crate) team: u32,
    pub(crate) weight_start: u32,
    pub(crate) bias_start: u32,
    pub(crate) parameter_dtype: u32,
    pub(crate) eps: f32,
    pub(crate) number: u32,
    pub(crate) factor: f32,
    pub(crate) momentum: f32,
    pub(crate) kept: f32,
}

/// Parameters of `embedding.wgsl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Embedding {
    pub(crate) len: u32,
    pub(crate) dtype: u32,
    pub(crate) starts: [u32; 2],
    pub(crate) first: u32,
    pub(crate) rows: u32,
    pub(crate) width: u32,
    pub(crate) count: u32,
    pub(crate) indices_start: u32,
}

/// Parameters of `dropout.wgsl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Dropout {
    pub(crate) len: u32,
    pub(crate) dtype: u32,
    pub(crate) starts: [u32; 2],
    pub(crate) first: u32,
    pub(crate) key_start: u32,
    pub(crate) threshold: u32,
    pub(crate) factor: f32,
}

/// Parameters of `matmul.wgsl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Product {
    pub(crate) dtype: u32,
    pub(crate) to: u32,
    pub(crate) m: u32,
    pub(crate) n: u32,
    pub(crate) k: u32,
    pub(crate) batch: u32,
    pub(crate) a: Strides,
    pub(crate) b: Strides,
    pub(crate) c_row: u32,
    pub(crate) c_step: u32,
    pub(crate) bias: u32,
    pub(crate) bias_start: u32,
}

/// Strides of an operand of `matmul.wgsl`: elements before the first, and to the next row, column and matrix.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Strides {
    pub(crate) start: u32,
    pub(crate) row: u32,
    pub(crate) column: u32,
    pub(crate) step: u32,
}

/// Parameters of `conv2d.wgsl`; extents are rows and columns.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Convolution {
    pub(crate) len: u32,
    pub(crate) dtype: u32,
    pub(crate) starts: [u32; 2],
    pub(crate) to: u32,
    pub(crate) images: u32,
    pub(crate) channels: u32,
    pub(crate) image: [u32; 2],
    pub(crate) kernel: [u32; 2],
    pub(crate) output: [u32; 2],
    pub(crate) stride: [u32; 2],
    pub(crate) padding: [u32; 2],
}

/// Parameters of `max_pool2d.wgsl`; extents are rows and columns.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Pool {
    pub(crate) len: u32,
    pub(crate) dtype: u32,
    pub(crate) starts: [u32; 2],
    pub(crate) image: [u32; 2],
    pub(crate) output: [u32; 2],
    pub(crate) kernel: [u32; 2],
    pub(crate) stride: [u32; 2],
    pub(crate) padding: [u32; 2],
}
