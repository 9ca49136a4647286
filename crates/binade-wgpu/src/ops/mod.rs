//! Operations: the shaders that the shared host code dispatches. None waits for the device.

mod avg_pool2d;
mod batch_norm;
mod channels;
mod conv2d;
mod cross_entropy;
mod embedding;
mod gemm;
mod group_norm;
mod layer_norm;
mod masked_fill;
mod max_pool2d;
mod narrow;
mod operands;
mod permute;
mod pointwise;
mod rms_norm;
mod roles;
mod rotary_embedding;
mod rows;
mod scaled_dot_product_attention;
mod total;
