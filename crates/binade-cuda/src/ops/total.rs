//! Sums over whole tensors, and gradients that are one value everywhere.

use crate::{
    Cuda, Result, Tensor,
    chunks::Chunks,
    kernels::THREADS,
    launch::{Arg, Grid, args, code},
};
use binade_gpu::{Driver, Total, TotalKernels};

impl TotalKernels for Cuda {
    /// The number of elements alone determines the length of a chunk, and so the order of the additions.
    fn launch_total(&self, total: Total, operands: &[&Tensor], result: &Tensor) -> Result {
        let Some(first) = operands.first() else { return Ok(()) };
        let kernel = match total {
            Total::Sum => "sum",
            Total::Mean => "mean",
            Total::MseLoss => "mse_loss",
        };
        let (dtype, len) = (code(kernel, first.dtype())?, first.len());
        let mut chunks = Chunks::of(len as u64);
        chunks.add(len as u64);
        // Without elements one block still writes the result.
        let blocks = chunks.blocks().max(1);
        let partials = self.buffer(size_of::<f64>() * blocks as usize)?;
        let done = &self.shared_buffers()?.done;
        let operands = operands.iter().map(|operand| Arg::from(*operand));
        let args = args![dtype, len, Arg::U64(chunks.len), &partials, done, result];
        let args: Vec<_> = operands.chain(args).collect();
        self.launch(kernel, Grid { blocks, threads: THREADS }, &args)
    }

    fn launch_spread(&self, total: Total, grad: &Tensor, result: &Tensor) -> Result {
        let kernel = if total == Total::Sum { "sum_backward" } else { "mean_backward" };
        let (dtype, len) = (code("fill", result.dtype())?, result.len());
        self.launch(kernel, Grid::elementwise(len), &args![grad, result, dtype, len])
    }

    fn launch_mse_loss_backward(&self, operands: [&Tensor; 3], grads: [&Tensor; 2]) -> Result {
        let ([grad, input, target], [of_input, of_target]) = (operands, grads);
        let (dtype, len) = (code("mse_loss", input.dtype())?, input.len());
        let args = args![grad, input, target, dtype, len, of_input, of_target];
        self.launch("mse_loss_backward", Grid::elementwise(len), &args)
    }
}
