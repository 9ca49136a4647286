//! Mean of each window, for sliding and adaptive windows.

use crate::{
    Cuda, CudaError, Error, Result, Tensor,
    kernels::THREADS,
    launch::{Arg, Grid, args, code},
};
use binade_core::ops::shape::Pooling;
use binade_gpu::{AvgPool2dKernels, PoolingBits};

/// Bytes of `Pooling` of `avg_pool2d.cu`.
const _: () = assert!(size_of::<PoolingBits>() == 56);

impl AvgPool2dKernels for Cuda {
    fn launch_avg_pool2d(
        &self,
        kernel: &'static str,
        [from, to]: [&Tensor; 2],
        of: &Pooling,
    ) -> Result {
        let sizes = || of.windows.iter().map(|windows| windows.image).collect();
        let too_large =
            || Error::Driver(CudaError::TooLarge { what: "images to pool", sizes: sizes() });
        let bits = PoolingBits::new(of).ok_or_else(too_large)?;
        let (dtype, len) = (code("avg_pool2d", to.dtype())?, to.len());
        let args = args![from, to, dtype, len, Arg::Bytes(bytemuck::bytes_of(&bits))];
        self.launch(kernel, Grid::of(len.div_ceil(THREADS as usize)), &args)
    }
}
