//! Rows of a table, by index.

use super::labels::below;
use crate::{Candle, Error};
use binade_autocast::Scope;
use binade_core::Op;
use candle_core::backend::BackendStorage;
use candle_core::{
    CpuStorage, CudaStorage, CustomOp2, DType, Layout, MetalStorage, Result as CandleResult, Shape,
    Tensor,
};

/// Returns row `i` of `table`, `[V, D]`, for each `i` of `indices`, integers of any shape. The result has the shape of `indices` with D appended.
///
/// Rows are copied bit for bit. Gradients of a row are added in `f32` (in `f64` for a table of `f64`), on the CPU in the order of the indices, and
/// narrowed once. candle's own lookup adds them in the table's type, where the sum of a frequent row stops growing.
///
/// # Errors
///
/// See the [module](super). On the CPU also if an index is no row.
pub fn embedding(
    scope: &Scope<'_, Candle>,
    path: &str,
    table: &Tensor,
    indices: &Tensor,
) -> Result<Tensor, Error> {
    let [table] = scope.cast(Op::EMBEDDING, path, [table])?;
    let (rows, width) = table.dims2()?;
    let indices = below(rows, indices, "embedding")?;
    let shape: Vec<_> = indices.dims().iter().copied().chain([width]).collect();
    let indices = indices.flatten_all()?.contiguous()?;
    Ok(table.contiguous()?.apply_op2(&indices, Rows)?.reshape(shape)?)
}

/// candle's lookup, with gradients added in the wider type. To widen the table itself would copy all of it in each pass, and make NaNs quiet.
struct Rows;

impl CustomOp2 for Rows {
    fn name(&self) -> &'static str {
        "embedding"
    }

    fn cpu_fwd(
        &self,
        table: &CpuStorage,
        of: &Layout,
        indices: &CpuStorage,
        at: &Layout,
    ) -> CandleResult<(CpuStorage, Shape)> {
        look_up(table, of, indices, at)
    }

    fn cuda_fwd(
        &self,
        table: &CudaStorage,
        of: &Layout,
        indices: &CudaStorage,
        at: &Layout,
    ) -> CandleResult<(CudaStorage, Shape)> {
        look_up(table, of, indices, at)
    }

    fn metal_fwd(
        &self,
        table: &MetalStorage,
        of: &Layout,
        indices: &MetalStorage,
        at: &Layout,
    ) -> CandleResult<(MetalStorage, Shape)> {
        look_up(table, of, indices, at)
    }

    fn bwd(
        &self,
        table: &Tensor,
        indices: &Tensor,
        _rows: &Tensor,
        grad: &Tensor,
    ) -> CandleResult<(Option<Tensor>, Option<Tensor>)> {
        let wide = if table.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
        let sum = Tensor::zeros(table.shape(), wide, table.device())?;
        let sum = sum.index_add(indices, &grad.to_dtype(wide)?.contiguous()?, 0)?;
        Ok((Some(sum.to_dtype(table.dtype())?), None))
    }
}

fn look_up<S: BackendStorage>(
    table: &S,
    of: &Layout,
    indices: &S,
    at: &Layout,
) -> CandleResult<(S, Shape)> {
    let shape = Shape::from((at.shape().elem_count(), of.shape().dims2()?.1));
    Ok((table.index_select(indices, of, at, 0)?, shape))
}
