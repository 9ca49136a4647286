//! Points of a run at which a checkpoint can begin.

/// Point at which a checkpoint was begun.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Boundary {
    /// Before the first step.
    Fresh,
    /// After the step that ended with this many updates, or after a checkpoint that was made there.
    After(u64),
    /// Inside an open window.
    Within,
}

impl Boundary {
    /// Returns true if scalers with these counts of updates can be at this point.
    pub(crate) fn admits(self, updates: impl Iterator<Item = u64>) -> bool {
        let mut updates = updates.peekable();
        match self {
            _ if updates.peek().is_none() => true,
            Self::Fresh => updates.all(|count| count == 0),
            // Each loss may have a scaler of its own; the step is of one of them.
            Self::After(then) => updates.any(|count| count <= then),
            Self::Within => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boundary_that_the_run_has_left_is_not_admitted() {
        let admits = |boundary: Boundary, updates: &[u64]| boundary.admits(updates.iter().copied());
        assert!(admits(Boundary::Fresh, &[0, 0]) && !admits(Boundary::Fresh, &[0, 1]));
        assert!(admits(Boundary::After(3), &[9, 3]) && !admits(Boundary::After(3), &[4]));
        assert!(admits(Boundary::After(3), &[0]), "its state was replaced since");
        assert!(admits(Boundary::Within, &[7]) && admits(Boundary::After(3), &[]));
    }
}
