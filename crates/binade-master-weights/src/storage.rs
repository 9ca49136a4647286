//! What type each parameter is stored in.

use binade_core::DType;

/// What a parameter is for.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum ParamKind {
    /// Weights and biases of linear and convolution layers, embeddings.
    Weight,
    /// Gain and offset of a normalisation.
    Norm,
}

/// What type each parameter of a model is stored in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Storage {
    /// The type of weights.
    pub dtype: DType,
    /// Keeps normalisation in `f32`, as Apex's `keep_batchnorm_fp32` does: its gains are few, and statistics of sixteen
    /// bits are poor.
    pub keep_norm_f32: bool,
}

impl Storage {
    /// The type of a parameter of this kind.
    pub fn of(&self, kind: ParamKind) -> DType {
        match kind {
            ParamKind::Norm if self.keep_norm_f32 => DType::F32,
            _ => self.dtype,
        }
    }
}
