//! Training loop: the part of the example that resembles a user's program.

use crate::Result;
use crate::args::Args;
use crate::model::{Gpt, Masks};
use crate::report::{Point, Run};
use crate::schedule::rate;
use crate::text::{Text, Windows};
use binade::core::DType;
use binade::grad_scaler::{BadMicroBatch, Step, UnscaledGrads};
use binade::master_weights::{Adam, UpdateRule};
use binade::{Amp, Model, initialize};
use binade_example_shared::program::{Outcomes, Setting, Trains, properties};
use binade_tape::{Tape, Var};
use fastrand::Rng;
use indicatif::ProgressBar;
use std::time::Instant;

/// Weight decay of matrices.
const DECAY: f64 = 0.1;

/// Model in training.
#[derive(Debug)]
pub(crate) struct Trainer<'a, D: Trains> {
    device: &'a D,
    pub(crate) args: &'a Args,
    pub(crate) text: &'a Text,
    net: Gpt,
    pub(crate) amp: Amp<D>,
    /// Outcome of the last step, which a checkpoint begins with.
    pub(crate) last: Option<Step>,
    /// Figures so far.
    pub(crate) run: Run,
}

impl<'a, D: Trains> Trainer<'a, D> {
    /// Sets up a model at the level of `setting`.
    pub(crate) fn new(
        device: &'a D,
        args: &'a Args,
        setting: Setting,
        text: &'a Text,
    ) -> Result<Self> {
        let net = Gpt::new(args, text.alphabet.len());
        let params = net.parameters(device, args.seed.into())?;
        let (properties, rule) = (properties(setting)?, adamw(args.lr, DECAY));
        let outcomes = Outcomes::from_scale(properties.loss_scale.start().factor());
        let norms = net.norms(device, &params)?;
        let model = Model::new(params).with_norm(norms.clone());
        let mut amp = initialize(device.clone(), model, rule, properties)?;
        // The rows of rare characters would decay between their gradients, and gains are no matrices.
        let undecayed = norms.into_iter().chain(["embedding".into()]);
        let config = amp.optimizer.config().clone();
        amp.optimizer.set_config(config.with_group(undecayed, adamw(args.lr, 0.0))?)?;
        let name = format!("{} {}", setting.0, setting.1);
        let run = Run { name, outcomes, ..Run::default() };
        Ok(Self { device, args, text, net, amp, last: None, run })
    }

    /// Returns the number of steps taken.
    pub(crate) fn taken(&self) -> u32 {
        u32::try_from(self.run.outcomes.steps.attempted).unwrap_or(u32::MAX)
    }

    /// Takes all steps, with a validation every few of them, and writes a sample of text. Breaks off once the run has diverged.
    pub(crate) fn train(mut self, bar: &ProgressBar) -> Result<Run> {
        bar.set_position(self.taken().into());
        while self.taken() < self.args.steps && self.run.outcomes.diverged.is_none() {
            let next = (self.taken() + 1).next_multiple_of(self.args.every);
            let train = self.stretch(next.min(self.args.steps), bar)?;
            let (step, validation) = (self.taken(), self.validation()?);
            self.run.curve.push(Point { step, train, validation });
            bar.set_message(format!("loss {train:.3}, validation {validation:.3}"));
            self.args.save.iter().try_for_each(|file| self.save(file))?;
        }
        self.run.outcomes.close(&self.amp.scaler.state()?);
        if self.run.outcomes.diverged.is_none() {
            self.run.sample = self.sample()?;
        }
        Ok(self.run)
    }

    /// Takes steps until `next` are taken, and returns their mean loss.
    fn stretch(&mut self, next: u32, bar: &ProgressBar) -> Result<f32> {
        let (from, start) = (self.taken(), Instant::now());
        let mut total = self.device.fill(0.0, &[], DType::F32)?;
        while self.taken() < next && self.run.outcomes.diverged.is_none() {
            self.advance(&mut total)?;
            bar.inc(1);
        }
        let total: f32 = self.device.download(&total)?.iter().sum();
        let micro_batches = (self.taken() - from) * u32::from(self.args.accumulate);
        let [batch, context] = [self.args.batch, self.args.context].map(f64::from);
        self.run.characters += f64::from(micro_batches) * batch * context;
        self.run.seconds += start.elapsed().as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
        let count = micro_batches as f32;
        Ok(total / count)
    }

    /// Runs one optimizer step over a window of micro-batches.
    fn advance(&mut self, total: &mut D::Tensor) -> Result<()> {
        let (args, number) = (self.args, self.taken());
        self.run.outcomes.steps.attempted += 1;
        let rate = rate(args.lr, number, args.steps);
        let config = self.amp.optimizer.config().clone().with_lr(rate)?;
        self.amp.optimizer.set_config(config)?;
        let mut sum = self.amp.scaler.accumulate(BadMicroBatch::SkipWindow);
        let parts = u32::from(args.accumulate);
        for micro_batch in number * parts..(number + 1) * parts {
            sum.add(self.gradients(micro_batch, total)?)?;
        }
        let Some(grads) = sum.finish()? else { return Ok(()) };
        let step = grads.clip_norm(args.clip_norm)?.step(&mut self.amp.optimizer)?;
        let step = self.amp.scaler.update(step)?.resolve()?;
        self.run.outcomes.enter(&step);
        self.last = Some(step);
        Ok(())
    }

    /// Returns the unscaled gradients of a micro-batch, by its number, and adds its loss to `total` on the device.
    fn gradients(&mut self, micro_batch: u32, total: &mut D::Tensor) -> Result<UnscaledGrads<D>> {
        let args = self.args;
        // A generator for each micro-batch: a resumed run draws the windows of an uninterrupted one.
        let mut random = Rng::with_seed(u64::from(args.seed) << 32 | u64::from(micro_batch));
        let batch = self.text.batch(args.batch as usize, args.context as usize, &mut random);
        let tape = Tape::new(self.device.clone(), &self.amp.region);
        let masks = Masks::of(args.dropout, args.seed, micro_batch);
        let loss = self.loss(&tape, &batch, masks)?;
        *total = self.device.add(total, loss.tensor())?;
        let loss = loss.scaled_by(1.0 / f32::from(args.accumulate))?;
        Ok(self.amp.scaler.scale(&loss)?.backward(Var::backward)?.unscale()?)
    }

    fn loss(&self, tape: &Tape<D>, [inputs, targets]: &Windows, masks: Masks) -> Result<Var<D>> {
        let params = tape.parameters(&self.amp.optimizer.params);
        let (all, context) = (inputs.len(), self.args.context as usize);
        let inputs = self.device.upload_i64(inputs, &[all / context, context])?;
        let targets = self.device.upload_i64(targets, &[all])?;
        Ok(self
            .net
            .forward(&params, &inputs, masks, self.args.recompute)?
            .cross_entropy(&targets)?)
    }

    /// Returns the mean loss on the validation text.
    fn validation(&self) -> Result<f32> {
        let (mut total, mut count) = (0.0, 0.0);
        for batch in self.text.validation(self.args.batch as usize, self.args.context as usize) {
            let tape = Tape::new(self.device.clone(), &self.amp.region).no_grad();
            let loss = self.loss(&tape, &batch, Masks::NONE)?;
            #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
            let characters = batch[0].len() as f32;
            total += characters * self.device.download(loss.tensor())?.iter().sum::<f32>();
            count += characters;
        }
        Ok(total / count)
    }

    /// Returns text that the model writes, character by character, behind the first of the alphabet: mostly a line break.
    fn sample(&self) -> Result<String> {
        let (mut numbers, mut random) = (vec![0], Rng::with_seed(self.args.seed.into()));
        for _ in 0..self.args.sample {
            let seen = &numbers[numbers.len().saturating_sub(self.args.context as usize)..];
            let tape = Tape::new(self.device.clone(), &self.amp.region).no_grad();
            let params = tape.parameters(&self.amp.optimizer.params);
            let inputs = self.device.upload_i64(seen, &[1, seen.len()])?;
            let logits = self.net.forward(&params, &inputs, Masks::NONE, false)?;
            let logits = self.device.download(logits.tensor())?;
            let last = &logits[logits.len() - self.text.alphabet.len()..];
            numbers.push(drawn(last, self.args.temperature, random.f32()));
        }
        Ok(self.text.decode(&numbers[1..]))
    }
}

/// Returns the number that `at`, in 0..1, falls on, where each has a share of the softmax of the logits over `temperature`.
fn drawn(logits: &[f32], temperature: f32, at: f32) -> i64 {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let weights = logits.iter().map(|x| ((x - most) / temperature).exp());
    let mut left = at * weights.clone().sum::<f32>();
    let passed = weights.take_while(|weight| {
        left -= weight;
        left >= 0.0
    });
    i64::try_from(passed.count().min(logits.len() - 1)).unwrap_or(0)
}

/// Returns `AdamW` with a second beta for short runs of transformers.
fn adamw(lr: f64, weight_decay: f64) -> UpdateRule {
    let (betas, eps) = ([0.9, 0.99], 1e-8);
    UpdateRule::Adam(Adam {
        lr,
        betas,
        eps,
        weight_decay,
        decoupled: true,
        amsgrad: false,
        sparse: false,
    })
}
