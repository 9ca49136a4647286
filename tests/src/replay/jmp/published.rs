//! The rule of jmp's `DynamicLossScale`, as `jmp/_src/loss_scale.py` of 0.0.4 has it: any factor, any floor.

use super::Config;
use crate::replay::bits::narrow;

/// Its scale, in f32, and its counter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Published {
    pub(super) scale: f32,
    pub(super) counter: u32,
}

impl Published {
    pub(super) fn new(config: &Config) -> Self {
        Self { scale: narrow(config.init.0), counter: 0 }
    }

    /// After a period it grows, unless to infinity; an overflow divides it, down to the floor.
    pub(super) fn next(self, config: &Config, finite: bool) -> Self {
        let (factor, is_due) = (narrow(config.factor), self.counter + 1 == config.period);
        if !finite {
            return Self { scale: (self.scale / factor).max(narrow(config.min.0)), counter: 0 };
        }
        let grown = Some(self.scale * factor).filter(|scale| is_due && scale.is_finite());
        let counter = if is_due { 0 } else { self.counter + 1 };
        Self { scale: grown.unwrap_or(self.scale), counter }
    }
}
