//! Lists that torch 2.15 registers for autocast on CUDA, with names as its dispatcher prints them.

use super::Preset;
use crate::Category;

pub(crate) const PRESET: Preset = Preset {
    id: "torch_cuda",
    title: "torch CUDA",
    strict_promotion: true,
    lists: &[
        (Category::Lower, LOWER),
        (Category::F32, F32),
        (Category::F32Output, F32_OUTPUT),
        (Category::F32Append, F32_APPEND),
        (Category::Promote, PROMOTE),
        (Category::Banned, BANNED),
        (Category::BuiltinPromote, BUILTIN),
    ],
    aliases: &[("bias_add", "linear"), ("linear_relu", "linear"), ("cross_entropy", "nll_loss")],
};

/// Names cast to the region's type.
const LOWER: &[&str] = &[
    "_convolution",
    "_convolution.deprecated",
    "_cudnn_rnn",
    "_scaled_dot_product_flash_attention",
    "_thnn_fused_gru_cell",
    "_thnn_fused_lstm_cell",
    "addbmm",
    "addmm",
    "addmv",
    "addr",
    "baddbmm",
    "bmm",
    "chain_matmul",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d.input",
    "conv_transpose3d.input",
    "convolution",
    "cudnn_convolution",
    "cudnn_convolution_transpose",
    "einsum",
    "gru_cell",
    "linalg_multi_dot",
    "linalg_vecdot",
    "linear",
    "lstm_cell",
    "matmul",
    "mm",
    "mv",
    "prelu",
    "rnn_relu_cell",
    "rnn_tanh_cell",
    "scaled_dot_product_attention",
];

/// Names cast to `f32`.
const F32: &[&str] = &[
    "_upsample_bicubic2d_aa",
    "_upsample_bilinear2d_aa",
    "_upsample_nearest_exact1d",
    "_upsample_nearest_exact2d",
    "_upsample_nearest_exact3d",
    "acos",
    "asin",
    "binary_cross_entropy_with_logits",
    "cdist",
    "cosh",
    "cosine_embedding_loss",
    "cosine_similarity",
    "dist",
    "erfinv",
    "exp",
    "expm1",
    "frobenius_norm.dim",
    "group_norm",
    "hinge_embedding_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "linalg_matrix_sqrth",
    "log",
    "log10",
    "log1p",
    "log2",
    "logsumexp",
    "margin_ranking_loss",
    "mse_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "native_layer_norm",
    "nll_loss",
    "nll_loss2d",
    "nuclear_norm",
    "nuclear_norm.dim",
    "pdist",
    "poisson_nll_loss",
    "pow.Scalar",
    "pow.Tensor_Scalar",
    "pow.Tensor_Tensor",
    "reciprocal",
    "renorm",
    "rms_norm",
    "rsqrt",
    "sinh",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softplus",
    "tan",
    "triplet_margin_loss",
    "upsample_bicubic2d",
    "upsample_bilinear2d",
    "upsample_linear1d",
    "upsample_nearest1d",
    "upsample_nearest2d",
    "upsample_nearest3d",
    "upsample_trilinear3d",
];

/// Names given `dtype=float32` if the caller gave none.
const F32_OUTPUT: &[&str] = &[
    "cumprod",
    "cumsum",
    "linalg_matrix_norm",
    "linalg_matrix_norm.str_ord",
    "linalg_vector_norm",
    "log_softmax.int",
    "prod",
    "prod.dim_int",
    "softmax.int",
    "sum",
    "sum.dim_IntList",
];

/// Names sent on to the overload that takes an output type.
const F32_APPEND: &[&str] = &["norm.Scalar", "norm.ScalarOpt_dim"];

/// Names cast to the widest among the operands and the region's type.
const PROMOTE: &[&str] = &[
    "addcdiv",
    "addcmul",
    "atan2",
    "bilinear",
    "cross",
    "dot",
    "grid_sampler",
    "index_put",
    "scatter_add",
    "tensordot",
    "vdot",
];

/// Names that are refused.
const BANNED: &[&str] = &["binary_cross_entropy"];

/// Names that are not registered: torch's own type promotion widens mixed operands.
const BUILTIN: &[&str] =
    &["add", "cat", "div", "eq", "ge", "gt", "le", "lt", "mul", "ne", "stack", "sub"];
