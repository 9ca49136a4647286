//! Training loop: the part of the example that resembles a user's program.

use crate::Result;
use crate::args::Args;
use crate::config::{self, Setting};
use crate::data::{CLASSES, Images, best};
use crate::model::{Net, Trains};
use crate::record::{Outcomes, Run};
use crate::saved::Files;
use binade::core::{DType, Named};
use binade::grad_scaler::{BadMicroBatch, Step, UnscaledGrads};
use binade::master_weights::Memory;
use binade::{Amp, Model, initialize};
use binade_example_shared::program::Part;
use binade_ranks::Shards;
use binade_tape::{Tape, TapeError, Var};
use fastrand::Rng;
use indicatif::ProgressBar;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;

/// Number of images that go through the model together: all 360 of the embedded test, and of MNIST's 10000 as many as a small
/// machine has memory for.
const TOGETHER: usize = 500;

/// Model in training.
pub(crate) struct Trainer<'a, D: Trains> {
    pub(crate) device: &'a D,
    pub(crate) part: Part<D>,
    /// Checkpoints of ranks.
    pub(crate) files: Option<Files<D>>,
    pub(crate) args: &'a Args,
    pub(crate) net: Net<D>,
    pub(crate) amp: Amp<D>,
    pub(crate) run: Run,
    /// Generator that shuffles the images.
    pub(crate) order: Rng,
    /// Outcome of the last step that was resolved.
    pub(crate) last: Option<Step>,
}

impl<'a, D: Trains> Trainer<'a, D> {
    pub(crate) fn new(
        device: &'a D,
        part: Part<D>,
        files: Option<Files<D>>,
        args: &'a Args,
        setting: Setting,
        size: [usize; 2],
    ) -> Result<Self> {
        let net = Net::new(args.model, size, device)?.with_norm(part.norm);
        let params = net.parameters(device, args.seed)?;
        let norms = net.norms(device, &params)?;
        let model = Model::new(params).with_norm(norms);
        let properties = config::properties(args, setting)?;
        let run = Run {
            level: setting.0.to_string(),
            dtype: setting.1.to_string(),
            outcomes: Outcomes::from_scale(properties.loss_scale.start().factor()),
            ..Run::default()
        };
        let amp = initialize(device.clone(), model, config::rule(args), properties)?;
        let order = Rng::with_seed(args.seed);
        Ok(Self { device, part, files, args, net, amp, run, order, last: None })
    }

    /// Runs one pass over the images in random order. Breaks off once the run has diverged.
    pub(crate) fn epoch(&mut self, images: &Images, bar: &ProgressBar) -> Result<ControlFlow<()>> {
        let mut rows: Vec<usize> = (0..images.len()).collect();
        self.order.shuffle(&mut rows);
        let count = config::batches(self.args, images.len());
        let batches: Vec<&[usize]> = rows.chunks(self.args.batch as usize).take(count).collect();
        let mut total = self.device.fill(0.0, &[], DType::F32)?;
        for window in batches.chunks(self.args.accumulate as usize) {
            self.step(images, window, &mut total)?;
            bar.inc(window.len() as u64);
            if self.run.outcomes.diverged.is_some() {
                return Ok(ControlFlow::Break(()));
            }
        }
        // This is the one read of an epoch beside outcomes.
        let total: f32 = self.device.download(&total)?.iter().sum();
        #[expect(clippy::cast_precision_loss, reason = "a few hundred batches")]
        let mean = total / (batches.len() * self.part.count()) as f32;
        self.run.losses.push(mean);
        bar.set_message(format!("loss {mean:.4}"));
        Ok(ControlFlow::Continue(()))
    }

    /// Runs one optimizer step over a window of micro-batches.
    fn step(&mut self, images: &Images, window: &[&[usize]], total: &mut D::Tensor) -> Result<()> {
        self.run.outcomes.steps.attempted += 1;
        let Some(mut grads) = self.window(images, window, total)? else { return Ok(()) };
        if let Some(max) = self.args.clip_norm {
            grads = grads.clip_norm(max)?;
        }
        let step = grads.step(&mut self.amp.optimizer)?;
        let outcome = self.amp.scaler.update(step)?;
        if self.args.unwatched {
            outcome.ignore();
        } else {
            let step = outcome.resolve()?;
            self.run.outcomes.enter(&step);
            self.last = Some(step);
        }
        Ok(())
    }

    /// Returns the unscaled gradients of a window: those of its one micro-batch, or the sum over several.
    fn window(
        &mut self,
        images: &Images,
        window: &[&[usize]],
        total: &mut D::Tensor,
    ) -> Result<Option<UnscaledGrads<D>>> {
        if let [batch] = window {
            return self.gradients(images, batch, 1, total).map(Some);
        }
        let mut sum = self.amp.scaler.accumulate(BadMicroBatch::SkipWindow);
        for batch in window {
            sum.add(self.gradients(images, batch, window.len(), total)?)?;
        }
        Ok(sum.finish()?)
    }

    /// Returns the unscaled gradients of one micro-batch, and adds the losses of its shards to `total` on the device.
    fn gradients(
        &mut self,
        images: &Images,
        batch: &[usize],
        parts: usize,
        total: &mut D::Tensor,
    ) -> Result<UnscaledGrads<D>> {
        let (mut losses, mut activations) = (Vec::new(), 0);
        for shard in self.part.shards(batch) {
            let tape = Tape::new(self.device.clone(), &self.amp.region);
            let (pixels, labels) = self.upload(&images.pick(shard))?;
            let params = tape.parameters(&self.amp.optimizer.params);
            let logits = self.net.forward(&params, &tape.constant(pixels), true)?;
            let loss = logits.cross_entropy(&labels)?;
            *total = self.device.add(total, loss.tensor())?;
            activations += tape.activation_bytes();
            let weight = self.part.weight(shard.len(), batch.len() * parts);
            losses.push(if weight == 1.0 { loss } else { loss.scaled_by(weight)? });
        }
        self.run.activations_peak = self.run.activations_peak.max(activations);
        let scaled = self.amp.scaler.scale(&Shards(losses))?;
        Ok(scaled.backward(|losses| self.backward(&losses.0))?.unscale()?)
    }

    /// Returns the losses' gradients, one of them infinite if the command line asks for it.
    fn backward(&self, losses: &[Var<D>]) -> Result<D::Grads, TapeError<D::Error>> {
        let (device, params) = (self.device, &self.amp.optimizer.params);
        let is_spoiled = self.args.inject_overflow == Some(self.run.outcomes.steps.attempted);
        let spoil =
            |grad: &D::Tensor| device.fill(f32::INFINITY, &device.shape(grad), device.dtype(grad));
        (self.part.backward)(device, params, losses, &mut |place, mut gradient| {
            let is_first = params.first().is_some_and(|param| param.name == gradient.name);
            if is_spoiled && is_first && self.part.is_last(place) {
                gradient.value = gradient.value.as_ref().map(spoil).transpose()?;
            }
            Ok(gradient)
        })
    }

    fn upload(&self, batch: &Images) -> Result<(D::Tensor, D::Tensor)> {
        let pixels = self.device.upload(&batch.pixels, &[batch.len(), batch.area()], DType::F32);
        let labels = self.device.upload_i64(&batch.labels, &[batch.len()]);
        Ok((pixels?, labels?))
    }

    /// Returns the number of images whose largest logit is their label's.
    pub(crate) fn right(&mut self, images: &Images) -> Result<usize> {
        let places: Vec<usize> = (0..images.len()).collect();
        let mut right = 0;
        for part in places.chunks(TOGETHER) {
            let images = images.pick(part);
            let tape = Tape::new(self.device.clone(), &self.amp.region).no_grad();
            let params = tape.parameters(&self.amp.optimizer.params);
            let (pixels, _) = self.upload(&images)?;
            let logits = self.net.forward(&params, &tape.constant(pixels), false)?;
            let logits = self.device.download(logits.tensor())?;
            let rows = logits.chunks_exact(CLASSES).zip(&images.labels);
            right += rows.filter(|(row, label)| best(row) == usize::try_from(**label).ok()).count();
        }
        Ok(right)
    }

    /// Returns the figures of the run, but for the test, the data and the time.
    pub(crate) fn into_run(mut self) -> Result<Run> {
        self.run.outcomes.close(&self.amp.scaler.state()?);
        let device = self.device;
        let parameter = |p: &Named<D::Tensor>| {
            let elements = device.shape(&p.value).iter().product::<usize>() as u64;
            (p.name.clone(), device.dtype(&p.value), elements)
        };
        let parameters: Vec<_> = self.amp.optimizer.params.iter().map(parameter).collect();
        let elements: u64 = parameters.iter().map(|(_, _, len)| len).sum();
        let parameters = parameters.iter().map(|(name, dtype, len)| (&**name, *dtype, *len));
        let mut memory = Memory::of(self.amp.optimizer.config(), parameters);
        if self.args.accumulate > 1 {
            // The window's sum, beside the gradients of the micro-batch that is added to it.
            memory.gradients += elements * DType::F32.bytes() as u64;
        }
        if let (Some(ranks), true) = (self.args.ranks, self.args.slices) {
            // Slices of a tensor differ by one element at most.
            memory.masters = memory.masters.div_ceil(ranks.into());
            memory.optimizer = memory.optimizer.div_ceil(ranks.into());
        }
        let weights = self.args.ranks.map(|_| self.weights()).transpose()?;
        Ok(Run { bytes: memory, weights, ..self.run })
    }

    /// Returns a hash of the parameters' `f32` values.
    fn weights(&self) -> Result<u64> {
        let mut hasher = DefaultHasher::new();
        for Named { value, .. } in self.amp.optimizer.export_f32()? {
            value.into_iter().map(f32::to_bits).for_each(|bits| bits.hash(&mut hasher));
        }
        Ok(hasher.finish())
    }
}
