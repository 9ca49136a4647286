//! The right subject, to which every wrong one falls back: the CPU's tensors, by the traits that users call.

use crate::{
    Layout, OpInvocation, Result, SetCall, SetResult, SparseResult, SparseRun, Subject,
    SubjectError, TrainStep, UnscaleResult, compute, multi_tensor, sparse,
};
use binade_autocast::Autocast as _;
use binade_core::{DType, Named, NamedGrads, stochastic::Key};
use binade_cpu::{Cpu, Tensor};
use binade_master_weights::step::{self, Factor, Slices, step};
use binade_master_weights::{StepConstants, UpdateRule};

/// Tensor whose elements a fault reads and writes.
pub(super) type Plain = Tensor;

pub(super) type Tensors = Vec<Plain>;
pub(super) type Grads = NamedGrads<Plain>;
pub(super) type Params = Vec<Named<Plain>>;
pub(super) type Steps = Vec<TrainStep<Plain>>;
pub(super) type Unscaled = UnscaleResult<Plain>;

/// Elements of a tensor as `f32`, and tensors of such elements.
pub(super) trait Elements {
    fn read(&self) -> Vec<f32>;
    fn write(values: &[f32], dtype: DType, shape: &[usize]) -> Self;
}

impl Elements for Plain {
    fn read(&self) -> Vec<f32> {
        self.to_f32().into_owned()
    }

    fn write(values: &[f32], dtype: DType, shape: &[usize]) -> Self {
        Tensor::from_f32(values.to_vec(), shape, dtype).unwrap()
    }
}

/// Returns a tensor of these bytes.
pub(super) fn plain(bytes: &[u8], dtype: DType, shape: &[usize]) -> Plain {
    Tensor::from_bits(bytes, dtype, shape).unwrap()
}

/// Subjects over the CPU's tensors.
#[derive(Clone, Copy)]
pub(super) enum Device {
    /// Right in everything.
    Toy,
    /// Only stores tensors, as a user's first version does. Each byte of an `f16` comes back larger by this number.
    Stores(u8),
}
pub(super) use Device::{Stores, Toy};

impl Device {
    /// Returns the CPU, or the error of a subject that lacks `what`.
    fn cpu(self, what: &str) -> Result<Cpu> {
        if matches!(self, Toy) { Ok(Cpu) } else { Err(SubjectError::unsupported(what)) }
    }
}

impl Subject for Device {
    type Handle = Cpu;

    fn handle(&self) -> Option<&Cpu> {
        matches!(self, Toy).then_some(&Cpu)
    }

    fn name(&self) -> &'static str {
        if matches!(self, Toy) { "toy" } else { "storage" }
    }

    fn from_bits(&self, bits: &[u8], dtype: DType, shape: &[usize]) -> Result<Plain> {
        let shift = match self {
            Stores(shift) if dtype == DType::F16 => *shift,
            _ => 0,
        };
        let bits: Vec<u8> = bits.iter().map(|byte| byte.wrapping_add(shift)).collect();
        Ok(Tensor::from_bits(&bits, dtype, shape)?)
    }

    /// Makes the view's buffer, and reads the elements from it.
    fn view(&self, bits: &[u8], dtype: DType, shape: &[usize], layout: Layout) -> Result<Plain> {
        let buffer = layout.buffer(bits, dtype, shape);
        let at = |place: usize| &buffer[place * dtype.bytes()..][..dtype.bytes()];
        let bytes: Vec<u8> = layout.places(shape).flat_map(at).copied().collect();
        self.from_bits(&bytes, dtype, shape)
    }

    fn to_bits(&self, tensor: &Plain) -> Result<Vec<u8>> {
        Ok(tensor.to_bits())
    }

    fn cast(&self, tensor: &Plain, to: DType) -> Result<Plain> {
        Ok(self.cpu("cast")?.cast(tensor, to)?)
    }

    fn cast_stochastic(&self, tensor: &Plain, to: DType, key: Key) -> Result<Plain> {
        Ok(self.cpu("cast_stochastic")?.cast_stochastic(tensor, to, key)?)
    }

    fn multi_tensor(
        &self,
        call: &SetCall,
        x: &[Named<Plain>],
        y: &[Named<Plain>],
    ) -> Result<SetResult<Plain>> {
        multi_tensor(&self.cpu("multi_tensor")?, call, x, y)
    }

    fn sparse(&self, run: SparseRun<Plain>) -> Result<SparseResult<Plain>> {
        sparse(&self.cpu("sparse")?, run)
    }

    fn compute(&self, op: &OpInvocation, operands: &[&Plain]) -> Result<Vec<Plain>> {
        compute(&self.cpu("compute")?, op, operands)
    }
}

/// A parameter's master and moments.
pub(super) struct Slot {
    pub(super) master: Vec<f32>,
    pub(super) moments: [Vec<f32>; 3],
    pub(super) applied: u64,
    /// Running norm of the gradients.
    pub(super) running: f32,
    /// Norm of the gradients of all parameters in this step.
    pub(super) all: f32,
}

impl Slot {
    pub(super) fn new(param: &Plain) -> Self {
        Self {
            master: param.read(),
            moments: Default::default(),
            applied: 0,
            running: 0.0,
            all: 0.0,
        }
    }

    pub(super) fn step(&mut self, rule: &UpdateRule, grads: &[f32]) -> Result<()> {
        let mut constants = StepConstants::at(rule, self.applied).clipped(self.all);
        for (moment, value) in self.moments.iter_mut().zip(rule.initial()).take(constants.moments())
        {
            moment.resize(grads.len(), value);
        }
        if constants.measures() {
            let sums = step::measure(&constants, Factor::ONE, self.slices(grads))?;
            constants = constants.measured(&sums, &mut self.running);
        }
        step(&constants, Factor::ONE, self.slices(grads))?;
        self.applied += 1;
        Ok(())
    }

    fn slices<'a>(&'a mut self, grads: &'a [f32]) -> Slices<'a, f32, f32> {
        Slices {
            grads,
            params: step::Params::Own(&mut self.master),
            moments: self.moments.each_mut().map(Vec::as_mut_slice),
        }
    }
}
