//! candle as the kit's subject: tensors from bits and back, and the rest by the handle's traits.

use binade_autocast::Autocast;
use binade_candle::Candle;
use binade_conformance::via::{self, Device};
use binade_conformance::{Arithmetic, Clip, Refusal, Unscaled};
use binade_core::{DType, NamedGrads};
use binade_grad_scaler::{ClipGroup, ScaleState};
use candle_core::{Device as On, Tensor};

/// candle's tensors on the CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CandleCpu;

impl Device for CandleCpu {
    type Handle = Candle;

    fn handle(&self) -> &Candle {
        &Candle
    }

    fn name(&self) -> &'static str {
        "candle"
    }

    fn arithmetic(&self) -> Arithmetic {
        Arithmetic::IEEE
    }

    fn from_bits(&self, bits: &[u8], dtype: DType, shape: &[usize]) -> Result<Tensor, Refusal> {
        let dtype = match dtype {
            DType::E4M3 => candle_core::DType::F8E4M3,
            DType::E5M2 => return Err(Refusal::unsupported("a tensor of e5m2 in candle")),
            other => binade_candle::candle_dtype(other)?,
        };
        Tensor::from_raw_buffer(bits, dtype, shape, &On::Cpu).map_err(failed)
    }

    fn at_offset(
        &self,
        bits: &[u8],
        dtype: DType,
        shape: &[usize],
        offset: usize,
    ) -> Result<Tensor, Refusal> {
        let mut padded = vec![0; offset * dtype.bytes()];
        padded.extend_from_slice(bits);
        let len = bits.len() / dtype.bytes();
        let whole = self.from_bits(&padded, dtype, &[offset + len])?;
        whole.narrow(0, offset, len).and_then(|view| view.reshape(shape)).map_err(failed)
    }

    fn to_bits(&self, tensor: &Tensor) -> Result<Vec<u8>, Refusal> {
        let mut bytes = Vec::new();
        tensor.write_bytes(&mut bytes).map_err(failed)?;
        Ok(bytes)
    }

    fn cast(&self, tensor: &Tensor, to: DType) -> Result<Tensor, Refusal> {
        Ok(Autocast::cast(&Candle, tensor, to)?)
    }

    fn clip_groups(
        &self,
        grads: NamedGrads<Tensor>,
        scale: ScaleState,
        first: Option<Clip>,
        groups: &[ClipGroup],
    ) -> Result<Unscaled<Tensor>, Refusal> {
        via::clip_groups(&Candle, grads, scale, first, groups)
    }
}

fn failed(error: candle_core::Error) -> Refusal {
    Refusal::from(binade_candle::Error::from(error))
}

/// Cases of what candle or the handle lacks, and why; excused where `BINADE_REQUIRE` names candle.
pub(crate) const LACKING: [(&str, &str); 25] = [
    ("e5m2", "candle has no such type"),
    ("-e4m3/", "candle's cast to F8E4M3 saturates, and the handle refuses it"),
    ("stochastic_cast/f32-bf16", NO_STOCHASTIC),
    ("stochastic_cast/f32-f16", NO_STOCHASTIC),
    ("matmul/", OWN),
    ("sum/", OWN),
    ("mean/", OWN),
    ("fill/", OWN),
    ("reshape/", OWN),
    ("relu/", OWN),
    ("gelu/", OWN),
    ("tanh/", OWN),
    ("add/", OWN),
    ("mul/", OWN),
    ("linear/", OWN),
    ("bmm/", OWN),
    ("conv2d/", OWN),
    ("softmax/", OWN),
    ("layer_norm/", OWN),
    ("batch_norm/", OWN),
    ("mse_loss/", OWN),
    ("cross_entropy/", OWN),
    ("embedding/", OWN),
    ("dropout/", OWN),
    ("max_pool2d/", OWN),
];

const NO_STOCHASTIC: &str =
    "candle casts to nearest even alone; masters that round by chance are the handle's, and run";
const OWN: &str = "candle brings its operations and their backward itself";
