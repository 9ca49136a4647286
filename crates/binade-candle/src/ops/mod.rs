//! candle's operations in an open autocast region: operands are cast by the region's policy, sums are accumulated in `f32`, and the graph is never
//! cut.
//!
//! candle's own operations compute in their operands' type: a sum of ones in `f16` stops at 2048, and one in `bf16` at 256. Its fused `LayerNorm`
//! with a bias, `RmsNorm`, `softmax_last_dim` and `rope` have no backward pass, and leave all operations above them without a gradient. The
//! operations of this module avoid both, and are slower.
//!
//! * The region's policy chooses the operands' casts by the operation and its `path` in the model. Types that still differ are an error.
//! * All compute in `f32`, or in `f64` on operands of `f64`. Products and convolutions do so on the CPU, where candle's own in `f16` round partial
//!   sums and are slower. On another device they are candle's own, except that a bias is added in `f32`.
//! * Products, convolutions, normalisations, softmax, `add` and `rope` round the result once to the type of the cast operands. Sums, means and losses
//!   keep the type that they are computed in. Embeddings copy rows, and round gradients once.
//! * An operation fails if the policy refuses it, or with candle's error.

mod add;
mod batch_norm;
mod convolutions;
mod embedding;
mod labels;
mod losses;
mod norms;
mod products;
mod rope;
mod softmax;
mod sums;
mod wide;

pub use add::add;
pub use batch_norm::{batch_norm, batch_norm_inference};
pub use convolutions::{conv1d, conv2d};
pub use embedding::embedding;
pub use losses::{cross_entropy, mse_loss};
pub use norms::{group_norm, layer_norm, rms_norm};
pub use products::{linear, matmul};
pub use rope::rope;
pub use softmax::{log_softmax, softmax};
pub use sums::{mean, sum};

pub(crate) use labels::below;
