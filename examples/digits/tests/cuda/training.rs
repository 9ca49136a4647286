//! Model with its batches, of which one is bad, and its steps, on any device.

use crate::common::{digits, short};
use binade::core::{DType, Handle};
use binade::grad_scaler::{Step, StepOutcome};
use binade::{Amp, Model, initialize};
use binade_example_digits::config;
use binade_example_digits::data::Images;
use binade_example_digits::model::{Net, Trains};
use binade_tape::{Tape, TapeError, Var};

/// Index of the batch with an infinite pixel, its last.
pub(crate) const BAD: usize = 4;
pub(crate) const BATCHES: usize = 10;
/// Images of a batch.
const BATCH: usize = 16;

/// Record of a step: its loss in bits, true if it was applied, and the scale after it in bits.
pub(crate) type Record = (u32, bool, u32);

/// Loss and outcome of a step.
pub(crate) type Stepped<D> = (<D as Handle>::Tensor, StepOutcome<D>);

/// Returns a batch on a device: pixels, and labels.
pub(crate) fn give<D: Trains>(device: &D, batch: &Images) -> [D::Tensor; 2] {
    let pixels = device.upload(&batch.pixels, &[batch.len(), batch.area()], DType::F32);
    [pixels.unwrap(), device.upload_i64(&batch.labels, &[batch.len()]).unwrap()]
}

pub(crate) struct Training<D: Trains> {
    device: D,
    net: Net<D>,
    pub(crate) amp: Amp<D>,
    pub(crate) batches: Vec<Images>,
}

impl<D: Trains> Training<D> {
    pub(crate) fn new(device: &D, line: &str) -> Self {
        let args = short(line);
        let [setting] = config::settings(&args).try_into().unwrap();
        let digits = digits(&args);
        let net = Net::new(args.model, digits.train.size, device).unwrap();
        let model = Model::new(net.parameters(device, args.seed).unwrap());
        let properties = config::properties(&args, setting).unwrap();
        let amp = initialize(device.clone(), model, config::rule(&args), properties).unwrap();
        let batch = |number: usize| {
            let rows: Vec<usize> = (number * BATCH..(number + 1) * BATCH).collect();
            let mut batch = digits.train.pick(&rows);
            if number == BAD {
                *batch.pixels.last_mut().unwrap() = f32::INFINITY;
            }
            batch
        };
        let batches = (0..BATCHES).map(batch).collect();
        Self { device: device.clone(), net, amp, batches }
    }

    /// Runs a step. The tape is dropped before it, unless it is kept: it holds the parameters, and a step gives new memory to
    /// those that others hold.
    pub(crate) fn step(
        &mut self,
        [pixels, labels]: &[D::Tensor; 2],
        keeps_tape: bool,
    ) -> Result<Stepped<D>, TapeError<D::Error>> {
        let tape = Tape::new(self.device.clone(), &self.amp.region);
        let params = tape.parameters(&self.amp.optimizer.params);
        let logits = self.net.forward(&params, &tape.constant(pixels.clone()), true)?;
        let loss = logits.cross_entropy(labels)?;
        let grads = self.amp.scaler.scale(&loss)?.backward(Var::backward)?;
        let of = loss.tensor().clone();
        let _kept = keeps_tape.then_some((tape, params, logits, loss));
        let step = grads.unscale()?.clip_norm(1.0)?.step(&mut self.amp.optimizer)?;
        Ok((of, self.amp.scaler.update(step)?))
    }

    pub(crate) fn record(&self, (loss, outcome): Stepped<D>) -> Record {
        let step = outcome.resolve().unwrap();
        let scale = step.report().scale.factor();
        (
            self.device.download(&loss).unwrap()[0].to_bits(),
            matches!(step, Step::Applied(_)),
            scale.to_bits(),
        )
    }

    /// Trains on all batches, and records each step.
    pub(crate) fn train(&mut self) -> Vec<Record> {
        let one = |number: usize| {
            let data = give(&self.device, &self.batches[number]);
            let stepped = self.step(&data, false).unwrap();
            self.record(stepped)
        };
        (0..BATCHES).map(one).collect()
    }
}

/// Asserts that losses are within `share` of each other, that scales are equal, and that the bad step and no other was skipped.
pub(crate) fn assert_near(here: &[Record], there: &[Record], share: f32) {
    for (number, (here, there)) in here.iter().zip(there).enumerate() {
        assert_eq!((here.1, here.2), (there.1, there.2), "step {number}");
        assert_eq!(here.1, number != BAD, "only the step on an infinite pixel is skipped");
        let [here, there] = [here.0, there.0].map(f32::from_bits);
        let is_near = binade_example_shared::agree::is_within(here, there, share);
        assert!(number == BAD || is_near, "step {number}: {here}, {there}");
    }
}
