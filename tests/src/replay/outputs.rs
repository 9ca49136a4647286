//! `scale()` on outputs of any element type, by torch's promotion.

use super::bits::same_num;
use super::dtype;
use super::error::{Stop, Wrong, same};
use binade_core::{DType, Element};
use binade_interchange::protocol::{ProtocolError, ProtocolScaler};
use half::{bf16, f16};

/// Outputs by their element type and their bits.
pub(super) type Outputs<'a> = (&'a str, &'a [u64]);

/// Passes where `scale` makes of `given` what was recorded. A single output has no dimensions, and comes out in `f32` at least.
pub(super) fn compare(
    scaler: &mut ProtocolScaler,
    given: Outputs<'_>,
    recorded: Option<Outputs<'_>>,
) -> Result<(), Stop> {
    let (values, own) = (values(given)?, dtype::named(given.0)?);
    let outputs = match own {
        DType::BF16 => scaled::<bf16>(scaler, &values)?,
        DType::F16 => scaled::<f16>(scaler, &values)?,
        DType::F32 => scaled::<f32>(scaler, &values)?,
        _ => {
            let scale = f64::from(scaler.scale(1.0_f32)?);
            values.iter().map(|x| x * scale).collect()
        }
    };
    let (name, recorded) = recorded.ok_or(Stop::Unrecorded)?;
    let is_widened = values.len() == 1 && own != DType::F64;
    same("the outputs' type", &if is_widened { DType::F32 } else { own }, &dtype::named(name)?)?;
    let recorded = self::values((name, recorded))?;
    same("the number of outputs", &outputs.len(), &recorded.len())?;
    for (i, (got, was)) in outputs.into_iter().zip(recorded).enumerate() {
        same_num(&format!("output {i} ({name})"), got, was)?;
    }
    Ok(())
}

fn values((name, bits): Outputs<'_>) -> Result<Vec<f64>, Wrong> {
    if name == "float64" {
        return Ok(bits.iter().map(|&bits| f64::from_bits(bits)).collect());
    }
    let dtype = dtype::castable(name)?;
    let wide = |_| Wrong::Recording(format!("an output is too wide for {dtype}"));
    let value = |&bits: &u64| dtype::decode(dtype, u32::try_from(bits).map_err(wide)?);
    bits.iter().map(|bits| value(bits).map(f64::from)).collect()
}

fn scaled<E: Element>(
    scaler: &mut ProtocolScaler,
    values: &[f64],
) -> Result<Vec<f64>, ProtocolError> {
    #[expect(clippy::cast_possible_truncation, reason = "decoded from no more than f32")]
    let mut outputs: Vec<_> = values.iter().map(|&x| E::from_f32(x as f32)).collect();
    if let [loss] = outputs[..] {
        return Ok(vec![f64::from(scaler.scale(loss)?)]);
    }
    scaler.scale_slice(&mut outputs)?;
    Ok(outputs.into_iter().map(|x| f64::from(x.to_f32())).collect())
}
