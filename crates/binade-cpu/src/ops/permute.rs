//! Reordering of axes.

use super::operands::check;
use crate::{Cpu, Error, Stored, Tensor, parallel};
use binade_core::ops::{OpInvocation, Permute, shape::Permutation};
use binade_core::{DType, TensorSpec};
use half::{bf16, f16};

impl Permute for Cpu {
    fn permute(&self, input: &Tensor, axes: &[usize]) -> Result<Tensor, Error> {
        let call = OpInvocation::Permute { axes: axes.to_vec() };
        let TensorSpec { dtype, shape } = check(&call, &[input])?;
        let permutation = Permutation::new(input.shape(), axes);
        if permutation.keeps_order() {
            return input.reshape(&shape);
        }
        match dtype {
            DType::BF16 => moved(input, &permutation, &shape, bf16::ZERO),
            DType::F16 => moved(input, &permutation, &shape, f16::ZERO),
            _ => moved(input, &permutation, &shape, 0.0_f32),
        }
    }
}

/// Copies elements of type `E` to their places, line by line of the last axis.
fn moved<E: Stored>(
    input: &Tensor,
    Permutation { extents, strides }: &Permutation,
    shape: &[usize],
    zero: E,
) -> Result<Tensor, Error> {
    let from = input.as_slice::<E>().unwrap_or_default();
    let mut to = vec![zero; from.len()];
    let (Some((width, outer)), Some((step, outer_strides))) =
        (extents.split_last(), strides.split_last())
    else {
        return Tensor::new(to, shape);
    };
    let start = |mut line: usize| {
        let axes = outer.iter().zip(outer_strides).rev();
        axes.fold(0, |start, (extent, stride)| {
            let place = line % extent;
            line /= extent;
            start + place * stride
        })
    };
    parallel::rows(&mut to, *width, *width, |first, lines| {
        for (number, line) in lines.chunks_exact_mut(*width).enumerate() {
            let from = &from[start(first + number)..];
            if *step == 1 {
                line.copy_from_slice(&from[..*width]);
            } else {
                let moves = line.iter_mut().zip(from.iter().step_by(*step));
                moves.for_each(|(to, from)| *to = *from);
            }
        }
    });
    Tensor::new(to, shape)
}
