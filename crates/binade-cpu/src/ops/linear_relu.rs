//! Linear layer with the rectified linear unit behind it: one after the other.

use crate::Cpu;
use binade_core::ops::LinearRelu;

impl LinearRelu for Cpu {}
