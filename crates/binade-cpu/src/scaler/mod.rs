//! Loss scaling on the CPU: the scale is the host's, unscaling only looks.

mod grad_ops;
mod grad_scaler;
