//! Values under parameters' names.

use std::sync::Arc;

/// Value under a parameter's name: `Named<T>` is a parameter, `Named<Option<T>>` a gradient that may be missing.
#[derive(Clone, Debug, PartialEq)]
pub struct Named<V> {
    /// Path of the parameter in the model, as `encoder.0.linear.weight`.
    pub name: Arc<str>,
    /// Value under that name.
    pub value: V,
}

impl<V> Named<V> {
    /// Puts `value` under `name`.
    pub fn new(name: impl Into<Arc<str>>, value: V) -> Self {
        Self { name: name.into(), value }
    }
}

/// Set of gradients on a host: one entry for each trainable parameter, `None` if it has no gradient.
pub type NamedGrads<T> = Vec<Named<Option<T>>>;
