//! Division by the root mean square over the last axis.

use super::{
    layer_norm::{STATS, codes},
    rows::grid,
};
use crate::{Cuda, Result, Tensor, launch::args};
use binade_gpu::{Driver, RmsNormKernels, Rows};

impl RmsNormKernels for Cuda {
    fn launch_rms_norm(&self, [input, weight]: [&Tensor; 2], eps: f32, result: &Tensor) -> Result {
        let ([dtype, of_weight], rows) = (codes(input, weight)?, Rows::of(input));
        let Rows { count, width } = rows;
        let args = args![input, dtype, weight, of_weight, result, count, width, eps];
        self.launch("rms_norm", grid(rows), &args)
    }

    fn launch_rms_norm_backward(
        &self,
        [grad, input, weight]: [&Tensor; 3],
        eps: f32,
        [of_input, of_weight]: [&Tensor; 2],
    ) -> Result {
        let ([dtype, parameter], rows) = (codes(input, weight)?, Rows::of(input));
        let Rows { count, width } = rows;
        let stats = self.buffer(if input.is_empty() { 0 } else { STATS * count })?;
        if !input.is_empty() {
            let to = of_input;
            let args = args![grad, input, dtype, weight, parameter, to, &stats, count, width, eps];
            self.launch("rms_norm_backward", grid(rows), &args)?;
        }
        self.norm_parameters([grad, input], dtype, &stats, of_weight, None)
    }
}
