//! Operations, a file each, named as in `binade-ops`, with the kernels it launches.
//!
//! Each checks its operands by the rules that all devices share, allocates the result, and puts a kernel in the stream. None
//! waits for the device.

mod columns;
mod divisor;
pub(crate) mod gemm;
mod im2col;
mod order;
mod pointwise;
mod products;
mod ranges;
mod rows;
mod total;

use crate::kernels::Kernel;

/// Returns the bytes of dynamic shared memory that this kernel's launches ask for.
pub(crate) fn shared(kernel: &Kernel) -> u32 {
    products::tile_of(kernel).map_or(0, |tile| tile.shared)
}

macro_rules! operations {
    ({} $($trait:ident $file:ident $methods:tt)*) => {
        $(mod $file;)*

        /// Kernels of each operation, and of modules that several operations share.
        pub(crate) const KERNELS: &[&[&Kernel]] = &[$($file::KERNELS,)* columns::KERNELS, gemm::KERNELS, im2col::KERNELS, order::KERNELS, ranges::KERNELS,];
    };
}

binade_ops::for_each_op!([operations]);
