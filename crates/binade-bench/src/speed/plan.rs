//! List of the benchmarks in order, and their sizes.

use super::{
    Bench, Result,
    clock::Clock,
    data,
    gpt::Gpt,
    gradients::{self, Pass},
    parts::{Part, Partial},
    passes::{self, cast, ceiling, norm, nothing},
    row::Kind,
    steps::{self, Step},
};
use binade_autocast::Autocast;
use binade_core::DType;
use binade_cuda::Tensor;

const TYPES: [DType; 3] = [DType::BF16, DType::F16, DType::F32];

/// Casts of training: weights and activations down, gradients and checkpoints up.
const CASTS: [(DType, DType); 3] =
    [(DType::F32, DType::BF16), (DType::F32, DType::F16), (DType::F16, DType::F32)];

impl Bench {
    /// Runs every benchmark.
    pub(super) fn run(&mut self) -> Result<()> {
        let clock = Clock::new(&self.cuda, self.rounds(), self.size(1 << 26, 1 << 12))?;
        let cuda = self.cuda.clone();
        self.time(&clock, &mut nothing(&cuda))?;
        let tiny = vec![1 << 13, 1 << 14];
        let sizes = if self.options.dry_run { tiny } else { self.options.elements.clone() };
        for size in sizes {
            self.size_of(&clock, size)?;
        }
        for dtype in TYPES {
            self.steps(&clock, dtype)?;
        }
        self.products(&clock)?;
        self.training(&clock)?;
        self.uploads(&clock)?;
        self.bar.finish_and_clear();
        Ok(())
    }

    /// Measures everything that runs over plain vectors of this size.
    fn size_of(&mut self, clock: &Clock, elements: usize) -> Result<()> {
        let sets = data::sets(4 * elements, self.l2);
        // Memory holds the inputs, the narrow ones made of them, and the output of a cast or a copy.
        if !self.fits(&format!("{elements} elements"), (sets + 2) * 4 * elements * 2)? {
            return Ok(());
        }
        let cuda = self.cuda.clone();
        let wide = data::copies(&cuda, data::noise(&cuda, elements)?, sets)?;
        for kind in [Kind::Copy, Kind::Read, Kind::InPlace] {
            self.time(clock, &mut ceiling(&cuda, kind, &wide))?;
        }
        for dtype in TYPES {
            let inputs = self.lowered(&wide, dtype)?;
            for tensors in [1, self.size(1000, 7)] {
                self.passes(clock, &inputs, tensors)?;
            }
        }
        Ok(())
    }

    /// Returns inputs of another type, as many as are four L2 caches together.
    fn lowered(&self, wide: &[Tensor], dtype: DType) -> Result<Vec<Tensor>> {
        let elements = wide.first().map_or(0, Tensor::len);
        let count = data::sets(elements * dtype.bytes(), self.l2).max(wide.len());
        let one = |place: usize| match wide.get(place % wide.len().max(1)) {
            Some(tensor) if dtype == DType::F32 => Ok(tensor.clone()),
            Some(tensor) => Ok(self.cuda.cast(tensor, dtype)?),
            None => Err("no inputs".into()),
        };
        (0..count).map(one).collect()
    }

    fn passes(&mut self, clock: &Clock, inputs: &[Tensor], tensors: usize) -> Result<()> {
        let from = inputs.first().map_or(DType::F32, Tensor::dtype);
        let (cuda, sets) = (self.cuda.clone(), inputs.iter().map(|it| data::cut(it, tensors)));
        let sets = sets.collect::<Result<Vec<_>>>()?;
        self.time(clock, &mut passes::Pass::new(&cuda, sets.clone())?)?;
        self.time(clock, &mut norm(&cuda, sets.clone()))?;
        for (_, to) in CASTS.iter().filter(|(of, _)| *of == from) {
            self.time(clock, &mut cast(&cuda, sets.clone(), *to))?;
        }
        if self.measures("gradients") {
            for pass in [Pass::Accumulate, Pass::Materialise, Pass::ClipGroups] {
                self.time(clock, &mut gradients::pass(&cuda, sets.clone(), pass)?)?;
            }
        }
        Ok(())
    }

    /// Measures the whole step with gradients of `dtype`, and its parts.
    fn steps(&mut self, clock: &Clock, dtype: DType) -> Result<()> {
        let gpt = if self.options.dry_run { Gpt::TINY } else { Gpt::SMALL };
        let elements: usize =
            gpt.shapes().iter().map(|(_, shape)| shape.iter().product::<usize>()).sum();
        if !self.fits("the step", elements * 32)? {
            return Ok(());
        }
        let mut step = Step::new(&self.cuda, gpt, dtype)?;
        self.time(clock, &mut step)?;
        drop(step);
        for part in [Part::Optimizer, Part::Sgd, Part::Scaler, Part::ClipAndUpdate] {
            self.cuda.trim();
            let mut work = Partial::new(&self.cuda, gpt, dtype, part)?;
            self.time(clock, &mut work)?;
        }
        if dtype == DType::F32 {
            self.cuda.trim();
            self.of_gpt(clock, gpt)?;
        }
        self.cuda.trim();
        Ok(())
    }

    /// Measures further passes over all parameters of a model: a norm, and a copy to compute with.
    fn of_gpt(&mut self, clock: &Clock, gpt: Gpt) -> Result<()> {
        let weights = steps::parameters(&self.cuda, gpt)?;
        let sets = vec![weights.into_iter().map(|weight| weight.value).collect::<Vec<_>>()];
        let cuda = self.cuda.clone();
        self.time(clock, &mut norm(&cuda, sets.clone()))?;
        self.time(clock, &mut cast(&cuda, sets, DType::BF16))
    }
}
