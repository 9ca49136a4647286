//! Linear layer followed by the rectified linear unit, in two operations.

use crate::Deferred;
use binade_ops::LinearRelu;

impl LinearRelu for Deferred {}
