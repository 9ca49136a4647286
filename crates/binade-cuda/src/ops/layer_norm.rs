//! Normalisation over the last axis.

use super::rows::{Rows, blocks};
use crate::{
    Cuda, Error, Tensor,
    autocast::code,
    kernels::{Kernel, THREADS},
    launch::{
        Arg,
        Param::{Address, F32, U32, U64},
    },
    memory::Buffer,
};
use binade_core::Op;
use binade_gpu::Driver;
use binade_ops::{LayerNorm, NormGrads, operands, shape};

pub(super) const KERNELS: &[&Kernel] =
    &[&LAYER_NORM, &LAYER_NORM_BACKWARD, &LAYER_NORM_BACKWARD_JOIN, &LAYER_NORM_BACKWARD_SUMS];

const LAYER_NORM: Kernel = Kernel {
    name: "layer_norm",
    module: "layer_norm",
    params: &[Address, U32, Address, Address, U32, Address, U64, U64, F32],
};
const LAYER_NORM_BACKWARD: Kernel = Kernel {
    name: "layer_norm_backward",
    module: "layer_norm",
    params: &[Address, Address, U32, Address, U32, Address, Address, U64, U64, F32],
};
const LAYER_NORM_BACKWARD_SUMS: Kernel = Kernel {
    name: "layer_norm_backward_sums",
    module: "layer_norm",
    params: &[Address, Address, U32, Address, Address, U64, U64, U64, U64],
};
const LAYER_NORM_BACKWARD_JOIN: Kernel = Kernel {
    name: "layer_norm_backward_join",
    module: "layer_norm",
    params: &[Address, U64, U64, Address, Address, U32],
};

/// Bytes of the kernel's `Stats`, and below it of its `Sums`.
const STATS: usize = 8;
const SUMS: usize = 16;

/// Columns that a block sums up side by side: the kernel's `TILE`.
const TILE: usize = 32;

/// Rows of the shortest chunk, and below it the most chunks: enough to fill any GPU, few enough for one thread to sum up.
const LEAST_ROWS: usize = 64;
const MOST_CHUNKS: usize = 128;

impl LayerNorm for Cuda {
    fn layer_norm(
        &self,
        input: &Tensor,
        weight: &Tensor,
        bias: &Tensor,
        eps: f32,
    ) -> Result<Tensor, Error> {
        shape::layer_norm(input.shape(), weight.shape(), bias.shape())?;
        let (dtype, of_weight) = operands::norm(Op::LAYER_NORM, input, &[weight, bias])?;
        self.has_made_all(&[input, weight, bias])?;
        let result = self.unset(dtype, input.shape())?;
        if result.is_empty() {
            return Ok(result);
        }
        let rows = Rows::of(input);
        let args = [
            Arg::Address(input.address()),
            Arg::U32(code("layer_norm", dtype)?),
            Arg::Address(weight.address()),
            Arg::Address(bias.address()),
            Arg::U32(code("layer_norm", of_weight)?),
            Arg::Address(result.address()),
            Arg::U64(rows.count as u64),
            Arg::U64(rows.width as u64),
            Arg::F32(eps),
        ];
        self.launch(&LAYER_NORM, rows.grid(), &args)?;
        Ok(result)
    }

    fn layer_norm_backward(
        &self,
        grad: &Tensor,
        input: &Tensor,
        weight: &Tensor,
        eps: f32,
    ) -> Result<NormGrads<Tensor>, Error> {
        let shape = shape::layer_norm(input.shape(), weight.shape(), weight.shape())?;
        let (dtype, _) = operands::norm(Op::LAYER_NORM, input, &[weight])?;
        operands::grad(Op::LAYER_NORM, grad, &shape, dtype)?;
        self.has_made_all(&[grad, input, weight])?;
        let (to, stats) = self.layer_norm_input(grad, input, weight, eps)?;
        let [weight, bias] = self.layer_norm_parameters(grad, input, weight, &stats)?;
        Ok(NormGrads { input: to, weight, bias })
    }
}

impl Cuda {
    /// Returns the gradient of the input, and each row's statistics.
    fn layer_norm_input(
        &self,
        grad: &Tensor,
        input: &Tensor,
        weight: &Tensor,
        eps: f32,
    ) -> Result<(Tensor, Buffer), Error> {
        let rows = Rows::of(input);
        let result = self.unset(input.dtype(), input.shape())?;
        if result.is_empty() {
            return Ok((result, self.buffer(0)?));
        }
        let stats = self.buffer(STATS * rows.count)?;
        let args = [
            Arg::Address(grad.address()),
            Arg::Address(input.address()),
            Arg::U32(code("layer_norm", input.dtype())?),
            Arg::Address(weight.address()),
            Arg::U32(code("layer_norm", weight.dtype())?),
            Arg::Address(result.address()),
            Arg::Address(stats.address()),
            Arg::U64(rows.count as u64),
            Arg::U64(rows.width as u64),
            Arg::F32(eps),
        ];
        self.launch(&LAYER_NORM_BACKWARD, rows.grid(), &args)?;
        Ok((result, stats))
    }

    /// Returns the gradients of weight and bias: sums over chunks of rows, then over the chunks; 0 without rows.
    fn layer_norm_parameters(
        &self,
        grad: &Tensor,
        input: &Tensor,
        weight: &Tensor,
        stats: &Buffer,
    ) -> Result<[Tensor; 2], Error> {
        let Rows { count, width } = Rows::of(input);
        let chunk = count.div_ceil(MOST_CHUNKS).max(LEAST_ROWS);
        let chunks = if width == 0 { 0 } else { count.div_ceil(chunk) };
        let partials = self.buffer(SUMS * chunks * width)?;
        if chunks > 0 {
            let args = [
                Arg::Address(grad.address()),
                Arg::Address(input.address()),
                Arg::U32(code("layer_norm", input.dtype())?),
                Arg::Address(stats.address()),
                Arg::Address(partials.address()),
                Arg::U64(count as u64),
                Arg::U64(width as u64),
                Arg::U64(chunk as u64),
                Arg::U64(chunks as u64),
            ];
            let tiles = blocks(width.div_ceil(TILE) * chunks);
            self.launch(&LAYER_NORM_BACKWARD_SUMS, tiles, &args)?;
        }
        let like = || self.unset(weight.dtype(), weight.shape());
        let grads = [like()?, like()?];
        let args = [
            Arg::Address(partials.address()),
            Arg::U64(width as u64),
            Arg::U64(chunks as u64),
            Arg::Address(grads[0].address()),
            Arg::Address(grads[1].address()),
            Arg::U32(code("layer_norm", weight.dtype())?),
        ];
        let columns = blocks(width.div_ceil(THREADS as usize));
        self.launch(&LAYER_NORM_BACKWARD_JOIN, columns, &args)?;
        Ok(grads)
    }
}
