//! Linear layer with the rectified linear unit behind it: two shaders, one after the other.

use crate::{Wgpu, shaders::Shader};
use binade_ops::LinearRelu;

pub(super) const SHADERS: &[&Shader] = &[];

impl LinearRelu for Wgpu {}
