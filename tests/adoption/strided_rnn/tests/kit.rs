//! The conformance kit over the strided tensor.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use binade::prelude::*;
use binade_adoption_strided_rnn::tensor::{Elements, Strided};
use binade_conformance::{Layout, Result, Runner, SubjectError};
use half::{bf16, f16};

struct Subject(HostDevice<Strided>);

// glue: kit
impl binade_conformance::Subject for Subject {
    type Handle = HostDevice<Strided>;
    fn handle(&self) -> Option<&HostDevice<Strided>> {
        Some(&self.0)
    }
    fn from_bits(&self, bits: &[u8], dtype: DType, shape: &[usize]) -> Result<Strided> {
        from_bits(bits, dtype, shape).ok_or_else(|| SubjectError::unsupported(dtype.name()))
    }
    fn to_bits(&self, tensor: &Strided) -> Result<Vec<u8>> {
        Ok(to_bits(tensor))
    }
    fn cast(&self, tensor: &Strided, to: DType) -> Result<Strided> {
        Ok(tensor.cast(to)?)
    }
    // end of glue
    // glue: views
    fn view(&self, bits: &[u8], dtype: DType, shape: &[usize], layout: Layout) -> Result<Strided> {
        let tensor = self.from_bits(bits, dtype, shape)?;
        let [rows, columns] = tensor.shape;
        match layout {
            Layout::Transposed => {
                let turned = tensor.transposed().values();
                Ok(Strided::rounded(&turned, [columns, rows], dtype)?.transposed())
            }
            Layout::Offset(_) => Ok(tensor),
            _ => Err(SubjectError::unsupported("a gap behind each element")),
        }
    }
    // end of glue
}

// glue: bits
fn from_bits(bits: &[u8], dtype: DType, shape: &[usize]) -> Option<Strided> {
    let halves = || bits.as_chunks().0.iter().map(|bits| u16::from_le_bytes(*bits));
    let elements = match dtype {
        DType::BF16 => Elements::BF16(halves().map(bf16::from_bits).collect()),
        DType::F16 => Elements::F16(halves().map(f16::from_bits).collect()),
        DType::F32 => {
            Elements::F32(bits.as_chunks().0.iter().map(|bits| f32::from_le_bytes(*bits)).collect())
        }
        _ => return None,
    };
    let columns = shape.last().copied().unwrap_or(1);
    let rows = shape.iter().rev().skip(1).product();
    Some(Strided::of(elements, [rows, columns]))
}

fn to_bits(tensor: &Strided) -> Vec<u8> {
    let values = tensor.values().into_iter();
    match tensor.dtype() {
        DType::BF16 => values.flat_map(|x| bf16::from_f32(x).to_le_bytes()).collect(),
        DType::F16 => values.flat_map(|x| f16::from_f32(x).to_le_bytes()).collect(),
        _ => values.flat_map(f32::to_le_bytes).collect(),
    }
}
// end of glue

#[test]
fn the_kit_holds_what_a_training_loop_uses() {
    for cases in ["cast/", "scale/", "unscale/", "clip/", "accumulate/", "adam/", "sgd/"] {
        Runner::new().only(cases).run(&Subject(HostDevice::new())).assert_success();
    }
}
