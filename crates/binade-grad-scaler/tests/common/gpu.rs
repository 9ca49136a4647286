//! A pretend GPU: buffers the host cannot look into, kernels that can, and a counter on the one way out.

use binade_core::{
    Error, ErrorKind, FoundInf, GradSet, Handle, Named, Optimizer, Overflow, TrainError,
};
use binade_grad_scaler::{
    GradOps, GradScaler, Loss, LossScale, MergeRule, Norm, ScaleState, ScaleStore, UpdateInputs,
};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Device memory. A clone is another handle on it; writing through one of several handles copies first.
#[derive(Clone, Debug)]
pub struct Buffer<T>(Arc<T>);

impl<T> Buffer<T> {
    pub fn upload(value: T) -> Self {
        Self(Arc::new(value))
    }

    pub fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }
}

/// Result of the check kernel: the first offender by number, since names are the host's knowledge.
#[derive(Clone, Debug, Default)]
struct Flag {
    first: Option<First>,
    infinities: u64,
    nans: u64,
    magnitude: f32,
    norm: Option<f32>,
    halted: bool,
}

#[derive(Clone, Copy, Debug)]
struct First {
    /// `NORM` for the norm of all.
    parameter: usize,
    index: u64,
    scaled: f32,
    unscaled: f32,
}

const NORM: usize = usize::MAX;

impl Flag {
    fn raised(&self) -> bool {
        self.first.is_some() || self.halted
    }

    fn check(&mut self, parameter: usize, index: u64, scaled: f32, unscaled: f32) {
        if scaled.is_finite() {
            self.magnitude = self.magnitude.max(scaled.abs());
        }
        if scaled.is_finite() && unscaled.is_finite() {
            return;
        }
        let nan = scaled.is_nan() || unscaled.is_nan();
        *(if nan { &mut self.nans } else { &mut self.infinities }) += 1;
        self.first.get_or_insert(First { parameter, index, scaled, unscaled });
    }

    fn join(&mut self, from: &Self, from_base: usize, join: MergeRule) {
        let (a, b) = (self.raised(), from.raised());
        let raised = if join == MergeRule::Any { a || b } else { a && b };
        let theirs = from.first.map(|first| match first.parameter {
            NORM => first,
            parameter => First { parameter: from_base + parameter, ..first },
        });
        self.first = self.first.or(theirs).filter(|_| raised);
        self.halted = (self.halted || from.halted) && raised;
        self.infinities += from.infinities;
        self.nans += from.nans;
        self.magnitude = self.magnitude.max(from.magnitude);
    }
}

/// The flag on the device; names and missing gradients wait on the host and cost no read.
#[derive(Clone, Debug)]
pub struct GpuFound {
    flag: Buffer<Flag>,
    names: Vec<Arc<str>>,
    missing: Vec<Arc<str>>,
}

impl GpuFound {
    fn finding(&self) -> FoundInf {
        let Flag { first, infinities, nans, magnitude, norm, halted } = Flag::clone(&self.flag.0);
        let named = |f: First| Overflow {
            parameter: self
                .names
                .get(f.parameter)
                .cloned()
                .unwrap_or_else(|| FoundInf::NORM.into()),
            index: f.index,
            scaled: f.scaled,
            unscaled: f.unscaled,
        };
        let missing = self.missing.clone();
        FoundInf { overflow: first.map(named), infinities, nans, magnitude, norm, halted, missing }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct GpuError(String, ErrorKind);

impl Error for GpuError {
    fn kind(&self) -> ErrorKind {
        self.1
    }
}

pub type Result<T = ()> = std::result::Result<T, GpuError>;
pub type GpuGrads = Vec<Named<Option<Buffer<Vec<f32>>>>>;

#[derive(Debug, Default)]
struct Counters {
    reads: AtomicUsize,
    copies: AtomicUsize,
    busy: AtomicBool,
    scales: Mutex<BTreeSet<usize>>,
}

/// The device: a clone is the same one.
#[derive(Clone, Debug, Default)]
pub struct Gpu(Arc<Counters>);

impl Gpu {
    /// Downloads so far.
    pub fn reads(&self) -> usize {
        self.0.reads.load(Ordering::Relaxed)
    }

    /// Kernels that found another handle on what they wrote, and so could not work in place.
    pub fn copies(&self) -> usize {
        self.0.copies.load(Ordering::Relaxed)
    }

    /// How many places `update` has written a scale to.
    pub fn scale_addresses(&self) -> usize {
        self.0.scales.lock().expect("no panic").len()
    }

    pub fn set_busy(&self, busy: bool) {
        self.0.busy.store(busy, Ordering::Relaxed);
    }

    /// The only way from the device to the host.
    pub fn download<T: Clone>(&self, buffer: &Buffer<T>) -> T {
        self.0.reads.fetch_add(1, Ordering::Relaxed);
        T::clone(&buffer.0)
    }

    /// Returns a buffer that a kernel may write to.
    fn kernel<'b, T: Clone>(&self, buffer: &'b mut Buffer<T>) -> &'b mut T {
        let shared = usize::from(Arc::strong_count(&buffer.0) > 1);
        self.0.copies.fetch_add(shared, Ordering::Relaxed);
        Arc::make_mut(&mut buffer.0)
    }

    fn each(&self, grads: &mut GpuGrads, mut f: impl FnMut(f32) -> f32) {
        for grad in grads.iter_mut().filter_map(|g| g.value.as_mut()) {
            self.kernel(grad).iter_mut().for_each(|x| *x = f(*x));
        }
    }
}

impl Handle for Gpu {
    type Tensor = Buffer<Vec<f32>>;
    type Error = GpuError;
}

impl GradSet for Gpu {
    type Params = ();
    type Grads = GpuGrads;
    type Found = GpuFound;

    fn train_error(&self, error: TrainError) -> GpuError {
        GpuError(error.to_string(), error.kind())
    }
}

impl ScaleStore for Gpu {
    type Scale = Buffer<ScaleState>;

    fn upload_state(&self, state: ScaleState) -> Result<Self::Scale> {
        Ok(Buffer::upload(state))
    }

    fn merge(&self, into: &mut GpuFound, from: &GpuFound, join: MergeRule) -> Result {
        let base = if into.names == from.names { 0 } else { into.names.len() };
        if base > 0 {
            into.names.extend(from.names.iter().cloned());
        }
        self.kernel(&mut into.flag).join(&from.flag.0, base, join);
        Ok(())
    }

    fn update(
        &self,
        scale: &mut Self::Scale,
        parts: &[&GpuFound],
        verdicts: &[&GpuFound],
        rule: &LossScale,
    ) -> Result {
        let any = |found: &[&GpuFound]| found.iter().any(|f| f.flag.0.raised());
        let skipped = any(verdicts);
        let magnitudes = parts.iter().chain(verdicts).map(|found| found.flag.0.magnitude);
        let magnitude = magnitudes.fold(0.0, f32::max);
        let state = self.kernel(scale);
        *state =
            rule.next(*state, UpdateInputs { overflow: skipped || any(parts), skipped, magnitude });
        self.0.scales.lock().expect("no panic").insert(scale.address());
        Ok(())
    }

    fn read(
        &self,
        found: &[&GpuFound],
        scale: &Self::Scale,
    ) -> Result<(Vec<FoundInf>, ScaleState)> {
        let state = self.download(scale); // stands for one copy of everything asked for
        Ok((found.iter().map(|f| f.finding()).collect(), state))
    }

    fn is_ready(&self, _found: &[&GpuFound], _scale: &Self::Scale) -> Result<bool> {
        Ok(!self.0.busy.load(Ordering::Relaxed))
    }
}

fn times(tensor: &Buffer<Vec<f32>>, factor: f32) -> Buffer<Vec<f32>> {
    Buffer::upload(tensor.0.iter().map(|x| x * factor).collect())
}

impl Loss<Gpu> for Buffer<Vec<f32>> {
    type Error = GpuError;

    fn scaled(&self, _: &Gpu, scale: &Buffer<ScaleState>) -> Result<Self> {
        Ok(times(self, scale.0.factor()))
    }

    fn unscaled(&self, _: &Gpu, scale: &Buffer<ScaleState>) -> Result<Self> {
        Ok(times(self, scale.0.inverse()))
    }
}

impl GradScaler for Gpu {
    fn unscale(&self, grads: &mut GpuGrads, scale: &Self::Scale) -> Result<GpuFound> {
        let mut flag = Flag { halted: scale.0.diverged, ..Flag::default() };
        for (parameter, grad) in grads.iter_mut().enumerate() {
            let elements = grad.value.as_mut().map(|buffer| self.kernel(buffer));
            for (index, x) in elements.into_iter().flatten().enumerate() {
                let scaled = std::mem::replace(x, *x * scale.0.inverse());
                flag.check(parameter, index as u64, scaled, *x);
            }
        }
        let missing = grads.iter().filter(|g| g.value.is_none()).map(|g| g.name.clone()).collect();
        let names = grads.iter().map(|g| g.name.clone()).collect();
        Ok(GpuFound { flag: Buffer::upload(flag), names, missing })
    }
}

impl GradOps for Gpu {
    fn clip_norm(&self, set: &mut GpuGrads, norm: Norm, max: f32, found: &mut GpuFound) -> Result {
        let mut total = 0.0_f64;
        self.each(set, |x| {
            total = match norm {
                Norm::L2 => total.hypot(f64::from(x)),
                Norm::Infinity if x.is_nan() || f64::from(x).abs() > total => f64::from(x).abs(),
                Norm::Infinity => total,
            };
            x
        });
        #[expect(clippy::cast_possible_truncation, reason = "rounds to f32 on purpose")]
        let (norm, factor) = (total as f32, (f64::from(max) / total) as f32);
        let flag = self.kernel(&mut found.flag);
        flag.norm = Some(norm);
        if !norm.is_finite() {
            flag.first.get_or_insert(First {
                parameter: NORM,
                index: 0,
                scaled: norm,
                unscaled: norm,
            });
        }
        self.each(set, |x| if total > f64::from(max) { x * factor } else { x });
        Ok(())
    }

    fn clip_value(&self, grads: &mut GpuGrads, max: f32) -> Result {
        self.each(grads, |x| if x.is_nan() { x } else { x.clamp(-max, max) });
        Ok(())
    }

    fn accumulate(
        &self,
        sum: Option<GpuGrads>,
        mut grads: GpuGrads,
        found: &GpuFound,
    ) -> Result<GpuGrads> {
        let keep = !found.flag.0.raised();
        let Some(mut sum) = sum else {
            self.each(&mut grads, |x| if keep { x } else { 0.0 });
            return Ok(grads);
        };
        for (total, grad) in sum.iter_mut().zip(grads).filter(|_| keep) {
            if let (Some(total), Some(grad)) = (&mut total.value, grad.value) {
                let terms = self.kernel(total).iter_mut().zip(grad.0.iter());
                terms.for_each(|(t, g)| *t += g);
            }
        }
        Ok(sum)
    }
}

/// Descent with its parameter and step count on the device, predicated there.
pub struct GpuSgd {
    pub gpu: Gpu,
    pub param: Buffer<Vec<f32>>,
    pub steps: Buffer<u32>,
}

impl GpuSgd {
    pub fn new(gpu: &Gpu) -> Self {
        let (param, steps) = (Buffer::upload(vec![100.0]), Buffer::upload(0));
        Self { gpu: gpu.clone(), param, steps }
    }
}

impl Optimizer<GpuGrads, GpuFound> for GpuSgd {
    type Error = GpuError;

    fn step(&mut self, grads: GpuGrads, found: &GpuFound) -> Result {
        let apply = !found.flag.0.raised();
        *self.gpu.kernel(&mut self.steps) += u32::from(apply);
        let param = self.gpu.kernel(&mut self.param);
        for grad in grads.iter().filter_map(|g| g.value.as_ref()) {
            for (w, g) in param.iter_mut().zip(grad.0.iter()) {
                *w = if apply { *w - 0.1 * g } else { *w };
            }
        }
        Ok(())
    }
}
