//! A linear layer with the rectified linear unit behind it: one after the other.

use crate::{Wgpu, shaders::Shader};
use binade_ops::LinearRelu;

pub(super) const SHADERS: &[&Shader] = &[];

impl LinearRelu for Wgpu {}
