//! Where in a run a checkpoint was begun.

/// What was in hand when a checkpoint was begun.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Boundary {
    /// Nothing: no step has been taken.
    Fresh,
    /// The outcome of the step that ended with this many updates, or a checkpoint that was made after it.
    After(u64),
    /// An open window.
    Within,
}

impl Boundary {
    /// Whether scalers with so many updates can be here.
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
