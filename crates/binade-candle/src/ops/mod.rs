//! candle's operations in an open region: cast as its policy says, accumulated in `f32`, and never cutting the graph.
//!
//! candle's own operations compute in the type that they are given: a sum of ones in `f16` stops at 2048, and one in `bf16` at
//! 256. Its fused `LayerNorm` with a bias, `RmsNorm`, `softmax_last_dim` and `rope` have no backward, and leave all operations
//! above them without a gradient. The operations here are slower, and have both.
//!
//! * Operands are cast as the region's policy says for the operation, at `path` in the model. If their types still differ, that is
//!   an error.
//! * All compute in `f32`, or in `f64` where the operands are, whatever the operands' type. Products and convolutions do so on the
//!   CPU, where candle's own in `f16` round sums in between and are slower; on another device they are candle's own, but for
//!   a bias, which is added in `f32`.
//! * Products, convolutions, normalisations, softmax, `add` and `rope` give the type that their operands have after the cast,
//!   rounded once; sums, means and losses stay as they were computed. Embeddings copy rows, and their gradients are rounded once.
//! * The errors are the policy's, where it refuses the operation, and candle's.

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
