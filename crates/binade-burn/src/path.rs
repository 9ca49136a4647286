//! Path of a visitor's place in a module.

/// Names of the modules that the visitor is in.
#[derive(Debug, Default)]
pub(crate) struct Path(Vec<String>);

impl Path {
    pub(crate) fn enter(&mut self, name: &str) {
        self.0.push(name.to_owned());
    }

    pub(crate) fn exit(&mut self) {
        self.0.pop();
    }

    /// Returns the full path, such as `encoder.0.linear.weight`, as burn's own parameter groups write it.
    pub(crate) fn full(&self) -> String {
        self.0.join(".")
    }

    /// Returns the path of the layer that holds the parameter: `encoder.0.linear`.
    pub(crate) fn layer(&self) -> String {
        self.0.split_last().map_or_else(String::new, |(_, layer)| layer.join("."))
    }
}
