//! Where a visitor is in a module.

/// The names of the modules that were entered and not left.
#[derive(Debug, Default)]
pub(crate) struct Path(Vec<String>);

impl Path {
    pub(crate) fn enter(&mut self, name: &str) {
        self.0.push(name.to_owned());
    }

    pub(crate) fn exit(&mut self) {
        self.0.pop();
    }

    /// As `encoder.0.linear.weight`, which is how burn's own parameter groups write it.
    pub(crate) fn full(&self) -> String {
        self.0.join(".")
    }

    /// The path of what holds the parameter: `encoder.0.linear`.
    pub(crate) fn layer(&self) -> String {
        self.0.split_last().map_or_else(String::new, |(_, layer)| layer.join("."))
    }
}
