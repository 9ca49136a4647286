//! Training on two replicas, each with half of every batch. It is near one device that has the whole, with the same steps applied
//! and the same scales, across an overflow on one of the two; and both have the same bits.

use crate::common::agree::{Line, is_within};
use crate::common::{digits, short};
use binade::core::DType;
use binade::grad_scaler::Step;
use binade::{Amp, Model, initialize};
use binade_cuda::{Cuda, Parts, Replicas, Tensor, cudarc::driver::CudaContext};
use binade_example_digits::args::Args;
use binade_example_digits::config;
use binade_example_digits::data::Images;
use binade_example_digits::model::{Net, Trains};
use binade_ops::{Download, Upload};
use binade_tape::{Tape, Var};

/// Levels, each with the relative bound on a step's loss from the one device's.
pub(crate) const RUNS: [Line; 3] = [
    ("--level O0", 1e-4),
    ("--level O1 --dtype f16 --growth-interval 3", 2e-2),
    ("--level O2 --dtype f16 --optimizer sgd --growth-interval 3", 2e-2),
];

/// Index of the batch with an infinite pixel, in the second device's half.
const BAD: usize = 4;

/// Images of a batch, and below it the number of batches.
const BATCH: usize = 16;
const BATCHES: usize = 10;

/// Outcomes of a run: each step's loss, true if it was applied, and the scale after it.
type Said = Vec<(f32, bool, f32)>;

/// Device that takes whole batches, and returns the loss of a whole batch.
trait Takes: Trains {
    fn give(&self, batch: &Images) -> [Self::Tensor; 2];

    fn loss(&self, loss: &Self::Tensor) -> f32;
}

impl Takes for Cuda {
    fn give(&self, batch: &Images) -> [Tensor; 2] {
        let pixels = self.upload(&batch.pixels, &[batch.len(), batch.area()], DType::F32).unwrap();
        [pixels, self.upload_i64(&batch.labels, &[batch.len()]).unwrap()]
    }

    fn loss(&self, loss: &Tensor) -> f32 {
        self.download(loss).unwrap()[0]
    }
}

impl Takes for Replicas {
    fn give(&self, batch: &Images) -> [Parts<Tensor>; 2] {
        let pixels = self.shard(&batch.pixels, &[batch.len(), batch.area()], DType::F32).unwrap();
        [pixels, self.shard_i64(&batch.labels, &[batch.len()]).unwrap()]
    }

    fn loss(&self, loss: &Parts<Tensor>) -> f32 {
        let [first, second] = self.download_each(loss).unwrap().try_into().unwrap();
        f32::midpoint(first[0], second[0])
    }
}

/// Trains, and returns the model too.
fn train<D: Takes>(device: &D, args: &Args) -> (Said, Amp<D>) {
    let [setting] = config::settings(args).try_into().unwrap();
    let digits = digits(args);
    let mut net = Net::new(args.model, digits.train.size, device).unwrap();
    let model = Model::new(net.parameters(device, args.seed).unwrap());
    let properties = config::properties(args, setting).unwrap();
    let mut amp = initialize(device.clone(), model, config::rule(args), properties).unwrap();
    let mut said = Vec::new();
    for number in 0..BATCHES {
        let rows: Vec<usize> = (number * BATCH..(number + 1) * BATCH).collect();
        let mut batch = digits.train.pick(&rows);
        if number == BAD {
            *batch.pixels.last_mut().unwrap() = f32::INFINITY;
        }
        let [pixels, labels] = device.give(&batch);
        let tape = Tape::new(device.clone(), &amp.region);
        let params = tape.parameters(&amp.optimizer.params);
        let logits = net.forward(&params, &tape.constant(pixels), true).unwrap();
        let loss = logits.cross_entropy(&labels).unwrap();
        let grads = amp.scaler.scale(&loss).unwrap().backward(Var::backward).unwrap();
        let of = loss.tensor().clone();
        drop((tape, params, logits, loss));
        let grads = grads.unscale().unwrap().clip_norm(1.0).unwrap();
        let step = grads.step(&mut amp.optimizer).unwrap();
        let step = amp.scaler.update(step).unwrap().resolve().unwrap();
        let scale = step.report().scale.factor();
        said.push((device.loss(&of), matches!(step, Step::Applied(_)), scale));
    }
    (said, amp)
}

pub(crate) fn agree(cuda: &Cuda, line: &str, share: f32) {
    let args = short(line);
    let second = usize::from(CudaContext::device_count().is_ok_and(|count| count > 1));
    let replicas = Replicas::open(&[0, second]).unwrap();
    let ((one, _), (both, amp)) = (train(cuda, &args), train(&replicas, &args));
    for (number, (one, both)) in one.iter().zip(&both).enumerate() {
        assert_eq!(
            both.1,
            number != BAD,
            "the step on an infinite pixel, and no other, is skipped"
        );
        assert_eq!((one.1, one.2.to_bits()), (both.1, both.2.to_bits()), "step {number}");
        let is_near = is_within(one.0, both.0, share);
        assert!(number == BAD || is_near, "step {number}: {} and {}", one.0, both.0);
    }
    for param in &amp.optimizer.params {
        let bits = replicas.devices().iter().zip(&param.value);
        let bits: Vec<_> = bits.map(|(cuda, part)| cuda.to_bits(part).unwrap()).collect();
        assert_eq!(bits[0], bits[1], "{}", param.name);
    }
}
