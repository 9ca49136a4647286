//! Shaders on channels.

use super::operands::{by_group, pieces};
use crate::{
    Result, Tensor, Wgpu,
    dispatch::{
        Bound,
        structs::{self, code, count},
    },
};
use binade_core::DType;
use binade_gpu::{ChannelKernels, Channels, Driver, PointwiseKernels};

/// Samples of a channel that one invocation adds up, as the shader's.
pub(super) const PART: usize = 64;

impl ChannelKernels for Wgpu {
    fn launch_bias_add(&self, [input, bias, result]: [&Tensor; 3], of: Channels) -> Result {
        let dtype = code("bias_add", result.dtype())?;
        for part in self.parts_of(result) {
            let (mut bound, [start, _]) = pieces(&[input], &part);
            let (bias, bias_start) = self.whole(bias)?;
            bound.extend([bias, Bound::elements(result, part.clone()).0]);
            let params = structs::Channels {
                len: count(part.len()),
                dtype,
                starts: [start, bias_start],
                count: count(of.count),
                inner: count(of.inner),
                first: count(part.start),
                samples: 0,
                to: dtype,
            };
            self.dispatch("bias_add", &params, bound, by_group(part.len()))?;
        }
        Ok(())
    }

    /// Adds in f32, part by part, until there is one.
    fn launch_channel_sums(&self, values: &Tensor, of: Channels, result: &Tensor) -> Result {
        if of.samples() == 0 || of.count == 0 {
            return self.launch_fill(0.0, result);
        }
        let (mut values, mut of) = (values.clone(), of);
        while of.samples() > PART {
            let parts = of.samples().div_ceil(PART);
            let sums = self.unset(DType::F32, &[parts, of.count])?;
            self.sums_of_parts(&values, of, &sums)?;
            (values, of) = (sums, Channels { outer: parts, count: of.count, inner: 1 });
        }
        self.sums_of_parts(&values, of, result)
    }
}

impl Wgpu {
    /// Computes the sums as `[parts, channels]`, or as `[channels]` if there is one part.
    fn sums_of_parts(&self, values: &Tensor, of: Channels, result: &Tensor) -> Result {
        let ((from, start), (output, _)) = (self.whole(values)?, self.whole(result)?);
        let params = structs::Channels {
            len: count(result.len()),
            dtype: code("sum", values.dtype())?,
            starts: [start, 0],
            count: count(of.count),
            inner: count(of.inner),
            first: 0,
            samples: count(of.samples()),
            to: code("sum", result.dtype())?,
        };
        self.dispatch("channel_sums", &params, vec![from, output], by_group(result.len()))
    }
}
