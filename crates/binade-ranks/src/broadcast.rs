//! Broadcast of rank 0's parameters, and the check that all ranks have the same bits.

use crate::{
    Group, RankDevice, Ranks, RanksError,
    device::Failed,
    header::{Call, hash},
    meeting::Statement,
    model::{Entry, travels},
};
use binade_core::{Named, TensorSpec};

impl<D: RankDevice, G: Group> Ranks<D, G> {
    /// Replaces parameters by those of rank 0. It is called before they are cast to sixteen bits, so that masters are equal too.
    pub(crate) fn begin_alike(
        &self,
        call: Call,
        params: &mut D::Params,
        setting: String,
    ) -> Result<(), Failed<D>> {
        let parameters = self.own_part(|device| parameters(device, params))?;
        let mut bytes = parameters.iter().flat_map(|(_, bytes)| bytes).copied().collect::<Vec<_>>();
        let model = parameters.into_iter().map(|(entry, _)| entry).collect();
        self.meet(Statement { model, ..Statement::of(call, setting) })?;
        self.kept(self.group().broadcast(0, &mut bytes))?;
        if self.group().rank() == 0 {
            return Ok(());
        }
        let (elements, _) = bytes.as_chunks::<4>();
        let mut elements = elements.iter().map(|element| f32::from_le_bytes(*element));
        self.alone(|device| {
            for param in params.iter_mut() {
                let (dtype, shape) = (device.dtype(&param.value), device.shape(&param.value));
                if travels(dtype) {
                    let count = device.element_count(&param.value);
                    let values: Vec<f32> = elements.by_ref().take(count).collect();
                    device.upload_to(&mut param.value, &values, &shape, dtype)?;
                }
            }
            Ok(())
        })
    }

    /// Replaces parameters by those of rank 0. Call it once before training with an optimizer that is not Binade's; `MasterOptimizer` and
    /// `initialize` call it themselves.
    ///
    /// # Errors
    ///
    /// Returns a [`Desync`](crate::Desync) if ranks differ in the names, types or shapes of parameters, and an error if the device or the group
    /// fails.
    pub fn broadcast(&self, params: &mut D::Params) -> Result<(), RanksError<D::Error>> {
        self.begin_alike(Call::Broadcast, params, String::new())
    }

    /// Checks that all ranks have bit-identical parameters. It reads every parameter and sends a hash of each.
    ///
    /// # Errors
    ///
    /// Returns a [`Desync`](crate::Desync) with the first parameter that differs and the ranks on which it differs, and an error if the device or the
    /// group fails.
    pub fn check_equal(&self, params: &D::Params) -> Result<(), RanksError<D::Error>> {
        let hashed = |(entry, bytes): (Entry, Vec<u8>)| {
            let name = format!("{} with the hash {:016x}", entry.name, hash(&bytes)).into();
            Entry { name, ..entry }
        };
        let parameters = self.own_part(|device| parameters(device, params))?;
        let model = parameters.into_iter().map(hashed).collect();
        self.meet(Statement { model, ..Statement::of(Call::CheckEqual, String::new()) })?;
        Ok(())
    }
}

/// Returns each parameter's entry and the bytes of its elements, widened.
fn parameters<D: RankDevice>(
    device: &D,
    params: &D::Params,
) -> Result<Vec<(Entry, Vec<u8>)>, Failed<D>> {
    let one = |Named { name, value }: &Named<D::Tensor>| {
        let spec = TensorSpec::new(device.dtype(value), device.shape(value));
        let values = if travels(spec.dtype) { device.download(value)? } else { Vec::new() };
        let entry = Entry { name: name.clone(), spec: Some(spec), is_whole: true };
        Ok((entry, values.iter().flat_map(|value| value.to_le_bytes()).collect()))
    };
    params.iter().map(one).collect()
}
