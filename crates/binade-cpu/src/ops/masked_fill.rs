//! Replacement of masked elements by one value.

use super::operands::check;
use crate::{Cpu, Error, Stored, Tensor, parallel};
use binade_core::ops::{MaskedFill, OpInvocation};
use binade_core::{DType, Element};
use half::{bf16, f16};

impl MaskedFill for Cpu {
    fn masked_fill(&self, input: &Tensor, mask: &Tensor, value: f32) -> Result<Tensor, Error> {
        let dtype = check(&OpInvocation::MaskedFill { value }, &[input, mask])?.dtype;
        match dtype {
            DType::BF16 => filled::<bf16>(input, mask, value),
            DType::F16 => filled::<f16>(input, mask, value),
            _ => filled::<f32>(input, mask, value),
        }
    }
}

/// Copies elements of type `E`, line by line of the mask, and replaces the masked ones.
fn filled<E: Element + Stored>(input: &Tensor, mask: &Tensor, value: f32) -> Result<Tensor, Error> {
    let mut to = input.as_slice::<E>().unwrap_or_default().to_vec();
    let (mask, value) = (mask.to_f32(), E::from_f32(value));
    parallel::rows(&mut to, mask.len().max(1), mask.len(), |_, lines| {
        for line in lines.chunks_exact_mut(mask.len()) {
            let elements = line.iter_mut().zip(&*mask);
            elements.filter(|(_, mask)| **mask != 0.0).for_each(|(to, _)| *to = value);
        }
    });
    Tensor::new(to, input.shape())
}
