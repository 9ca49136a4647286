//! Sum of a tensor and a vector along the channel axis.

use crate::{
    Error, Tensor, Wgpu,
    dispatch::{
        Bound, GROUP, groups, parts,
        structs::{self, code, count},
    },
    shaders::{
        Access::{Read, Write},
        Shader,
    },
};
use binade_core::{DType, Op};
use binade_gpu::Driver;
use binade_ops::{BiasAdd, Fill, operands, shape};

pub(super) const SHADERS: &[&Shader] = &[&BIAS_ADD, &CHANNEL_SUMS];

const BIAS_ADD: Shader = Shader {
    name: "bias_add",
    file: "bias_add",
    params: size_of::<structs::Channels>(),
    bindings: &[(1, Read), (2, Read), (3, Write)],
};
const CHANNEL_SUMS: Shader =
    Shader { name: "channel_sums", bindings: &[(1, Read), (3, Write)], ..BIAS_ADD };

/// Samples of a channel that one invocation adds up, as the shader's.
pub(super) const PART: usize = 64;

/// Tensor seen by its channels: [outer, channels, inner].
#[derive(Clone, Copy, Debug)]
pub(super) struct Channels {
    pub(super) outer: usize,
    pub(super) count: usize,
    pub(super) inner: usize,
}

impl Channels {
    /// Describes `shape` with `axis` as the channels.
    pub(super) fn of(shape: &[usize], axis: usize) -> Self {
        Self {
            outer: shape[..axis].iter().product(),
            count: shape[axis],
            inner: shape[axis + 1..].iter().product(),
        }
    }

    /// Returns the number of elements of each channel.
    pub(super) fn samples(self) -> usize {
        self.outer * self.inner
    }
}

impl BiasAdd for Wgpu {
    fn bias_add(&self, input: &Tensor, bias: &Tensor) -> Result<Tensor, Error> {
        let shape = shape::bias_add(input.shape(), bias.shape())?;
        let dtype = operands::float(Op::BIAS_ADD, &[input, bias])?;
        self.has_made_all(&[input, bias])?;
        let (result, of) = (self.unset(dtype, &shape)?, channels(&shape));
        let code = code("bias_add", dtype)?;
        for part in parts(result.len(), dtype.bytes(), self.facts().most_binding_bytes) {
            let [(a, a_start), (output, _)] =
                [input, &result].map(|tensor| Bound::elements(tensor, part.clone()));
            let (b, b_start) = self.whole(bias)?;
            let params = structs::Channels {
                len: count(part.len()),
                dtype: code,
                starts: [a_start, b_start],
                count: count(of.count),
                inner: count(of.inner),
                first: count(part.start),
                samples: 0,
                to: code,
            };
            let groups = groups(part.len().div_ceil(GROUP));
            self.dispatch(&BIAS_ADD, &params, vec![a, b, output], groups)?;
        }
        Ok(result)
    }

    fn bias_add_backward(&self, grad: &Tensor) -> Result<[Tensor; 2], Error> {
        let dtype = operands::float(Op::BIAS_ADD, &[grad])?;
        let of = channels(&shape::softmax(Op::BIAS_ADD, grad.shape())?);
        self.has_made_all(&[grad])?;
        Ok([grad.clone(), self.channel_sums(grad, of, dtype)?])
    }
}

/// Describes a tensor that has a channel axis.
fn channels(shape: &[usize]) -> Channels {
    Channels::of(shape, shape::channels(shape).unwrap_or_default())
}

impl Wgpu {
    /// Returns the sum over each channel's elements, in f32 and rounded once, as a vector of `to`.
    pub(super) fn channel_sums(
        &self,
        values: &Tensor,
        of: Channels,
        to: DType,
    ) -> Result<Tensor, Error> {
        if of.samples() == 0 || of.count == 0 {
            return self.fill(0.0, &[of.count], to);
        }
        let (mut values, mut of) = (values.clone(), of);
        loop {
            let parts = of.samples().div_ceil(PART);
            let dtype = if parts == 1 { to } else { DType::F32 };
            values = self.sums_of_parts(&values, of, parts, dtype)?;
            if parts == 1 {
                return Ok(values);
            }
            of = Channels { outer: parts, count: of.count, inner: 1 };
        }
    }

    /// Returns the sums as `[parts, channels]`, or as `[channels]` if there is one part.
    fn sums_of_parts(
        &self,
        values: &Tensor,
        of: Channels,
        parts: usize,
        to: DType,
    ) -> Result<Tensor, Error> {
        let shape = if parts == 1 { vec![of.count] } else { vec![parts, of.count] };
        let result = self.unset(to, &shape)?;
        let ((from, start), (output, _)) = (self.whole(values)?, self.whole(&result)?);
        let params = structs::Channels {
            len: count(result.len()),
            dtype: code("sum", values.dtype())?,
            starts: [start, 0],
            count: count(of.count),
            inner: count(of.inner),
            first: 0,
            samples: count(of.samples()),
            to: code("sum", to)?,
        };
        let groups = groups(result.len().div_ceil(GROUP));
        self.dispatch(&CHANNEL_SUMS, &params, vec![from, output], groups)?;
        Ok(result)
    }
}
