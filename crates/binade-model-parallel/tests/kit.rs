//! The conformance kit on one device, and on each of two.

use binade_autocast::Autocast;
use binade_conformance::{self as conformance, OpInvocation, Runner, Subject, compute};
use binade_core::{DType, stochastic::Key};
use binade_cpu::{Cpu, Tensor};
use binade_model_parallel::{DeviceTensor, ModelParallel};
use std::env;

/// Model on several devices.
struct Model {
    handle: ModelParallel<Cpu>,
    /// Device of a tensor, from its number of elements. A parameter and its gradient have the same number, and so the same device.
    device: fn(usize) -> usize,
}

impl Model {
    fn new(devices: usize, device: fn(usize) -> usize) -> Self {
        let handle = ModelParallel::new(vec![Cpu; devices]).unwrap();
        Self { handle: handle.on(device(0)).unwrap(), device }
    }
}

impl Subject for Model {
    type Handle = ModelParallel<Cpu>;

    fn handle(&self) -> Option<&ModelParallel<Cpu>> {
        Some(&self.handle)
    }

    fn name(&self) -> &'static str {
        "model-parallel"
    }

    fn from_bits(
        &self,
        bits: &[u8],
        dtype: DType,
        shape: &[usize],
    ) -> conformance::Result<DeviceTensor<Tensor>> {
        let device = (self.device)(shape.iter().product());
        Ok(self.handle.tensor(Tensor::from_bits(bits, dtype, shape)?, device)?)
    }

    fn to_bits(&self, tensor: &DeviceTensor<Tensor>) -> conformance::Result<Vec<u8>> {
        Ok(tensor.tensor().to_bits())
    }

    fn cast(
        &self,
        tensor: &DeviceTensor<Tensor>,
        to: DType,
    ) -> conformance::Result<DeviceTensor<Tensor>> {
        Ok(Autocast::cast(&self.handle, tensor, to)?)
    }

    fn cast_stochastic(
        &self,
        tensor: &DeviceTensor<Tensor>,
        to: DType,
        key: Key,
    ) -> conformance::Result<DeviceTensor<Tensor>> {
        let cast = Cpu.cast_stochastic(tensor.tensor(), to, key)?;
        Ok(self.handle.tensor(cast, tensor.device())?)
    }

    fn compute(
        &self,
        op: &OpInvocation,
        operands: &[&DeviceTensor<Tensor>],
    ) -> conformance::Result<Vec<DeviceTensor<Tensor>>> {
        compute(&self.handle, op, operands)
    }
}

fn runner() -> Runner {
    let views = "views_are_read_in_row_major_order";
    let reason = "tensors of the CPU lie row after row, without strides";
    let runner = Runner::from_env().excuse(views, reason).require_all();
    // Cases with tensors of many lengths also run LAMB with its own clipping.
    let clips = "a rule that clips by the norm of all gradients is of one device";
    let steps = ["1_steps", "2_steps", "200_steps", "a_skipped_step", "a_step"];
    let excuse = |runner: Runner, steps| runner.excuse(format!("/{steps}_of_lamb"), clips);
    let runner = steps.into_iter().fold(runner, excuse);
    ["bf16", "f16", "f32"].into_iter().fold(runner, |runner, dtype| {
        let group = format!("whole_tensors/{dtype}<-{dtype}");
        let runner = runner.excuse(format!("{group}/all_of_"), clips);
        runner.excuse(format!("{group}/starts_anywhere"), clips)
    })
}

const TRAINING: [&str; 4] = ["GradScaler", "GradOps", "ClipGroups", "MasterWeights"];
/// Suites of operations. One macro forwards all operations, so a few suites cover them; all run if `BINADE_FULL` is set.
const OPERATIONS: [&str; 3] = ["Autocast", "Linear", "LayerNorm"];

fn holds(model: &Model) {
    let suites = TRAINING.into_iter().chain(OPERATIONS);
    let runner = match env::var_os("BINADE_FULL") {
        Some(_) => runner()
            .excuse("multi_tensor/", "a set of tensors is of one device")
            .excuse("sparse/", "sparse gradients are of one device"),
        None => suites.fold(runner(), Runner::suite),
    };
    let report = runner.run(model);
    println!("{report}");
    report.assert_success();
}

#[test]
fn one_device_keeps_every_contract() {
    holds(&Model::new(1, |_| 0));
}

#[test]
fn the_second_of_two_devices_keeps_every_contract() {
    holds(&Model::new(2, |_| 1));
}

/// Cases of training, with each tensor on one of two devices according to its length. Operations, and groups on both devices, would be refused. If
/// both devices overflow, the first device's overflow is reported; with these lengths it is also the first of the set.
#[test]
fn sets_that_are_divided_among_two_devices_keep_every_contract_of_training() {
    let model = Model::new(2, |elements| elements / 2 % 2);
    let suites = TRAINING.into_iter().filter(|suite| *suite != "ClipGroups");
    let runner = suites.fold(runner(), Runner::suite);
    let report = runner.run(&model);
    println!("{report}");
    report.assert_success();
}
