//! The flag of a finding, for reductions among devices.

use crate::{Cuda, Error, Found};

impl Cuda {
    /// Writes `value` into the flag of a finding: the result of a reduction among devices.
    ///
    /// The flag alone leaves `halted` and the magnitude, by which [`LogMax`](binade_grad_scaler::LogMax) moves the scale, as
    /// each device has them; [`reduce_on_host`](binade_grad_scaler::ScaleStore::reduce_on_host) joins all of a finding.
    ///
    /// # Errors
    ///
    /// When the device fails.
    pub fn write_flag(&self, found: &mut Found, value: u32) -> Result<(), Error> {
        let bits = found.own(self)?;
        self.put(&value.to_le_bytes(), bits, 0)
    }
}
