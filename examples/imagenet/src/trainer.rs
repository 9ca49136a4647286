//! Training loop: the part of the example that resembles a user's program.

use crate::Result;
use crate::data::{Batch, Loader, Sample, View, order};
use crate::job::Job;
use crate::meter::Hits;
use crate::model::{self, Net, Resnet};
use crate::pretrained;
use crate::ranks::Place;
use crate::report::{Meter, Run, Validation};
use crate::schedule::rate;
use binade::core::{DType, ops::ImageLayout};
use binade::grad_scaler::Step;
use binade::master_weights::MasterOptimizer;
use binade::{Amp, Model, Setup};
use binade_example_shared::program::curve::Point;
use binade_example_shared::program::{Outcomes, Trains};
use binade_ranks::Shards;
use binade_tape::{Tape, Var};
use indicatif::ProgressBar;
use std::sync::Arc;
use std::time::Instant;

/// Model in training.
pub(crate) struct Trainer<'a, D: Trains> {
    pub(crate) device: &'a D,
    place: Place<D>,
    pub(crate) job: &'a Job<'a>,
    bar: &'a ProgressBar,
    setup: Setup<D>,
    pub(crate) net: Net<D>,
    pub(crate) amp: Amp<D>,
    /// Outcome of the last step, which a checkpoint begins with.
    pub(crate) last: Option<Step>,
    /// Figures so far.
    pub(crate) run: Run,
}

impl<'a, D: Trains> Trainer<'a, D> {
    /// Sets up a model at the level of the command line, and resumes it from a checkpoint where that names one.
    pub(crate) fn new(
        device: &'a D,
        place: Place<D>,
        job: &'a Job<'a>,
        bar: &'a ProgressBar,
    ) -> Result<Self> {
        let Job { args, sizes, data } = job;
        let (arch, width, classes) = (args.arch, sizes.width, data.classes.len());
        let resnet = Resnet::new(model::Sizes { arch, width, classes }, args.zero_init_residual);
        let last = args.channels_last.then_some(ImageLayout::ChannelsLast);
        let order = last.unwrap_or_default();
        let mut net = Net::new(resnet, place.part.norm, order, device)?;
        let mut params = net.parameters(device, args.seed.into())?;
        if let Some(file) = &args.pretrained {
            pretrained::load(file, device, &mut net, &mut params)?;
        }
        let properties = job.properties();
        let run = Run {
            name: format!("{} {} {}", arch.name(), args.opt_level, properties.dtype),
            outcomes: Outcomes::from_scale(properties.loss_scale.start().factor()),
            ..Run::default()
        };
        let setup = Setup::new(device.clone(), properties)?;
        let norms = net.norms(device, &params)?;
        let model = Model::new(params).with_norm(norms);
        let (region, scaler) = (setup.region.clone(), setup.scaler()?);
        let mut optimizer = setup.optimizer(model, job.rule(args.weight_decay))?;
        if args.no_norm_decay {
            let config = optimizer.config().clone();
            optimizer.set_config(config.with_group(net.resnet.vectors(), job.rule(0.0))?)?;
        }
        let amp = Amp { region, scaler, optimizer };
        let mut trainer = Self { device, place, job, bar, setup, net, amp, last: None, run };
        args.resume.iter().try_for_each(|file| trainer.resume(file))?;
        Ok(trainer)
    }

    /// Returns the number of steps taken.
    pub(crate) fn taken(&self) -> u64 {
        self.run.outcomes.steps.attempted
    }

    /// Returns true for the one of all ranks that prints and saves.
    pub(crate) fn is_first(&self) -> bool {
        self.place.part.is_first(0)
    }

    /// Prints a line, above the progress bar.
    fn tell(&self, line: &str) {
        if self.is_first() {
            self.bar.suspend(|| println!("{line}"));
        }
    }

    /// Trains to the last step, or validates alone, and returns the figures and the optimizer with the parameters. Breaks off once the run
    /// has diverged.
    pub(crate) fn run(mut self) -> Result<(Run, MasterOptimizer<D>)> {
        if self.job.args.evaluate {
            self.run.last = self.validation()?;
            return self.ended();
        }
        self.bar.set_position(self.taken());
        while self.taken() < self.job.steps() && self.run.outcomes.diverged.is_none() {
            let train = self.epoch()?;
            self.share_running()?;
            let validation = self.validation()?;
            let is_best = validation.top1 > self.run.best;
            self.run.last = validation;
            self.run.best = self.run.best.max(validation.top1);
            #[expect(clippy::cast_possible_truncation, reason = "a point of a curve")]
            let point = Point {
                step: u32::try_from(self.taken())?,
                train: train as f32,
                validation: validation.loss as f32,
            };
            self.run.curve.push(point);
            self.save(is_best)?;
        }
        self.ended()
    }

    fn ended(mut self) -> Result<(Run, MasterOptimizer<D>)> {
        self.run.outcomes.close(&self.amp.scaler.state()?);
        Ok((self.run, self.amp.optimizer))
    }

    /// Takes the steps of the epoch that are left, and returns their mean loss.
    fn epoch(&mut self) -> Result<f64> {
        let Job { args, sizes, data } = self.job;
        let len = self.job.epoch_steps();
        let (epoch, from) = (self.taken() / len, self.taken() % len);
        let until = len.min(self.job.steps() - epoch * len);
        let (seed, images) = (args.seed.into(), data.train.len());
        let order = order(seed, epoch, images);
        let batches = order.chunks(sizes.batch).take(usize::try_from(until)?);
        let batches: Vec<&[usize]> = batches.skip(usize::try_from(from)?).collect();
        let view = View { size: sizes.image, random: Some([seed, epoch]) };
        let loader = self.loader(&data.train, &batches, view);
        let (mut meter, mut window) = (Meter::default(), Window::new(self.device)?);
        for ((step, whole), batch) in (from + 1..).zip(&batches).zip(loader) {
            let batch = batch?;
            let lr = rate(self.job.peak(), epoch, step, len);
            self.amp.optimizer.set_config(self.amp.optimizer.config().clone().with_lr(lr)?)?;
            let logits = self.step(&batch, whole.len(), &mut window)?;
            self.bar.inc(1);
            let has_ended = step == until || self.run.outcomes.diverged.is_some();
            if has_ended || step % u64::from(args.print_freq) == 0 {
                self.read(&mut meter, &mut window, &logits, &batch)?;
                self.tell(&meter.line([epoch, step, len], window.batch, &self.run.outcomes));
            }
            if has_ended {
                break;
            }
        }
        Ok(meter.loss.mean())
    }

    /// Starts to load this device's part of batches.
    fn loader(&self, images: &Arc<[Sample]>, batches: &[&[usize]], view: View) -> Loader {
        let own = |batch: &&[usize]| self.place.part.shards(batch).flatten().copied().collect();
        let workers = (self.job.args.workers as usize / self.job.args.ranks()).max(1);
        Loader::new(images, batches.iter().map(own).collect(), view, workers)
    }

    /// Takes one step on this device's part of a batch of so many images, and returns the logits.
    fn step(&mut self, batch: &Batch, whole: usize, window: &mut Window<D>) -> Result<D::Tensor> {
        self.run.outcomes.steps.attempted += 1;
        let (device, part) = (self.device, &self.place.part);
        let tape = Tape::new(device.clone(), &self.amp.region);
        let (logits, loss) = loss(&self.setup, &mut self.net, &tape, &self.amp, batch, true)?;
        window.total = device.add(&window.total, loss.tensor())?;
        (window.steps, window.batch) = (window.steps + 1.0, count(whole));
        let loss = loss.scaled_by(part.weight(batch.labels.len(), whole))?;
        let scaled = self.amp.scaler.scale(&Shards(vec![loss]))?;
        let params = &self.amp.optimizer.params;
        let backward = |losses: &Shards<Var<D>>| {
            (part.backward)(device, params, &losses.0, &mut |_, gradient| Ok(gradient))
        };
        let step = scaled.backward(backward)?.unscale()?.step(&mut self.amp.optimizer)?;
        let step = self.amp.scaler.update(step)?.resolve()?;
        self.run.outcomes.enter(&step);
        if let Step::Skipped(report) = &step {
            self.tell(&report.to_string());
        }
        self.last = Some(step);
        self.run.images += count(whole);
        Ok(logits)
    }

    /// Reads the mean loss of the steps since the last reading, and the hits of the last of them, over all ranks.
    fn read(
        &mut self,
        meter: &mut Meter,
        window: &mut Window<D>,
        logits: &D::Tensor,
        batch: &Batch,
    ) -> Result<()> {
        let loss: f32 = self.device.download(&window.total)?.iter().sum();
        let logits = self.device.download(logits)?;
        let hits = Hits::of(&logits, &batch.labels, self.job.data.classes.len());
        let mut sums = [f64::from(loss), hits.top1, hits.top5, hits.images];
        (self.place.sum)(self.device, &mut sums)?;
        let [loss, top1, top5, images] = sums;
        let seconds = window.start.elapsed().as_secs_f64();
        self.run.seconds += seconds;
        let (loss, hits) = (loss / self.place.ranks, Hits { top1, top5, images });
        meter.add(window.steps, loss / window.steps, seconds / window.steps, hits);
        *window = Window { batch: window.batch, ..Window::new(self.device)? };
        Ok(())
    }

    /// Gives all ranks the mean of their running statistics, which differ where each normalises by its own images.
    fn share_running(&mut self) -> Result<()> {
        let mut running = self.net.running(self.device)?;
        for values in running.values_mut() {
            let mut sums: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
            (self.place.sum)(self.device, &mut sums)?;
            #[expect(clippy::cast_possible_truncation, reason = "rounded once")]
            let means = sums.iter().map(|sum| (sum / self.place.ranks) as f32);
            *values = means.collect();
        }
        self.net.set_running(self.device, |name| running.get(name).cloned())?;
        Ok(())
    }

    /// Returns loss and hits of the validation images, and prints them.
    fn validation(&mut self) -> Result<Validation> {
        let Job { sizes, data, .. } = *self.job;
        let numbers: Vec<usize> = (0..data.val.len()).collect();
        let batches: Vec<&[usize]> = numbers.chunks(sizes.batch).collect();
        let loader = self.loader(&data.val, &batches, View { size: sizes.image, random: None });
        let mut sums = [0.0; 4];
        // A rank's part of a small rest may have no image.
        for batch in
            loader.filter(|batch| !matches!(batch, Ok(Batch { labels, .. }) if labels.is_empty()))
        {
            let batch = batch?;
            let tape = Tape::new(self.device.clone(), &self.amp.region).no_grad();
            let (logits, mean) = loss(&self.setup, &mut self.net, &tape, &self.amp, &batch, false)?;
            let mean: f32 = self.device.download(mean.tensor())?.iter().sum();
            let logits = self.device.download(&logits)?;
            let Hits { top1, top5, images } = Hits::of(&logits, &batch.labels, data.classes.len());
            let own = [f64::from(mean) * images, top1, top5, images];
            sums.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
        }
        (self.place.sum)(self.device, &mut sums)?;
        let [loss, top1, top5, images] = sums;
        let [top1, top5] = Hits { top1, top5, images }.percent();
        let validation = Validation { loss: loss / images, top1, top5 };
        self.tell(&validation.to_string());
        Ok(validation)
    }
}

/// Steps since figures were read.
struct Window<D: Trains> {
    /// Sum of the losses of this device's parts, on the device.
    total: D::Tensor,
    steps: f64,
    /// Images of the last step, on all ranks.
    batch: f64,
    start: Instant,
}

impl<D: Trains> Window<D> {
    fn new(device: &D) -> Result<Self> {
        let total = device.fill(0.0, &[], DType::F32)?;
        Ok(Self { total, steps: 0.0, batch: 0.0, start: Instant::now() })
    }
}

/// Returns logits and mean loss of a batch.
fn loss<D: Trains>(
    setup: &Setup<D>,
    net: &mut Net<D>,
    tape: &Tape<D>,
    amp: &Amp<D>,
    batch: &Batch,
    training: bool,
) -> Result<(D::Tensor, Var<D>)> {
    let (device, images) = (tape.device(), batch.labels.len());
    let places = (batch.pixels.len() / images / 3).isqrt();
    let pixels = device.upload(&batch.pixels, &[images, 3, places, places], DType::F32)?;
    let labels = device.upload_i64(&batch.labels, &[images])?;
    let params = tape.parameters(&amp.optimizer.params);
    let logits = net.forward(&params, &tape.constant(setup.input(&pixels)?), training)?;
    Ok((setup.output(logits.tensor())?, logits.cross_entropy(&labels)?))
}

#[expect(clippy::cast_precision_loss, reason = "a few thousand images")]
fn count(images: usize) -> f64 {
    images as f64
}
