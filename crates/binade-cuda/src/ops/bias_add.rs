//! Sum of a tensor and a vector along the channel axis.

use crate::{
    Cuda, Error, Tensor,
    autocast::{code, elementwise},
    kernels::{Kernel, THREADS},
    launch::{
        Arg, Grid,
        Param::{Address, U32, U64},
    },
};
use binade_core::{DType, Op};
use binade_gpu::Driver;
use binade_ops::{BiasAdd, operands, shape};

pub(super) const KERNELS: &[&Kernel] = &[&BIAS_ADD, &BIAS_ADD_BACKWARD, &BIAS_ADD_FINISH];

const BIAS_ADD: Kernel = Kernel {
    name: "bias_add",
    module: "bias_add",
    params: &[Address, Address, Address, U32, U64, U64, U64],
};
const BIAS_ADD_BACKWARD: Kernel = Kernel {
    name: "bias_add_backward",
    module: "bias_add",
    params: &[Address, Address, U32, U64, U64, U64, U64],
};
const BIAS_ADD_FINISH: Kernel = Kernel {
    name: "bias_add_finish",
    module: "bias_add",
    params: &[Address, Address, U32, U64, U64],
};

impl BiasAdd for Cuda {
    fn bias_add(&self, input: &Tensor, bias: &Tensor) -> Result<Tensor, Error> {
        self.has_made_all(&[input, bias])?;
        let shape = shape::bias_add(input.shape(), bias.shape())?;
        let dtype = operands::float(Op::BIAS_ADD, &[input, bias])?;
        let (result, of) = (self.unset(dtype, &shape)?, Channels::of(&shape));
        let args = [
            Arg::Address(input.address()),
            Arg::Address(bias.address()),
            Arg::Address(result.address()),
            Arg::U32(code(BIAS_ADD.name, dtype)?),
            Arg::U64(result.len() as u64),
            Arg::U64(of.count as u64),
            Arg::U64(of.inner as u64),
        ];
        self.launch(&BIAS_ADD, elementwise(result.len()), &args)?;
        Ok(result)
    }

    fn bias_add_backward(&self, grad: &Tensor) -> Result<[Tensor; 2], Error> {
        self.has_made_all(&[grad])?;
        let dtype = operands::float(Op::BIAS_ADD, &[grad])?;
        let of = Channels::of(&shape::softmax(Op::BIAS_ADD, grad.shape())?);
        Ok([grad.clone(), self.channel_sums(grad, of, dtype)?])
    }
}

/// Tensor seen by its channels: [outer, channels, inner].
#[derive(Clone, Copy)]
pub(super) struct Channels {
    pub(super) outer: usize,
    pub(super) count: usize,
    pub(super) inner: usize,
}

/// Elements that a block adds up, and below it the channels that it does so for if they are neighbours; as in the kernel.
const PART: usize = 16384;
const ACROSS: usize = 32;

impl Channels {
    /// Describes a tensor that has a channel axis.
    fn of(shape: &[usize]) -> Self {
        let axis = shape::channels(shape).unwrap_or_default();
        Self {
            outer: shape[..axis].iter().product(),
            count: shape[axis],
            inner: shape[axis + 1..].iter().product(),
        }
    }

    /// Returns the number of tiles of channels, and of parts that each channel's samples are cut into: at least one, even of no
    /// samples.
    fn tiles_and_parts(self) -> [usize; 2] {
        let across = if self.inner == 1 { ACROSS } else { 1 };
        let samples = self.outer * self.inner;
        [self.count.div_ceil(across), samples.div_ceil(PART / across).max(1)]
    }
}

impl Cuda {
    /// Returns the sum over each channel's elements, added in f64 and rounded to f32 once, as a vector of `dtype`.
    pub(super) fn channel_sums(
        &self,
        grad: &Tensor,
        of: Channels,
        dtype: DType,
    ) -> Result<Tensor, Error> {
        let ([tiles, parts], result) = (of.tiles_and_parts(), self.unset(dtype, &[of.count])?);
        let sums = self.buffer(parts * of.count * size_of::<f64>())?;
        let (code, to) = (Arg::U32(code(BIAS_ADD.name, dtype)?), Arg::Address(sums.address()));
        let [outer, count, inner, all_parts] =
            [of.outer, of.count, of.inner, parts].map(|extent| Arg::U64(extent as u64));
        let args = [Arg::Address(grad.address()), to, code, outer, count, inner, all_parts];
        self.launch(&BIAS_ADD_BACKWARD, blocks(tiles * parts), &args)?;
        let args = [to, Arg::Address(result.address()), code, count, all_parts];
        let warps = of.count.div_ceil(THREADS as usize / 32);
        self.launch(&BIAS_ADD_FINISH, blocks(warps), &args)?;
        Ok(result)
    }
}

/// Returns a grid of `wanted` blocks, at least one and at most `MOST_BLOCKS`.
fn blocks(wanted: usize) -> Grid {
    Grid { blocks: u32::try_from(wanted.clamp(1, MOST_BLOCKS)).unwrap_or(1), threads: THREADS }
}

/// Number of blocks beyond which a grid strides.
const MOST_BLOCKS: usize = 1 << 14;
