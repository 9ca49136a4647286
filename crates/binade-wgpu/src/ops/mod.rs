//! Operations, a file each, named as in `binade-ops`, with the shaders they dispatch.
//!
//! Each checks its operands by the rules that all devices share, allocates the result, and puts a shader in the batch. None waits
//! for the device.

mod gemm;
mod im2col;
mod operands;
mod pointwise;
mod roles;
mod rows;
mod total;

use crate::shaders::Shader;

macro_rules! operations {
    ({} $($trait:ident $file:ident $methods:tt)*) => {
        $(mod $file;)*

        /// Shaders of each operation, and of modules that several operations share.
        pub(crate) const SHADERS: &[&[&Shader]] = &[$($file::SHADERS,)* gemm::SHADERS, im2col::SHADERS,];
    };
}

binade_ops::for_each_op!([operations]);
