//! A linear layer with the rectified linear unit behind it: one after the other.

use crate::Deferred;
use binade_ops::LinearRelu;

impl LinearRelu for Deferred {}
