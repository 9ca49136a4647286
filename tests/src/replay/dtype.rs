//! Element types as recordings name them, and their codes.

use super::bits::same_bits;
use super::error::{Wrong, same};
use super::trace::Grads;
use binade_core::cast::{E4M3, E5M2};
use binade_core::{DType, Format};
use half::{bf16, f16};

/// The element type of this name, torch's or ours.
pub(super) fn named(name: &str) -> Result<DType, Wrong> {
    Ok(match name {
        "bf16" | "bfloat16" => DType::BF16,
        "f16" | "float16" => DType::F16,
        "f32" | "float32" => DType::F32,
        "f64" | "float64" => DType::F64,
        "e4m3fn" | "float8_e4m3fn" => DType::E4M3,
        "e5m2" | "float8_e5m2" => DType::E5M2,
        "i64" | "int64" => DType::I64,
        "i32" | "int32" => DType::I32,
        "u8" | "uint8" => DType::U8,
        "bool" => DType::Bool,
        _ => return Err(unknown(name)),
    })
}

/// Returns the type of this name among those that are cast.
pub(super) fn castable(name: &str) -> Result<DType, Wrong> {
    named(name).ok().filter(|dtype| dtype.is_castable()).ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> Wrong {
    Wrong::Recording(format!("the element type {name} is not known here"))
}

/// The facts of its format.
pub(super) fn format(dtype: DType) -> Result<Format, Wrong> {
    dtype.format().ok_or_else(|| Wrong::Recording(format!("{dtype} is no floating-point type")))
}

/// The value of a code.
pub(super) fn decode(dtype: DType, code: u32) -> Result<f32, Wrong> {
    let wide = || Wrong::Recording(format!("{code:#x} is too wide for {dtype}"));
    let narrow16 = || u16::try_from(code).map_err(|_| wide());
    let narrow8 = || u8::try_from(code).map_err(|_| wide());
    Ok(match dtype {
        DType::BF16 => bf16::from_bits(narrow16()?).to_f32(),
        DType::F16 => f16::from_bits(narrow16()?).to_f32(),
        DType::F32 => f32::from_bits(code),
        DType::E4M3 => E4M3::from_bits(narrow8()?).to_f32(),
        DType::E5M2 => E5M2::from_bits(narrow8()?).to_f32(),
        other => return Err(unknown(other.name())),
    })
}

pub(super) fn decoded(dtype: DType, codes: &[u32]) -> Result<Vec<f32>, Wrong> {
    codes.iter().map(|&code| decode(dtype, code)).collect()
}

/// Passes where every gradient has the recorded bits, those of `dtype`, or is missing on both sides.
pub(super) fn same_grads(
    grads: &[Option<Vec<f32>>],
    recorded: &Grads,
    dtype: DType,
) -> Result<(), Wrong> {
    same("the number of gradients", &grads.len(), &recorded.len())?;
    for (i, (grad, was)) in grads.iter().zip(recorded).enumerate() {
        match (grad, was) {
            (None, None) => {}
            (Some(grad), Some(was)) => {
                let was: Vec<_> = decoded(dtype, was)?.into_iter().map(f32::to_bits).collect();
                same_bits(&format!("gradient {i}"), grad, &was)?;
            }
            _ => return Err(Wrong::Result(format!("gradient {i} is missing on one side"))),
        }
    }
    Ok(())
}
