//! burn as a subject of the kit, through the traits that users call.
//!
//! It is here and not in the example that reports on it, because the adapter's tests belong to the adapter.

use binade_autocast::Autocast;
use binade_burn::{Burn, BurnTensor, require_dtype};
use binade_conformance::{Arithmetic, Result, Runner, Subject};
use binade_core::DType;
use burn::tensor::{Device, TensorData};

/// burn's backend for CPUs.
#[derive(Clone, Debug)]
pub(crate) struct Flex(Device);

impl Default for Flex {
    fn default() -> Self {
        Self(Device::flex())
    }
}

impl Subject for Flex {
    type Handle = Burn;

    fn handle(&self) -> Option<&Burn> {
        Some(&Burn)
    }

    fn name(&self) -> &'static str {
        "burn-flex"
    }

    fn arithmetic(&self) -> Arithmetic {
        Arithmetic::IEEE
    }

    fn from_bits(&self, bits: &[u8], dtype: DType, shape: &[usize]) -> Result<BurnTensor> {
        let dtype = require_dtype(&self.0, dtype)?;
        let data = TensorData::from_bytes_vec(bits.to_vec(), shape.to_vec(), dtype.into());
        Ok(BurnTensor::from_data(data, &self.0)?)
    }

    fn to_bits(&self, tensor: &BurnTensor) -> Result<Vec<u8>> {
        Ok(tensor.flat().into_data().as_bytes().to_vec())
    }

    fn cast(&self, tensor: &BurnTensor, to: DType) -> Result<BurnTensor> {
        Ok(Autocast::cast(&Burn, tensor, to)?)
    }
}

/// Names of all operations.
macro_rules! names {
    ({} $($trait:ident $name:ident $methods:tt)*) => { [$(stringify!($name)),*] };
}

/// Returns the runner with the skips of operations that the handle lacks excused, each with a reason.
pub(crate) fn excused(runner: Runner) -> Runner {
    let runner = runner
        .excuse("views_are_read_in_row_major_order", "burn makes no view of strides alone")
        .excuse("e4m3", "burn has no tensors of E4M3")
        .excuse("e5m2", "burn has no tensors of E5M2")
        .excuse("stochastic_cast/", "burn's casts round to nearest even")
        .excuse("multi_tensor/", "burn has no operations on sets of tensors")
        .excuse("sparse/", "burn's embeddings have whole gradients")
        .excuse(
            "two_hundred_steps_track_the_loss_of_f32",
            "its pass is made of operations of a handle",
        );
    binade_conformance::ops::for_each_op!([names]).into_iter().fold(runner, |runner, operation| {
        let reason = match operation {
            "dropout" => "burn draws from a generator of its own",
            _ => "a model calls burn's own operation, and no handle",
        };
        runner.excuse(format!("{operation}/"), reason)
    })
}
