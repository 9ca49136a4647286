//! Parameters by number: kernels know no names.

pub(crate) use binade_core::Names;
