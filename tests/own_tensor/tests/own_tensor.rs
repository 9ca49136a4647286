//! A stranger's tensor by published interfaces alone: autocast, loss scaling, masters, checkpoints and the kit.

use binade_autocast::Region;
use binade_checkpoint::{Checkpoint, Draft};
use binade_conformance::{Arithmetic, Runner, SubjectError};
use binade_core::{AmpTensor, DType, HostDevice, Named, Op};
use binade_grad_scaler::{LossScale, Scaler, Step};
use binade_master_weights::{MasterOptimizer, OptimizerConfig, UpdateRule};
use binade_own_tensor::Bytes;

type Device = HostDevice<Bytes>;
type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

const TRUTH: [f32; 3] = [0.5, -1.25, 2.0];

struct Run {
    scaler: Scaler<Device>,
    optimizer: MasterOptimizer<Device>,
}

impl Run {
    fn start() -> Result<Self> {
        let weight = vec![Named::new("weight", Bytes::of(DType::F32, &[0.0; 3])?)];
        let plan = OptimizerConfig::new(UpdateRule::sgd(0.25))?.with_storage(DType::F16);
        let scaler = Scaler::new(Device::new(), LossScale::dynamic())?;
        Ok(Self { scaler, optimizer: MasterOptimizer::new(Device::new(), weight, plan)? })
    }

    /// One step towards weights whose product with the input is that of the truth.
    fn step(&mut self, input: [f32; 3]) -> Result<Step> {
        let device = Device::new();
        let (x, w) = (Bytes::of(DType::F32, &input)?, &self.optimizer.params[0].value);
        let [x, w] = Region::f16().open(&device).cast(Op::MATMUL, "", [&x, w])?;
        assert_eq!((x.dtype(), w.dtype()), (DType::F16, DType::F16));
        let products = x.values().into_iter().zip(w.values()).zip(TRUTH);
        let error: f32 = products.map(|((x, w), truth)| x * (w - truth)).sum();
        let loss = Bytes::of(DType::F32, &[1.0])?;
        let grads = self.scaler.scale(&loss)?.backward(|scaled| {
            let towards = error * scaled.values()[0];
            let mut grad = x.into_owned();
            grad.map_f32(&mut |_, x| x * towards);
            Ok(vec![Named::new("weight", Some(grad))])
        })?;
        let step = grads.unscale()?.clip_norm(10.0)?.step(&mut self.optimizer)?;
        Ok(self.scaler.update(step)?.resolve()?)
    }

    fn train(&mut self, steps: usize) -> Result<Step> {
        let inputs = [[1.0, 0.0, 0.5], [0.0, 1.0, -0.5], [0.5, -0.5, 1.0]];
        let mut steps = inputs.into_iter().cycle().take(steps).map(|input| self.step(input));
        let mut last = steps.next().ok_or("no step was asked for")??;
        for step in steps {
            last = step?;
        }
        Ok(last)
    }
}

#[test]
fn it_trains_in_f16_after_the_scale_has_come_down() -> Result {
    let mut run = Run::start()?;
    let first = run.step([4.0, 0.0, 0.0])?;
    let Step::Skipped(report) = first else { panic!("65536 times that overflows f16") };
    let overflow = report.overflow().ok_or("an overflow is told")?;
    assert_eq!((&*overflow.parameter, overflow.index), ("weight", 0));
    run.train(900)?.unless_diverged()?;
    let weight = &run.optimizer.params[0].value;
    assert_eq!(weight.dtype(), DType::F16);
    for (found, truth) in weight.values().into_iter().zip(TRUTH) {
        assert!((found - truth).abs() < 2e-3, "{found}, and {truth}");
    }
    Ok(())
}

#[test]
fn a_resumed_run_ends_in_the_same_bits() -> Result {
    let (mut run, mut resumed) = (Run::start()?, Run::start()?);
    let last = run.train(50)?;
    let draft = Draft::after(&last).scaler("loss", &run.scaler)?;
    let bytes = draft.optimizer("model", &run.optimizer)?.finish()?.to_bytes()?;
    let checkpoint = Checkpoint::from_bytes(&bytes)?;
    let mut restore = checkpoint.restore();
    restore.scaler("loss", &mut resumed.scaler)?;
    restore.optimizer("model", &mut resumed.optimizer)?;
    restore.finish()?;
    for run in [&mut run, &mut resumed] {
        run.train(50)?;
    }
    assert_eq!(run.optimizer.save()?, resumed.optimizer.save()?);
    assert_eq!(run.scaler.state()?, resumed.scaler.state()?);
    Ok(())
}

struct Subject(Device);

impl binade_conformance::Subject for Subject {
    type Handle = Device;

    fn handle(&self) -> Option<&Device> {
        Some(&self.0)
    }

    fn name(&self) -> &str {
        "bytes"
    }

    fn arithmetic(&self) -> Arithmetic {
        Arithmetic::IEEE
    }

    fn from_bits(&self, bits: &[u8], dtype: DType, _: &[usize]) -> Result<Bytes, SubjectError> {
        match Bytes::of(dtype, &[]) {
            Ok(none) => Ok(Bytes { bytes: bits.to_vec(), ..none }),
            Err(error) => Err(error.into()),
        }
    }

    fn to_bits(&self, tensor: &Bytes) -> Result<Vec<u8>, SubjectError> {
        Ok(tensor.bytes.clone())
    }

    fn cast(&self, tensor: &Bytes, to: DType) -> Result<Bytes, SubjectError> {
        Ok(tensor.cast(to)?)
    }
}

// All contracts of all that it has, a test for each operation.
binade_conformance::conformance_tests!(
    kit,
    Subject(Device::new()),
    suites = [Storage, Autocast, GradScaler, GradOps, MasterWeights, Scaler, Convergence],
);

#[test]
fn what_it_has_is_most_of_the_kit() {
    let report = Runner::new().run(&Subject(Device::new()));
    report.assert_success();
    assert!(report.passed() > 1500, "{report}");
}
