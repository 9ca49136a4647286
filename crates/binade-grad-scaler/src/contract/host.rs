//! Scale state for devices whose state is the host's.

use crate::{Join, LossScale, ScaleState, ScaleStore, Seen};
use binade_core::{Finding, GradSet};

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
        join_findings(into, from, join);
        Ok(())
    }

    fn update(
        &self,
        scale: &mut ScaleState,
        parts: &[&Finding],
        verdicts: &[&Finding],
        rule: &LossScale,
    ) -> Result<(), D::Error> {
        *scale = rule.next(*scale, seen(parts, verdicts));
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

/// What an update has to go by, from host findings: the oracle of what a device's `update` kernel reads.
pub fn seen(parts: &[&Finding], verdicts: &[&Finding]) -> Seen {
    let skipped = verdicts.iter().any(|found| found.is_raised());
    let overflow = skipped || parts.iter().any(|found| found.is_raised());
    let magnitudes = parts.iter().chain(verdicts).map(|found| found.magnitude);
    Seen { overflow, skipped, magnitude: magnitudes.fold(0.0, f32::max) }
}

/// Joins two host findings: the oracle of a device's `merge`.
pub fn join_findings(into: &mut Finding, from: &Finding, join: Join) {
    let overflowed = match join {
        Join::Any => into.overflow.is_some() || from.overflow.is_some(),
        Join::All => into.overflow.is_some() && from.overflow.is_some(),
    };
    into.overflow = into.overflow.take().or_else(|| from.overflow.clone()).filter(|_| overflowed);
    into.halted |= from.halted;
    into.infinities += from.infinities;
    into.nans += from.nans;
    into.magnitude = into.magnitude.max(from.magnitude);
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
        assert_eq!(scale, rule.next(rule.start(), seen(&[&clean], &[&found])));
        let (read, state) = Bare.read(&[&found, &clean], &scale).unwrap();
        assert_eq!(format!("{read:?}"), format!("{:?}", [found, clean]));
        assert_eq!(state, scale);
    }
}
