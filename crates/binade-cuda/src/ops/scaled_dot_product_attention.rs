//! Scaled dot-product attention.

use crate::{
    Cuda, CudaError, Error, Result, Tensor,
    kernels::THREADS,
    launch::{Arg, Grid, args, code, structs::AttentionBits},
};
use binade_core::ops::{AttentionGrads, AttentionOutput};
use binade_gpu::{AttentionKernels, Driver};

type Attention<'a> = binade_gpu::Attention<'a, Cuda>;

/// Lines of a tile, and columns of its result, as the kernels'.
const TILE: usize = 64;

impl AttentionKernels for Cuda {
    fn launch_attention(&self, of: &Attention<'_>, results: &AttentionOutput<Tensor>) -> Result {
        let AttentionOutput { output, statistics } = results;
        let bits = bits(of)?;
        let attention = || Arg::Bytes(bytemuck::bytes_of(&bits));
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

        let args = args![attention(), grad, statistics, &means, &grads.query];
        let kernel = "scaled_dot_product_attention_backward_of_query";
        self.by_tile(kernel, of, [of.rows, of.width], &args)?;
        let args = args![attention(), grad, statistics, &means, &grads.key];
        let kernel = "scaled_dot_product_attention_backward_of_key";
        self.by_tile(kernel, of, [of.keys, of.width], &args)?;
        let args = args![attention(), grad, statistics, &grads.value];
        let kernel = "scaled_dot_product_attention_backward_of_value";
        self.by_tile(kernel, of, [of.keys, of.columns], &args)
    }
}

impl Cuda {
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
