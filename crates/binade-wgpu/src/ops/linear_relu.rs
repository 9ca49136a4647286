//! A linear layer with the rectified linear unit behind it: one after the other.

use crate::Wgpu;
use binade_ops::LinearRelu;

impl LinearRelu for Wgpu {}
