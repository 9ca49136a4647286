//! The shortest complete subject: a tensor of bytes, and each operation as one would first write it down.

use crate::{toy_groups, toy_loops, toy_ops, toy_sets, toy_stages, toy_stores, toy_train};
use binade_conformance::{
    Arithmetic, Clip, Collected, Coordinates, Course, Delayed, Iteration, Joined, Layout, Led,
    Losses, MicroBatch, OpInvocation, Refusal, Round, Subject, Turn, Unscaled, Walked,
};
use binade_core::cast::{E4M3, E5M2, OnOverflow::NonFinite};
use binade_core::{DType, Finding, Named, NamedGrads, stochastic::Key};
use binade_grad_scaler::{ClipGroup, Join, LossScale, Norm, ScaleState, Step};
use binade_master_weights::step::{Factor, Slices, step};
use binade_master_weights::{MasterStore, StepConstants, UpdateRule};
use half::{bf16, f16};

/// Elements as little-endian bytes.
#[derive(Clone, Debug)]
pub(crate) struct Plain {
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<usize>,
    pub(crate) bytes: Vec<u8>,
}

impl Plain {
    pub(crate) fn read(&self) -> Vec<f32> {
        let one = |bytes: &[u8]| match (self.dtype, bytes) {
            (DType::BF16, &[a, b]) => bf16::from_le_bytes([a, b]).to_f32(),
            (DType::F16, &[a, b]) => f16::from_le_bytes([a, b]).to_f32(),
            (DType::E4M3, &[a]) => E4M3::from_bits(a).to_f32(),
            (DType::E5M2, &[a]) => E5M2::from_bits(a).to_f32(),
            (DType::F32, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]),
            (dtype, _) => panic!("the toy stores no {dtype}"),
        };
        self.bytes.chunks(self.dtype.bytes()).map(one).collect()
    }

    pub(crate) fn write(values: &[f32], dtype: DType, shape: &[usize]) -> Self {
        let one = |x: &f32| match dtype {
            DType::BF16 => bf16::from_f32(*x).to_le_bytes().to_vec(),
            DType::F16 => f16::from_f32(*x).to_le_bytes().to_vec(),
            DType::E4M3 => vec![E4M3::from_f32(*x, NonFinite).to_bits()],
            DType::E5M2 => vec![E5M2::from_f32(*x, NonFinite).to_bits()],
            _ => x.to_le_bytes().to_vec(),
        };
        Self { dtype, shape: shape.to_vec(), bytes: values.iter().flat_map(one).collect() }
    }
}

pub(crate) struct Toy;

impl Subject for Toy {
    type Tensor = Plain;

    fn name(&self) -> &'static str {
        "toy"
    }

    fn arithmetic(&self) -> Arithmetic {
        Arithmetic { f64: false, ..Arithmetic::IEEE }
    }

    fn from_bits(&self, bits: &[u8], dtype: DType, shape: &[usize]) -> Result<Plain, Refusal> {
        Ok(Plain { dtype, shape: shape.to_vec(), bytes: bits.to_vec() })
    }

    /// By way of the buffer that a view would have.
    fn view(
        &self,
        bits: &[u8],
        dtype: DType,
        shape: &[usize],
        layout: Layout,
    ) -> Result<Plain, Refusal> {
        let buffer = layout.buffer(bits, dtype, shape);
        let at = |place: usize| &buffer[place * dtype.bytes()..][..dtype.bytes()];
        let bytes: Vec<u8> = layout.places(shape).flat_map(at).copied().collect();
        self.from_bits(&bytes, dtype, shape)
    }

    fn to_bits(&self, tensor: &Plain) -> Result<Vec<u8>, Refusal> {
        Ok(tensor.bytes.clone())
    }

    fn cast(&self, tensor: &Plain, to: DType) -> Result<Plain, Refusal> {
        Ok(Plain::write(&tensor.read(), to, &tensor.shape))
    }

    fn cast_stochastic(&self, tensor: &Plain, to: DType, key: Key) -> Result<Plain, Refusal> {
        Ok(toy_sets::cast_stochastic(tensor, to, toy_sets::word(key)))
    }

    fn norm(
        &self,
        grads: NamedGrads<Plain>,
        scale: ScaleState,
        norm: Norm,
    ) -> Result<Finding, Refusal> {
        Ok(toy_sets::clip(grads, scale, Clip::Norm(norm, f32::MAX))?.found)
    }

    fn clip(
        &self,
        grads: NamedGrads<Plain>,
        scale: ScaleState,
        clip: Clip,
    ) -> Result<Unscaled<Plain>, Refusal> {
        toy_sets::clip(grads, scale, clip)
    }

    fn clip_groups(
        &self,
        grads: NamedGrads<Plain>,
        scale: ScaleState,
        first: Option<Clip>,
        groups: &[ClipGroup],
    ) -> Result<Unscaled<Plain>, Refusal> {
        toy_groups::clip(grads, scale, first, groups)
    }

    fn accumulate(&self, window: Vec<MicroBatch<Plain>>) -> Result<NamedGrads<Plain>, Refusal> {
        toy_sets::accumulate(window)
    }

    fn unscale(
        &self,
        mut grads: NamedGrads<Plain>,
        scale: ScaleState,
    ) -> Result<Unscaled<Plain>, Refusal> {
        let mut found = Finding { halted: scale.diverged, ..Finding::default() };
        for Named { name, value } in &mut grads {
            let Some(grad) = value else {
                found.missing.push(name.clone());
                continue;
            };
            let scaled = grad.read();
            let unscaled: Vec<f32> = scaled.iter().map(|x| x / scale.factor()).collect();
            for (index, (before, after)) in scaled.iter().zip(&unscaled).enumerate() {
                found.check(name, index as u64, *before, *after);
            }
            *grad = Plain::write(&unscaled, DType::F32, &grad.shape);
        }
        Ok(Unscaled { grads, found })
    }

    fn update_scale(
        &self,
        rule: &LossScale,
        scale: ScaleState,
        round: &Round,
    ) -> Result<ScaleState, Refusal> {
        Ok(rule.next(scale, round.seen()))
    }

    fn scale(&self, tensor: &Plain, scale: ScaleState) -> Result<Plain, Refusal> {
        Ok(toy_stages::times(tensor, scale.factor()))
    }

    fn unscale_tensor(&self, tensor: &Plain, scale: ScaleState) -> Result<Plain, Refusal> {
        Ok(toy_stages::times(tensor, scale.inverse()))
    }

    fn merge(
        &self,
        into: MicroBatch<Plain>,
        from: MicroBatch<Plain>,
        join: Join,
    ) -> Result<Joined, Refusal> {
        toy_stages::merge(into, from, join)
    }

    fn iterate(
        &self,
        rule: &LossScale,
        start: ScaleState,
        iterations: Vec<Iteration<Plain>>,
    ) -> Result<Course, Refusal> {
        toy_stages::iterate(rule, start, &iterations)
    }

    fn train(
        &self,
        params: Vec<Named<Plain>>,
        turns: Vec<Turn<Plain>>,
    ) -> Result<Vec<Named<Plain>>, Refusal> {
        toy_train::train(params, turns, &mut Toy)
    }

    fn train_by(
        &self,
        store: MasterStore,
        params: Vec<Named<Plain>>,
        turns: Vec<Turn<Plain>>,
    ) -> Result<Vec<Named<Plain>>, Refusal> {
        toy_stores::train_by(None, store, params, turns)
    }

    fn compute(&self, op: &OpInvocation, operands: &[&Plain]) -> Result<Vec<Plain>, Refusal> {
        toy_ops::compute(op, operands)
    }

    fn sparse(
        &self,
        grads: Vec<Named<Coordinates>>,
        scale: ScaleState,
    ) -> Result<Unscaled<Plain>, Refusal> {
        toy_loops::sparse(None, grads, scale)
    }

    fn delayed(&self, window: Delayed<Plain>) -> Result<Collected<Plain>, Refusal> {
        toy_loops::delayed(None, window)
    }

    fn follow(&self, run: Led<Plain>) -> Result<Walked<Plain>, Refusal> {
        toy_loops::follow(None, run)
    }

    fn update_each(&self, losses: Losses<Plain>) -> Result<[Step; 2], Refusal> {
        toy_loops::update_each(None, losses)
    }
}

/// A parameter's master and moments.
pub(crate) struct Slot {
    pub(crate) master: Vec<f32>,
    pub(crate) moments: [Vec<f32>; 3],
    pub(crate) applied: u64,
}

impl Slot {
    pub(crate) fn new(param: &Plain) -> Self {
        Self { master: param.read(), moments: Default::default(), applied: 0 }
    }

    pub(crate) fn step(&mut self, rule: &UpdateRule, grads: &[f32]) -> Result<(), Refusal> {
        let constants = StepConstants::at(rule, self.applied);
        for moment in self.moments.iter_mut().take(constants.moments()) {
            moment.resize(grads.len(), 0.0);
        }
        let mut slices = Slices::<f32, f32>::new(grads, &mut self.master);
        slices.moments = self.moments.each_mut().map(Vec::as_mut_slice);
        step(&constants, Factor::ONE, slices)?;
        self.applied += 1;
        Ok(())
    }
}
