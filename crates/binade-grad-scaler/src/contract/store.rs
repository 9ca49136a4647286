//! Contract of a device that stores the loss scale and its counters.

use crate::{LossScale, ScaleState, UpdateInputs};
use binade_core::{FoundInf, GradSet, MergeRule, TrainError};

/// Device that keeps a scaler's state where the gradients are.
///
/// A device whose `Found` is [`FoundInf`](binade_core::FoundInf), a value of the host, has this trait already, with its scale on the host.
///
/// # For implementers
///
/// * Only `read` may wait for the device.
/// * `update` is [`LossScale::next`], bit for bit: an overflow is seen where any of `parts` or `verdicts` is raised, a
///   skip where any of `verdicts` is; the magnitude is the largest of all.
/// * `update` and `merge` never change what earlier clones read. With no clone alive they work in place, so that a
///   captured graph can be replayed.
/// * `merge` keeps the place of the first overflow, adds counts up and takes the larger magnitude; a joined finding
///   that did not overflow names none. It is halted where either is: divergence halts whatever it touches.
/// * What `upload_found` puts on the device is read back as it was, and steps and updates go by it.
/// * A `Found` of the host is complete when `unscale` returns: `update` and `read` take it as it is.
#[expect(unused_variables, reason = "parameter names are documentation")]
pub trait ScaleStore: GradSet {
    /// The scale, its growth tracker and its counters: one value on the device. Cloning is cheap.
    type Scale: Clone;

    /// Puts `state` on the device.
    ///
    /// # Errors
    ///
    /// When the device fails.
    fn upload_state(&self, state: ScaleState) -> Result<Self::Scale, Self::Error>;

    /// Joins `from` into `into`.
    ///
    /// # Errors
    ///
    /// When the device fails.
    fn merge(
        &self,
        into: &mut Self::Found,
        from: &Self::Found,
        join: MergeRule,
    ) -> Result<(), Self::Error>;

    /// Ends an iteration: backs off if an overflow was seen, else counts towards growth.
    ///
    /// `parts` are the found-inf results of the passes over gradients, `verdicts` those that the optimizer steps depended on.
    ///
    /// # Errors
    ///
    /// When the device fails.
    fn update(
        &self,
        scale: &mut Self::Scale,
        parts: &[&Self::Found],
        verdicts: &[&Self::Found],
        rule: &LossScale,
    ) -> Result<(), Self::Error>;

    /// Waits for the device, and reads all arguments in one transfer.
    ///
    /// # Errors
    ///
    /// When the device fails.
    fn read(
        &self,
        found: &[&Self::Found],
        scale: &Self::Scale,
    ) -> Result<(Vec<FoundInf>, ScaleState), Self::Error>;

    /// Returns true if `read` would return without waiting; a device that cannot tell returns true.
    ///
    /// # Errors
    ///
    /// When the device fails.
    fn is_ready(&self, found: &[&Self::Found], scale: &Self::Scale) -> Result<bool, Self::Error> {
        Ok(true)
    }

    /// Uploads a found-inf result to the device. Optional.
    ///
    /// # Errors
    ///
    /// When the device fails; `Unsupported` as provided.
    fn upload_found(&self, found: &FoundInf) -> Result<Self::Found, Self::Error> {
        Err(self.train_error(TrainError::unsupported::<Self>("ScaleStore::upload_found")))
    }
}

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
    use binade_core::{HostDevice, HostTensor};

    #[test]
    fn what_unscale_has_found_is_read_as_it_was_and_moves_the_scale_at_once() {
        let (device, rule) = (HostDevice::<HostTensor>::new(), LossScale::dynamic());
        let (found, clean) =
            (FoundInf { halted: true, magnitude: 3.0, ..FoundInf::default() }, FoundInf::default());
        let mut scale = device.upload_state(rule.start()).unwrap();
        device.update(&mut scale, &[&clean], &[&found], &rule).unwrap();
        assert_eq!(
            scale,
            rule.next(rule.start(), UpdateInputs::from_findings(&[&clean], &[&found]))
        );
        let (read, state) = device.read(&[&found, &clean], &scale).unwrap();
        assert_eq!(format!("{read:?}"), format!("{:?}", [found, clean]));
        assert_eq!(state, scale);
    }
}
