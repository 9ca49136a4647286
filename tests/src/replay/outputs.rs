//! `scale()` on outputs of any element type, by torch's promotion.

use super::error::{Stop, Wrong, same};
use binade_core::Element;
use binade_interchange::protocol::{ProtocolError, ProtocolScaler};
use half::{bf16, f16};

/// Outputs as recorded: an element type, and bits.
#[derive(Clone, Debug)]
pub(super) struct Outputs {
    pub(super) dtype: String,
    pub(super) bits: Vec<u64>,
}

impl Outputs {
    /// Returns what `scale` makes of them. A single one has no dimensions, and comes out in `f32` at least.
    pub(super) fn scaled(&self, scaler: &mut ProtocolScaler) -> Result<Self, Stop> {
        let (bits, name) = (&self.bits, self.dtype.as_str());
        let outputs = match name {
            "bfloat16" => {
                scale(scaler, name, &read(bits, bf16::from_bits)?, |x| x.to_bits().into())
            }
            "float16" => scale(scaler, name, &read(bits, f16::from_bits)?, |x| x.to_bits().into()),
            "float32" => scale(scaler, name, &read(bits, f32::from_bits)?, |x| x.to_bits().into()),
            "float64" => scale_f64(scaler, bits),
            _ => {
                return Err(
                    Wrong::Recording(format!("outputs of {name} are not known here")).into()
                );
            }
        };
        Ok(outputs?)
    }

    /// Passes where type and bits are the recorded ones, or both are NaN.
    pub(super) fn same(&self, dtype: &str, recorded: &[u64]) -> Result<(), Wrong> {
        same("the outputs' type", &self.dtype.as_str(), &dtype)?;
        same("the number of outputs", &self.bits.len(), &recorded.len())?;
        for (i, (&got, &was)) in self.bits.iter().zip(recorded).enumerate() {
            if got != was && !(self.is_nan(got) && self.is_nan(was)) {
                return Err(Wrong::Result(format!(
                    "output {i} is {got:#x}, and was {was:#x} ({dtype})"
                )));
            }
        }
        Ok(())
    }

    /// Returns true if these bits are a NaN: an exponent of ones, above the bits of infinity.
    fn is_nan(&self, bits: u64) -> bool {
        let (infinity, magnitude) = match self.dtype.as_str() {
            "bfloat16" => (0x7F80, bits & 0x7FFF),
            "float16" => (0x7C00, bits & 0x7FFF),
            "float32" => (0x7F80_0000, bits & 0x7FFF_FFFF),
            _ => (0x7FF0_0000_0000_0000, bits & (u64::MAX >> 1)),
        };
        magnitude > infinity
    }
}

fn read<B: TryFrom<u64>, E>(bits: &[u64], decode: fn(B) -> E) -> Result<Vec<E>, Wrong> {
    let wide = |bits| Wrong::Recording(format!("{bits:#x} is too wide for its element type"));
    bits.iter().map(|&bits| B::try_from(bits).map(decode).map_err(|_| wide(bits))).collect()
}

fn scale<E: Element>(
    scaler: &mut ProtocolScaler,
    dtype: &str,
    values: &[E],
    encode: fn(E) -> u64,
) -> Result<Outputs, ProtocolError> {
    if let [loss] = values {
        let bits = scaler.scale(*loss)?.to_bits().into();
        return Ok(Outputs { dtype: "float32".into(), bits: vec![bits] });
    }
    let mut outputs = values.to_vec();
    scaler.scale_slice(&mut outputs)?;
    Ok(Outputs { dtype: dtype.into(), bits: outputs.into_iter().map(encode).collect() })
}

fn scale_f64(scaler: &mut ProtocolScaler, bits: &[u64]) -> Result<Outputs, ProtocolError> {
    let one = |bits: &u64| scaler.scale_f64(f64::from_bits(*bits)).map(f64::to_bits);
    let bits = bits.iter().map(one).collect::<Result<_, _>>()?;
    Ok(Outputs { dtype: "float64".into(), bits })
}
