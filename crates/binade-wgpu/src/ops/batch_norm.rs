//! Normalisation over the batch, by channel.

use super::{bias_add::Channels, roles::Role, rows::team, total::divisor};
use crate::{
    Error, Tensor, Wgpu,
    dispatch::{
        GROUP, groups,
        structs::{self, code, count},
    },
    shaders::{
        Access::{Read, Write},
        Shader,
    },
};
use binade_core::{DType, Op};
use binade_gpu::Driver;
use binade_ops::{
    BatchNorm, BatchNormConfig, BatchNormOutput, NormGrads, RunningStats, operands, shape,
};

pub(super) const SHADERS: &[&Shader] = &[
    &BATCH_NORM_NUMBERS,
    &BATCH_NORM_RUNNING_NUMBERS,
    &BATCH_NORM_RUNNING,
    &BATCH_NORM,
    &BATCH_NORM_BACKWARD_NUMBERS,
    &BATCH_NORM_PARAMETERS,
    &BATCH_NORM_BACKWARD,
];

const BATCH_NORM_NUMBERS: Shader = Shader {
    name: "batch_norm_numbers",
    file: "batch_norm",
    params: size_of::<structs::BatchNorm>(),
    bindings: &[(1, Read), (3, Write)],
};
const BATCH_NORM_RUNNING_NUMBERS: Shader = Shader {
    name: "batch_norm_running_numbers",
    bindings: &[(1, Read), (2, Read), (3, Write)],
    ..BATCH_NORM_NUMBERS
};
const BATCH_NORM_RUNNING: Shader = Shader {
    name: "batch_norm_running",
    bindings: &[(1, Read), (3, Write), (4, Read)],
    ..BATCH_NORM_NUMBERS
};
const BATCH_NORM: Shader = Shader {
    name: "batch_norm",
    bindings: &[(1, Read), (3, Write), (4, Read), (5, Read), (6, Read)],
    ..BATCH_NORM_NUMBERS
};
const BATCH_NORM_BACKWARD_NUMBERS: Shader = Shader {
    name: "batch_norm_backward_numbers",
    bindings: &[(1, Read), (2, Read), (3, Write), (4, Read)],
    ..BATCH_NORM_NUMBERS
};
const BATCH_NORM_PARAMETERS: Shader = Shader {
    name: "batch_norm_parameters",
    bindings: &[(3, Write), (6, Read)],
    ..BATCH_NORM_NUMBERS
};
const BATCH_NORM_BACKWARD: Shader = Shader {
    name: "batch_norm_backward",
    bindings: &[(1, Read), (2, Read), (3, Write), (4, Read), (5, Read), (6, Read)],
    ..BATCH_NORM_NUMBERS
};

/// Numbers of each channel, as the shader's `numbers`, and below it the indices of those moved into the running statistics.
const NUMBERS: usize = 3;
const MEAN: u32 = 0;
const VAR: u32 = 2;

/// Sums of each channel, as the shader's `third`.
const SUMS: usize = 2;

impl BatchNorm for Wgpu {
    fn batch_norm(
        &self,
        input: &Tensor,
        weight: &Tensor,
        bias: &Tensor,
        running: &RunningStats<Tensor>,
        config: BatchNormConfig,
    ) -> Result<BatchNormOutput<Tensor>, Error> {
        let layer = Layer::new(self, input, &[weight, bias], Some(running), config.eps)?;
        shape::batch_norm_samples(input.shape())?;
        let numbers = layer.numbers()?;
        Ok(BatchNormOutput {
            output: layer.normalise(weight, bias, &numbers)?,
            running: layer.moved(running, &numbers, config.momentum)?,
        })
    }

    fn batch_norm_inference(
        &self,
        input: &Tensor,
        weight: &Tensor,
        bias: &Tensor,
        running: &RunningStats<Tensor>,
        eps: f32,
    ) -> Result<Tensor, Error> {
        let layer = Layer::new(self, input, &[weight, bias], Some(running), eps)?;
        let numbers = layer.running_numbers(running)?;
        layer.normalise(weight, bias, &numbers)
    }

    fn batch_norm_backward(
        &self,
        grad: &Tensor,
        input: &Tensor,
        weight: &Tensor,
        eps: f32,
    ) -> Result<NormGrads<Tensor>, Error> {
        let layer = Layer::new(self, input, &[weight], None, eps)?;
        shape::batch_norm_samples(input.shape())?;
        operands::grad(Op::BATCH_NORM, grad, input.shape(), input.dtype())?;
        self.has_made_all(&[grad])?;
        layer.grads(grad, weight)
    }
}

/// One normalisation, whose operands have been checked.
struct Layer<'a> {
    wgpu: &'a Wgpu,
    input: &'a Tensor,
    of: Channels,
    /// Parameters without the places where operands begin.
    params: structs::BatchNorm,
}

impl<'a> Layer<'a> {
    /// Checks the operands against the contract.
    fn new(
        wgpu: &'a Wgpu,
        input: &'a Tensor,
        parameters: &[&Tensor],
        running: Option<&RunningStats<Tensor>>,
        eps: f32,
    ) -> Result<Self, Error> {
        let running: Vec<&Tensor> =
            running.map_or_else(Vec::new, |running| vec![&running.mean, &running.var]);
        let vectors: Vec<&[usize]> = parameters.iter().chain(&running).map(|t| t.shape()).collect();
        shape::batch_norm(input.shape(), &vectors)?;
        let (dtype, of_parameters) = operands::norm(Op::BATCH_NORM, input, parameters)?;
        operands::all_f32(Op::BATCH_NORM, &running)?;
        wgpu.has_made_all(&[&[input], parameters, &running].concat())?;
        let of = Channels::of(input.shape(), 1);
        let params = structs::BatchNorm {
            len: count(input.len()),
            dtype: code("batch_norm", dtype)?,
            channels: count(of.count),
            inner: count(of.inner),
            samples: count(of.samples()),
            team: count(team(of.samples())),
            parameter_dtype: code("batch_norm", of_parameters)?,
            eps,
            ..structs::BatchNorm::default()
        };
        Ok(Self { wgpu, input, of, params })
    }

    /// Returns the parameters for a pass over the channels, in vectors of f32.
    fn by_channel(&self) -> Result<structs::BatchNorm, Error> {
        let dtype = code("batch_norm", DType::F32)?;
        Ok(structs::BatchNorm { len: self.params.channels, dtype, ..self.params })
    }

    /// Allocates `each` f32 for each channel, unset.
    fn by_channel_unset(&self, each: usize) -> Result<Tensor, Error> {
        self.wgpu.unset(DType::F32, &[self.of.count, each])
    }

    /// Computes mean, `1 / √(var + eps)` and biased variance of each channel of the batch.
    fn numbers(&self) -> Result<Tensor, Error> {
        let result = self.by_channel_unset(NUMBERS)?;
        let operands = [(self.input, Role::A), (&result, Role::Own)];
        self.dispatch(&BATCH_NORM_NUMBERS, &operands, self.params, self.teams())?;
        Ok(result)
    }

    /// Computes these numbers from the running statistics.
    fn running_numbers(&self, running: &RunningStats<Tensor>) -> Result<Tensor, Error> {
        let result = self.by_channel_unset(NUMBERS)?;
        let operands = [(&running.mean, Role::A), (&running.var, Role::B), (&result, Role::Own)];
        let groups = groups(self.of.count);
        self.dispatch(&BATCH_NORM_RUNNING_NUMBERS, &operands, self.by_channel()?, groups)?;
        Ok(result)
    }

    fn normalise(&self, weight: &Tensor, bias: &Tensor, numbers: &Tensor) -> Result<Tensor, Error> {
        let result = self.wgpu.unset(self.input.dtype(), self.input.shape())?;
        let operands = [
            (self.input, Role::A),
            (&result, Role::Own),
            (numbers, Role::Own),
            (weight, Role::Weight),
            (bias, Role::Bias),
        ];
        let groups = groups(result.len().div_ceil(GROUP));
        self.dispatch(&BATCH_NORM, &operands, self.params, groups)?;
        Ok(result)
    }

    /// Returns the running statistics moved by the batch, whose variance counts as the unbiased one.
    fn moved(
        &self,
        running: &RunningStats<Tensor>,
        numbers: &Tensor,
        momentum: f32,
    ) -> Result<RunningStats<Tensor>, Error> {
        let samples = divisor(self.of.samples());
        let unbiased = samples / divisor(self.of.samples() - 1);
        let params = structs::BatchNorm { momentum, kept: 1.0 - momentum, ..self.by_channel()? };
        let one = |old: &Tensor, number, factor| {
            let result = self.wgpu.unset(DType::F32, old.shape())?;
            let operands = [(old, Role::A), (&result, Role::Own), (numbers, Role::Own)];
            let params = structs::BatchNorm { number, factor, ..params };
            self.dispatch(&BATCH_NORM_RUNNING, &operands, params, groups(self.of.count))?;
            Ok::<_, Error>(result)
        };
        Ok(RunningStats {
            mean: one(&running.mean, MEAN, 1.0)?,
            var: one(&running.var, VAR, unbiased)?,
        })
    }

    fn grads(&self, grad: &Tensor, weight: &Tensor) -> Result<NormGrads<Tensor>, Error> {
        let numbers = self.numbers()?;
        let sums = self.by_channel_unset(SUMS)?;
        let of_sums =
            [(grad, Role::A), (self.input, Role::B), (&sums, Role::Own), (&numbers, Role::Own)];
        self.dispatch(&BATCH_NORM_BACKWARD_NUMBERS, &of_sums, self.params, self.teams())?;

        let input = self.wgpu.unset(self.input.dtype(), self.input.shape())?;
        let operands = [
            (grad, Role::A),
            (self.input, Role::B),
            (&input, Role::Own),
            (&numbers, Role::Own),
            (weight, Role::Weight),
            (&sums, Role::Own),
        ];
        let groups = groups(input.len().div_ceil(GROUP));
        self.dispatch(&BATCH_NORM_BACKWARD, &operands, self.params, groups)?;
        let vector = |number| self.sums_as(weight.dtype(), &sums, number);
        Ok(NormGrads { input, weight: vector(0)?, bias: vector(1)? })
    }

    /// Returns one of each channel's sums, rounded to the parameters' element type.
    fn sums_as(&self, dtype: DType, sums: &Tensor, number: u32) -> Result<Tensor, Error> {
        let result = self.wgpu.unset(dtype, &[self.of.count])?;
        let params = structs::BatchNorm { number, ..self.by_channel()? };
        let groups = groups(self.of.count.div_ceil(GROUP));
        let operands = [(&result, Role::Own), (sums, Role::Own)];
        self.dispatch(&BATCH_NORM_PARAMETERS, &operands, params, groups)?;
        Ok(result)
    }

    /// Returns the groups of a grid with a team for each channel.
    fn teams(&self) -> u32 {
        groups(self.of.count * team(self.of.samples()))
    }

    /// Dispatches a shader on whole operands, unless there are no elements.
    fn dispatch(
        &self,
        shader: &'static Shader,
        operands: &[(&Tensor, Role)],
        params: structs::BatchNorm,
        groups: u32,
    ) -> Result<(), Error> {
        if params.len == 0 {
            return Ok(());
        }
        let (bound, starts) = self.wgpu.whole_by_role(operands)?;
        let params = structs::BatchNorm {
            starts: starts.operands,
            weight_start: starts.weight,
            bias_start: starts.bias,
            ..params
        };
        self.wgpu.dispatch(shader, &params, bound, groups)
    }
}
