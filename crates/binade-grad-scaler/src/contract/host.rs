//! Scale state for devices whose state is the host's.

use crate::{LossScale, ScaleState, ScaleStore, UpdateInputs};
use binade_core::{FoundInf, GradSet, MergeRule};

/// A device whose findings are values of the host keeps its scale there too.
impl<D: GradSet<Found = FoundInf>> ScaleStore for D {
    type Scale = ScaleState;

    fn upload_state(&self, state: ScaleState) -> Result<ScaleState, D::Error> {
        Ok(state)
    }

    fn upload_found(&self, found: &FoundInf) -> Result<FoundInf, D::Error> {
        Ok(found.clone())
    }

    fn merge(&self, into: &mut FoundInf, from: &FoundInf, join: MergeRule) -> Result<(), D::Error> {
        into.merge(from, join);
        Ok(())
    }

    fn update(
        &self,
        scale: &mut ScaleState,
        parts: &[&FoundInf],
        verdicts: &[&FoundInf],
        rule: &LossScale,
    ) -> Result<(), D::Error> {
        *scale = rule.next(*scale, UpdateInputs::from_findings(parts, verdicts));
        Ok(())
    }

    fn read(
        &self,
        found: &[&FoundInf],
        scale: &ScaleState,
    ) -> Result<(Vec<FoundInf>, ScaleState), D::Error> {
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
        type Found = FoundInf;

        fn train_error(&self, error: TrainError) -> TrainError {
            error
        }
    }

    #[test]
    fn what_unscale_has_found_is_read_as_it_was_and_moves_the_scale_at_once() {
        let rule = LossScale::dynamic();
        let (found, clean) =
            (FoundInf { halted: true, magnitude: 3.0, ..FoundInf::default() }, FoundInf::default());
        let mut scale = Bare.upload_state(rule.start()).unwrap();
        Bare.update(&mut scale, &[&clean], &[&found], &rule).unwrap();
        assert_eq!(
            scale,
            rule.next(rule.start(), UpdateInputs::from_findings(&[&clean], &[&found]))
        );
        let (read, state) = Bare.read(&[&found, &clean], &scale).unwrap();
        assert_eq!(format!("{read:?}"), format!("{:?}", [found, clean]));
        assert_eq!(state, scale);
    }
}
