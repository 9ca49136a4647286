#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

#[macro_use]
mod table;

mod check;
mod error;
mod forward;
mod host;
mod invocation;
mod operands;
mod results;
pub mod shape;
mod shaped;

pub use error::{DTypeError, OperandError, ShapeError};
pub use forward::Invoke;
pub use host::{Download, Upload};
pub use invocation::OpInvocation;
pub use shaped::Shaped;

use results::Results;

/// Module of each operation, and the trait of all of them.
macro_rules! operations {
    ({} $($trait:ident $file:ident $methods:tt)*) => {
        $(
            mod $file;
            pub use $file::*;
        )*

        /// Device that has every operation.
        ///
        /// Every handle with all these traits has it. Code that needs three operations bounds on those three:
        $(#[doc = concat!("[`", stringify!($trait), "`]")])*
        pub trait Ops: Shaped + Upload + Download $(+ $trait)* {}

        impl<D: ?Sized + Shaped + Upload + Download $(+ $trait)*> Ops for D {}
    };
}

for_each_op!([operations]);

/// Names that the macros of this crate need in the crates that call them.
#[doc(hidden)]
pub mod __private {
    pub use crate::results::exactly;
    pub use crate::{BatchNormConfig, Conv2dConfig, MaxPool2dConfig};
    pub use binade_core::DType;
}
