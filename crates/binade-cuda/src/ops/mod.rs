//! Operations: the kernels that the shared host code launches. No operation waits for the device.

mod avg_pool2d;
mod batch_norm;
mod channels;
mod conv2d;
mod divisor;
mod embedding;
pub(crate) mod gemm;
mod group_norm;
mod im2col;
mod layer_norm;
mod masked_fill;
mod max_pool2d;
mod narrow;
mod permute;
mod products;
mod ranges;
mod rms_norm;
mod rotary_embedding;
mod rows;
mod scaled_dot_product_attention;
mod sorted_indices;
mod sparse_rows;
mod total;

/// Returns the bytes of dynamic shared memory that this kernel's launches ask for.
pub(crate) fn shared(kernel: &str) -> u32 {
    let of_product = products::tile_of(kernel).map(|tile| tile.shared);
    of_product.or_else(|| scaled_dot_product_attention::shared(kernel)).unwrap_or(0)
}
