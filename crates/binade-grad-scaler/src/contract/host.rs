//! Scale state for devices whose state is the host's.

use crate::{LossScale, ScaleState, ScaleStore, Seen};
use binade_core::{Finding, GradSet, Join};

/// A device whose findings are values of the host keeps its scale there too.
impl<D: GradSet<Found = Finding>> ScaleStore for D {
    type Scale = ScaleState;

    fn upload_state(&self, state: ScaleState) -> Result<ScaleState, D::Error> {
        Ok(state)
    }

    fn upload_found(&self, found: &Finding) -> Result<Finding, D::Error> {
        Ok(found.clone())
    }

    fn merge(&self, into: &mut Finding, from: &Finding, join: Join) -> Result<(), D::Error> {
        into.merge(from, join);
        Ok(())
    }

    fn update(
        &self,
        scale: &mut ScaleState,
        parts: &[&Finding],
        verdicts: &[&Finding],
        rule: &LossScale,
    ) -> Result<(), D::Error> {
        *scale = rule.next(*scale, Seen::of(parts, verdicts));
        Ok(())
    }

    fn read(
        &self,
        found: &[&Finding],
        scale: &ScaleState,
    ) -> Result<(Vec<Finding>, ScaleState), D::Error> {
        Ok((found.iter().map(|&f| f.clone()).collect(), *scale))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use binade_core::{Handle, TrainError};

    /// A device that says nothing of itself but that its scale is the host's.
    struct Bare;

    impl Handle for Bare {
        type Tensor = ();
        type Error = TrainError;
    }

    impl GradSet for Bare {
        type Params = ();
        type Grads = ();
        type Found = Finding;

        fn train_error(&self, error: TrainError) -> TrainError {
            error
        }
    }

    #[test]
    fn what_unscale_has_found_is_read_as_it_was_and_moves_the_scale_at_once() {
        let rule = LossScale::dynamic();
        let (found, clean) =
            (Finding { halted: true, magnitude: 3.0, ..Finding::default() }, Finding::default());
        let mut scale = Bare.upload_state(rule.start()).unwrap();
        Bare.update(&mut scale, &[&clean], &[&found], &rule).unwrap();
        assert_eq!(scale, rule.next(rule.start(), Seen::of(&[&clean], &[&found])));
        let (read, state) = Bare.read(&[&found, &clean], &scale).unwrap();
        assert_eq!(format!("{read:?}"), format!("{:?}", [found, clean]));
        assert_eq!(state, scale);
    }
}
