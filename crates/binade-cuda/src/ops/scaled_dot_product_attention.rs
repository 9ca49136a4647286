//! Scaled dot-product attention, and the choice between kernels for every operand and those on Tensor Cores.

use crate::{
    Cuda, CudaError, Error, Result, Tensor,
    kernels::THREADS,
    launch::{Arg, Grid, args, code, structs::AttentionBits},
};
use binade_core::DType;
use binade_core::ops::{AttentionGrads, AttentionOutput};
use binade_gpu::{AttentionKernels, Driver};

type Attention<'a> = binade_gpu::Attention<'a, Cuda>;

/// Lines of a tile, and columns of its result, as the kernels'.
const TILE: usize = 64;

/// Kernels on Tensor Cores for one element type and one limit of widths.
#[derive(Debug)]
struct TensorCoreKernels {
    dtype: DType,
    /// Most elements of a query, and of a value.
    width: usize,
    forward: &'static str,
    of_query: &'static str,
    of_key_value: &'static str,
    /// Bytes of shared memory that launches of each add, in the same order.
    shared: [u32; 3],
}

/// Bytes of shared memory that launches of kernels of either width add.
const SHARED_64: [u32; 3] = [16_384, 16_384, 24_576];
const SHARED_128: [u32; 3] = [32_768, 32_768, 65_536];

/// Kernels on Tensor Cores of compute capability 8.0 and later, narrow ones first.
static OF_80: [TensorCoreKernels; 4] = [
    TensorCoreKernels {
        dtype: DType::BF16,
        width: 64,
        forward: "scaled_dot_product_attention_80_bf16_64",
        of_query: "scaled_dot_product_attention_80_bf16_64_backward_of_query",
        of_key_value: "scaled_dot_product_attention_80_bf16_64_backward_of_key_value",
        shared: SHARED_64,
    },
    TensorCoreKernels {
        dtype: DType::BF16,
        width: 128,
        forward: "scaled_dot_product_attention_80_bf16_128",
        of_query: "scaled_dot_product_attention_80_bf16_128_backward_of_query",
        of_key_value: "scaled_dot_product_attention_80_bf16_128_backward_of_key_value",
        shared: SHARED_128,
    },
    TensorCoreKernels {
        dtype: DType::F16,
        width: 64,
        forward: "scaled_dot_product_attention_80_f16_64",
        of_query: "scaled_dot_product_attention_80_f16_64_backward_of_query",
        of_key_value: "scaled_dot_product_attention_80_f16_64_backward_of_key_value",
        shared: SHARED_64,
    },
    TensorCoreKernels {
        dtype: DType::F16,
        width: 128,
        forward: "scaled_dot_product_attention_80_f16_128",
        of_query: "scaled_dot_product_attention_80_f16_128_backward_of_query",
        of_key_value: "scaled_dot_product_attention_80_f16_128_backward_of_key_value",
        shared: SHARED_128,
    },
];

/// Threads of a block on Tensor Cores.
const THREADS_80: u32 = 128;

impl AttentionKernels for Cuda {
    fn launch_attention(&self, of: &Attention<'_>, results: &AttentionOutput<Tensor>) -> Result {
        let AttentionOutput { output, statistics } = results;
        let bits = bits(of)?;
        let attention = || Arg::Bytes(bytemuck::bytes_of(&bits));
        if let Some(kernels) = self.tensor_cores_for(of, &[output]) {
            let args = args![attention(), statistics, output];
            return self.by_lines(kernels.forward, of, of.rows, &args);
        }
        let args = args![attention(), statistics];
        self.by_tile("scaled_dot_product_attention_statistics", of, [of.rows, 1], &args)?;
        let args = args![attention(), statistics, output];
        self.by_tile("scaled_dot_product_attention", of, [of.rows, of.columns], &args)
    }

    fn launch_attention_backward(
        &self,
        of: &Attention<'_>,
        grad: &Tensor,
        [output, statistics]: [&Tensor; 2],
        grads: &AttentionGrads<Tensor>,
    ) -> Result {
        let bits = bits(of)?;
        let attention = || Arg::Bytes(bytemuck::bytes_of(&bits));
        let queries = of.places * of.rows;
        let means = self.buffer(size_of::<f32>() * queries)?;
        let args = args![grad, output, bits.dtype, &means, queries, of.columns];
        let warps = Grid::of(queries.div_ceil(THREADS as usize / 32));
        self.launch("scaled_dot_product_attention_means", warps, &args)?;

        let AttentionGrads { query, key, value } = grads;
        if let Some(kernels) = self.tensor_cores_for(of, &[grad, query, key, value]) {
            let args = args![attention(), grad, statistics, &means, query];
            self.by_lines(kernels.of_query, of, of.rows, &args)?;
            let args = args![attention(), grad, statistics, &means, key, value];
            return self.by_lines(kernels.of_key_value, of, of.keys, &args);
        }
        let args = args![attention(), grad, statistics, &means, query];
        let kernel = "scaled_dot_product_attention_backward_of_query";
        self.by_tile(kernel, of, [of.rows, of.width], &args)?;
        let args = args![attention(), grad, statistics, &means, key];
        let kernel = "scaled_dot_product_attention_backward_of_key";
        self.by_tile(kernel, of, [of.keys, of.width], &args)?;
        let args = args![attention(), grad, statistics, value];
        let kernel = "scaled_dot_product_attention_backward_of_value";
        self.by_tile(kernel, of, [of.keys, of.columns], &args)
    }
}

impl Cuda {
    /// Returns the Tensor Core kernels for this and `others`, the other operands and the results, if there are any.
    fn tensor_cores_for(
        &self,
        of: &Attention<'_>,
        others: &[&Tensor],
    ) -> Option<&'static TensorCoreKernels> {
        let Attention { query, key, value, width, columns, scale, .. } = *of;
        let aligned = |tensor: &&Tensor| tensor.address().is_multiple_of(16);
        // They search for the largest product, which gives the largest score only under a positive scale.
        let takes = self.inner.capability >= (8, 0)
            && scale.is_normal()
            && scale > 0.0
            && (width | columns).is_multiple_of(8)
            && [query, key, value].iter().chain(others).all(aligned);
        let fits =
            |it: &&TensorCoreKernels| it.dtype == query.dtype() && width.max(columns) <= it.width;
        OF_80.iter().find(fits).filter(|_| takes)
    }

    /// Launches a block on Tensor Cores for each tile of lines.
    fn by_lines(
        &self,
        kernel: &'static str,
        of: &Attention<'_>,
        lines: usize,
        args: &[Arg<'_>],
    ) -> Result {
        match fits(of, of.places.saturating_mul(lines.div_ceil(TILE)))? {
            0 => Ok(()),
            blocks => self.launch(kernel, Grid { blocks, threads: THREADS_80 }, args),
        }
    }

    /// Launches a block for each tile of the lines and columns of a result.
    fn by_tile(
        &self,
        kernel: &'static str,
        of: &Attention<'_>,
        [lines, columns]: [usize; 2],
        args: &[Arg<'_>],
    ) -> Result {
        let tiles = lines.div_ceil(TILE).saturating_mul(columns.div_ceil(TILE));
        match fits(of, of.places.saturating_mul(tiles))? {
            0 => Ok(()),
            blocks => self.launch(kernel, Grid { blocks, threads: THREADS }, args),
        }
    }
}

/// Returns the bytes of shared memory that launches of a kernel of attention add, if it is one on Tensor Cores.
pub(super) fn shared(kernel: &str) -> Option<u32> {
    OF_80.iter().find_map(|it| {
        let names = [it.forward, it.of_query, it.of_key_value];
        names.into_iter().zip(it.shared).find(|(name, _)| *name == kernel).map(|(_, bytes)| bytes)
    })
}

/// Returns operands and extents as kernels read them.
fn bits(of: &Attention<'_>) -> Result<AttentionBits> {
    let dtype = code("attend in", of.query.dtype())?;
    Ok(AttentionBits {
        query: of.query.address(),
        key: of.key.address(),
        value: of.value.address(),
        mask: of.mask.map_or(0, Tensor::address),
        repeats: of.mask_layout.repeats as u64,
        matrices: of.mask_layout.count as u64,
        rows: fits(of, of.rows)?,
        keys: fits(of, of.keys)?,
        width: fits(of, of.width)?,
        columns: fits(of, of.columns)?,
        dtype,
        mask_dtype: of.mask.map_or(Ok(dtype), |mask| code("mask by", mask.dtype()))?,
        mask_has_rows: of.mask_layout.has_rows.into(),
        causal: of.causal.into(),
        scale: of.scale,
        unused: 0,
    })
}

/// Returns an extent, or a number of blocks, if a launch has as many.
fn fits(of: &Attention<'_>, extent: usize) -> Result<u32> {
    let Attention { places, rows, keys, width, columns, .. } = *of;
    let sizes = vec![places, rows, keys, width, columns];
    let too_large = || Error::Driver(CudaError::TooLarge { what: "attention", sizes });
    i32::try_from(extent).map(i32::cast_unsigned).map_err(|_| too_large())
}
