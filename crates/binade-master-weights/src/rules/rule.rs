//! Parts of an update rule: data, the constants of a step, and the arithmetic of an element.

use super::{Correction, Norms, Row, RuleError};

/// Update rule: its hyper-parameters, and its properties for configurations and devices.
pub(super) trait Rule {
    /// Constants of one step.
    type Constants: Constants;
    /// torch's keys of the moments, in their order.
    const MOMENTS: &'static [&'static str];

    fn validate(&self) -> Result<(), RuleError>;

    /// Returns true if the rule keeps a running norm of each tensor.
    fn keeps_norm(&self) -> bool {
        false
    }

    /// Returns true if elements without a gradient, or rows of them, stay unchanged.
    fn steps_rows(&self) -> bool {
        false
    }

    /// Returns the moments before the first step, in their order.
    fn initial(&self) -> [f32; 3] {
        [0.0; 3]
    }

    /// Returns the correction through which the constants depend on the count of steps, if any.
    fn correction(&self) -> Option<Correction> {
        None
    }

    /// Returns the constants of the step that follows `applied` applied steps.
    fn constants(&self, applied: u64) -> Self::Constants;
}

/// Constants of one step of a rule, with the arithmetic.
pub(super) trait Constants: Copy {
    /// Returns how many moments the step reads and writes.
    fn moments(&self) -> usize;

    /// Moves an element by its gradient, unscaled and clipped. Returns true if the update was not zero: the rule's last product, which is added to
    /// the parameter, or a separate decay.
    fn element(&self, grad: f32, element: &mut ElementState) -> bool;

    /// Returns the row of a device's table.
    fn row(self) -> Row;

    /// Returns true if the step needs norms of its tensor that were not measured yet.
    fn measures(&self) -> bool {
        false
    }

    /// Returns two numbers of an element whose squares are added up over its tensor, and moves the moments where the rule does so before
    /// it knows the norms.
    fn measure(&self, _grad: f32, _element: &mut ElementState) -> [f32; 2] {
        [0.0; 2]
    }

    /// Returns the constants with the norms of their tensor, and updates its running norm if there is one.
    fn measured(self, _norms: Norms, _kept: &mut f32) -> Self {
        self
    }

    /// Returns true if the step needs the norm of all gradients together.
    fn clips(&self) -> bool {
        false
    }

    /// Returns the constants with the norm of all gradients together.
    fn clipped(self, _norm: f32) -> Self {
        self
    }
}

/// State of one element of a parameter, which a step changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ElementState {
    /// Value of the parameter, or of its master.
    pub param: f32,
    /// Moments, in the rule's order; zero where the rule has fewer.
    pub moments: [f32; 3],
}
