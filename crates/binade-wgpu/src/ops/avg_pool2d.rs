//! Mean of each window, for sliding and adaptive windows.

use super::operands::by_group;
use crate::{
    Error, Result, Tensor, Wgpu, WgpuError,
    dispatch::structs::{self, code, count},
};
use binade_core::ops::shape::Pooling;
use binade_gpu::{AvgPool2dKernels, PoolingBits};

impl AvgPool2dKernels for Wgpu {
    fn launch_avg_pool2d(
        &self,
        shader: &'static str,
        [from, to]: [&Tensor; 2],
        of: &Pooling,
    ) -> Result {
        let most = self.facts().most_binding_bytes;
        let too_large = || Error::Driver(WgpuError::TooLarge { bytes: from.bytes(), most });
        let PoolingBits { windows: [rows, columns], divisor, pixel } =
            PoolingBits::new(of).ok_or_else(too_large)?;
        let ((operand, start), (result, _)) = (self.whole(from)?, self.whole(to)?);
        let params = structs::AvgPool {
            len: count(to.len()),
            dtype: code("avg_pool2d", to.dtype())?,
            starts: [start, 0],
            rows,
            columns,
            divisor,
            pixel,
        };
        self.dispatch(shader, &params, vec![operand, result], by_group(to.len()))
    }
}
