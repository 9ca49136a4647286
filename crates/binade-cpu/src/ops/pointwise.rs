//! Element-by-element operations: operands are widened, computed in f32 and narrowed once, in chunks that stay in the cache.
//!
//! A loop is compiled for the processor's features as far as its function is inlined: `f` is an `#[inline(always)]` function, and no
//! closure (see [`Loop`]).

use super::operands::check;
use crate::{
    Error, Stored, Tensor,
    parallel::{self, CHUNK},
    pool::Pooled,
    simd::{self, Loop},
};
use binade_core::ops::OpInvocation;
use binade_core::{DType, Element, TensorSpec};
use half::{bf16, f16};
use std::array;

/// Applies `f` to each element.
pub(super) fn map(
    call: &OpInvocation,
    input: &Tensor,
    f: impl Fn(f32) -> f32 + Copy + Sync,
) -> Result<Tensor, Error> {
    computed(&check(call, &[input])?, [input], &|[x], out| simd::widest(Map { f, x, out }))
}

/// Applies `f` to each pair of elements.
pub(super) fn zip(
    call: &OpInvocation,
    a: &Tensor,
    b: &Tensor,
    f: impl Fn(f32, f32) -> f32 + Copy + Sync,
) -> Result<Tensor, Error> {
    zip_as(&check(call, &[a, b])?, a, b, f)
}

/// Applies `f` to each pair of elements, and returns a tensor of `spec`, which has their shape.
pub(super) fn zip_as(
    spec: &TensorSpec,
    a: &Tensor,
    b: &Tensor,
    f: impl Fn(f32, f32) -> f32 + Copy + Sync,
) -> Result<Tensor, Error> {
    computed(spec, [a, b], &|[a, b], out| simd::widest(Zip { f, a, b, out }))
}

/// Applies `f` to each three elements.
pub(super) fn zip3(
    call: &OpInvocation,
    operands: [&Tensor; 3],
    f: impl Fn(f32, f32, f32) -> f32 + Copy + Sync,
) -> Result<Tensor, Error> {
    let spec = check(call, &operands)?;
    computed(&spec, operands, &|[a, b, c], out| simd::widest(Zip3 { f, a, b, c, out }))
}

/// Function of a chunk of each operand, and of the output's.
type Work<'a, const N: usize> = &'a (dyn Fn([&[f32]; N], &mut [f32]) + Sync);

/// Computes a tensor of `spec`, whose shape the operands have, chunk by chunk.
fn computed<const N: usize>(
    spec: &TensorSpec,
    operands: [&Tensor; N],
    work: Work<'_, N>,
) -> Result<Tensor, Error> {
    match spec.dtype {
        DType::BF16 => Tensor::new(chunks::<bf16, N>(operands, work), &spec.shape),
        DType::F16 => Tensor::new(chunks::<f16, N>(operands, work), &spec.shape),
        _ => Tensor::new(chunks::<f32, N>(operands, work), &spec.shape),
    }
}

fn chunks<E: Element + Stored + Pooled, const N: usize>(
    operands: [&Tensor; N],
    work: Work<'_, N>,
) -> Vec<E> {
    parallel::filled(operands[0].len(), |first, chunk| {
        let (mut wide, mut result) = ([[0.0; CHUNK]; N], [0.0; CHUNK]);
        let (range, result) = (first..first + chunk.len(), &mut result[..chunk.len()]);
        let mut wide = wide.each_mut().into_iter();
        let operand = |n: usize| match wide.next() {
            Some(wide) => operands[n].widened(range.clone(), wide),
            None => &[],
        };
        work(array::from_fn(operand), result);
        simd::narrow(result, chunk);
    })
}

struct Map<'a, F> {
    f: F,
    x: &'a [f32],
    out: &'a mut [f32],
}

impl<F: Fn(f32) -> f32> Loop for Map<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.out.iter_mut().zip(self.x).for_each(|(out, x)| *out = (self.f)(*x));
    }
}

struct Zip<'a, F> {
    f: F,
    a: &'a [f32],
    b: &'a [f32],
    out: &'a mut [f32],
}

impl<F: Fn(f32, f32) -> f32> Loop for Zip<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let operands = self.a.iter().zip(self.b);
        self.out.iter_mut().zip(operands).for_each(|(out, (a, b))| *out = (self.f)(*a, *b));
    }
}

struct Zip3<'a, F> {
    f: F,
    a: &'a [f32],
    b: &'a [f32],
    c: &'a [f32],
    out: &'a mut [f32],
}

impl<F: Fn(f32, f32, f32) -> f32> Loop for Zip3<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let operands = self.a.iter().zip(self.b).zip(self.c);
        let elements = self.out.iter_mut().zip(operands);
        elements.for_each(|(out, ((a, b), c))| *out = (self.f)(*a, *b, *c));
    }
}
