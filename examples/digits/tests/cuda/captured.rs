//! Training step that is captured once and replayed: its bits are those of the uncaptured step, and near the CPU's, across an
//! overflow and growths of the scale.

use crate::common::agree::{Line, is_within};
use crate::common::{digits, short};
use binade::core::DType;
use binade::grad_scaler::{Step, StepOutcome};
use binade::{Amp, Model, initialize};
use binade_cpu::Cpu;
use binade_cuda::Cuda;
use binade_example_digits::args::Args;
use binade_example_digits::config;
use binade_example_digits::data::Images;
use binade_example_digits::model::{Net, Trains};
use binade_tape::{Tape, TapeError, Var};

/// Levels, each with the relative bound on a step's loss from the CPU's.
pub(crate) const RUNS: [Line; 3] = [
    ("--level O0", 1e-4),
    ("--level O1 --dtype f16 --growth-interval 3", 2e-2),
    ("--level O2 --dtype bf16", 2e-2),
];

/// Index of the batch with an infinite pixel.
const BAD: usize = 4;

/// Images of a batch, and below it the number of batches.
const BATCH: usize = 16;
const BATCHES: usize = 10;

/// Outcomes of a run: each step's loss in bits, true if it was applied, and the scale after it.
type Said = Vec<(u32, bool, u32)>;

/// Model and its batches.
struct Training<D: Trains> {
    device: D,
    net: Net<D>,
    amp: Amp<D>,
    batches: Vec<Images>,
}

type Outcome<D> = (<D as binade::core::Handle>::Tensor, StepOutcome<D>);

impl<D: Trains> Training<D> {
    fn new(device: &D, args: &Args) -> Self {
        let [setting] = config::settings(args).try_into().unwrap();
        let digits = digits(args);
        let net = Net::new(args.model, digits.train.size, device).unwrap();
        let model = Model::new(net.parameters(device, args.seed).unwrap());
        let properties = config::properties(args, setting).unwrap();
        let amp = initialize(device.clone(), model, config::rule(args), properties).unwrap();
        let batch = |number: usize| {
            let rows: Vec<usize> = (number * BATCH..(number + 1) * BATCH).collect();
            let mut batch = digits.train.pick(&rows);
            if number == BAD {
                batch.pixels[5] = f32::INFINITY;
            }
            batch
        };
        let batches = (0..BATCHES).map(batch).collect();
        Self { device: device.clone(), net, amp, batches }
    }

    fn upload(&self, number: usize) -> [D::Tensor; 2] {
        let batch = &self.batches[number];
        let pixels = self.device.upload(&batch.pixels, &[batch.len(), batch.area()], DType::F32);
        let labels = self.device.upload_i64(&batch.labels, &[batch.len()]);
        [pixels.unwrap(), labels.unwrap()]
    }

    /// Runs a step. The tape is dropped before it, unless it is kept: it holds the parameters, and a step gives new memory to
    /// those that others hold.
    fn step(
        &mut self,
        [pixels, labels]: &[D::Tensor; 2],
        keeps_tape: bool,
    ) -> Result<Outcome<D>, TapeError<D::Error>> {
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

    fn say(&self, (loss, outcome): Outcome<D>) -> (u32, bool, u32) {
        let loss = self.device.download(&loss).unwrap()[0];
        let step = outcome.resolve().unwrap();
        let scale = step.report().scale.factor();
        (loss.to_bits(), matches!(step, Step::Applied(_)), scale.to_bits())
    }
}

fn uncaptured<D: Trains>(device: &D, args: &Args) -> Said {
    let mut training = Training::new(device, args);
    let one = |number| {
        let data = training.upload(number);
        let outcome = training.step(&data, false).unwrap();
        training.say(outcome)
    };
    (0..BATCHES).map(one).collect()
}

/// Runs the first two steps as warm-ups, the others as replays.
fn captured(cuda: &Cuda, args: &Args) -> Said {
    let mut training = Training::new(cuda, args);
    let data = training.upload(0);
    let (first, capture) = cuda.capture().warm_up(|| training.step(&data, false)).unwrap();
    let mut said = vec![training.say(first)];
    write(cuda, &data, &training.batches[1]);
    let (second, capture) = capture.warm_up(|| training.step(&data, false)).unwrap();
    said.push(training.say(second));
    let captured = capture.capture(|| training.step(&data, false)).unwrap();
    for number in 2..BATCHES {
        write(cuda, &data, &training.batches[number]);
        said.push(training.say(captured.replay().unwrap()));
    }
    said
}

fn write(cuda: &Cuda, [pixels, labels]: &[binade_cuda::Tensor; 2], batch: &Images) {
    cuda.write(pixels, &batch.pixels).unwrap();
    let bits: Vec<u8> = batch.labels.iter().flat_map(|label| label.to_le_bytes()).collect();
    cuda.write_bits(labels, &bits).unwrap();
}

pub(crate) fn agree(cuda: &Cuda, line: &str, share: f32) {
    let args = short(line);
    let (there, replayed) = (uncaptured(cuda, &args), captured(cuda, &args));
    assert_eq!(there, replayed, "a replay is the step itself");
    let here = uncaptured(&Cpu, &args);
    for (number, (here, there)) in here.iter().zip(&there).enumerate() {
        assert_eq!((here.1, here.2), (there.1, there.2), "step {number}");
        assert_eq!(
            here.1,
            number != BAD,
            "the step on an infinite pixel, and no other, is skipped"
        );
        let [here, there] = [here.0, there.0].map(f32::from_bits);
        assert!(number == BAD || is_within(here, there, share), "step {number}: {here}, {there}");
    }
}

/// A tape that lives through the step makes each step copy the parameters; the refusal says what to do.
pub(crate) fn refuse(cuda: &Cuda, line: &str, _: f32) {
    let mut training = Training::new(cuda, &short(line));
    let data = training.upload(0);
    let mut step = |keeps_tape| training.step(&data, keeps_tape).map(drop);
    let ((), capture) = cuda.capture().warm_up(|| step(true)).unwrap();
    let ((), capture) = capture.warm_up(|| step(true)).unwrap();
    let refused = capture.capture(|| step(true)).unwrap_err().to_string();
    assert!(refused.contains("`copy`"), "{refused}");
    assert!(refused.contains("drop the tape that the parameters are on"), "{refused}");
    step(true).unwrap();
}
