//! The conformance kit on a group of one, and on two ranks with the same inputs.

use crate::common::{PATIENCE, each_within};
use crate::observed::Observed;
use binade_autocast::Autocast;
use binade_conformance::{self as conformance, OpInvocation, Runner, Subject, compute};
use binade_core::{DType, stochastic::Key};
use binade_cpu::{Cpu, Tensor};
use binade_ranks::{Alone, Group, Partition, Ranks, Threads};
use std::{env, ops::Range};

struct Rank<G>(Ranks<Cpu, G>);

impl<G: Group> Subject for Rank<G> {
    type Handle = Ranks<Cpu, G>;

    fn handle(&self) -> Option<&Ranks<Cpu, G>> {
        Some(&self.0)
    }

    fn name(&self) -> &'static str {
        "ranks"
    }

    fn from_bits(&self, bits: &[u8], dtype: DType, shape: &[usize]) -> conformance::Result<Tensor> {
        Ok(Tensor::from_bits(bits, dtype, shape)?)
    }

    fn to_bits(&self, tensor: &Tensor) -> conformance::Result<Vec<u8>> {
        Ok(tensor.to_bits())
    }

    fn cast(&self, tensor: &Tensor, to: DType) -> conformance::Result<Tensor> {
        Ok(Autocast::cast(&self.0, tensor, to)?)
    }

    fn cast_stochastic(&self, tensor: &Tensor, to: DType, key: Key) -> conformance::Result<Tensor> {
        Ok(Cpu.cast_stochastic(tensor, to, key)?)
    }

    fn compute(&self, op: &OpInvocation, operands: &[&Tensor]) -> conformance::Result<Vec<Tensor>> {
        compute(&self.0, op, operands)
    }
}

fn runner() -> Runner {
    let views = "views_are_read_in_row_major_order";
    let reason = "tensors of the CPU lie row after row, without strides";
    Runner::from_env().excuse(views, reason).require_all()
}

/// Suites of calls in which ranks meet. One macro forwards all operations to the device, so a few suites cover them; all run if `BINADE_FULL` is set.
const TRAINING: [&str; 4] = ["GradScaler", "GradOps", "ClipGroups", "MasterWeights"];
const OPERATIONS: [&str; 3] = ["Autocast", "Linear", "LayerNorm"];

#[test]
fn a_group_of_one_keeps_every_contract() {
    let suites = TRAINING.into_iter().chain(OPERATIONS);
    let runner = match env::var_os("BINADE_FULL") {
        Some(_) => runner()
            .excuse("multi_tensor/", "a set of tensors is of one device")
            .excuse("sparse/", "sparse gradients are of one device"),
        None => suites.fold(runner(), Runner::suite),
    };
    let report = runner.run(&Rank(Ranks::new(Cpu, Alone)));
    println!("{report}");
    report.assert_success();
}

/// Bytes of a header, and the place in it of the numbers of infinities and NaNs.
const HEADER: (usize, Range<usize>) = (112, 80..96);

/// Number, in a header, of the call in which ranks report on their own gradients. In other calls each reports on its slices.
const UNSCALE: u8 = 3;

/// Returns a group in which rank 1 counts nothing. Both ranks have the same elements here, and counts add up, where the kit expects those
/// of one pass.
fn uncounted(group: Threads) -> impl Group {
    let is_second = group.rank() == 1;
    let observe = move |call: &str, own: &mut Vec<u8>| {
        let is_header = call == "all_gather" && own.len() == HEADER.0;
        if is_second && is_header && own[8] == UNSCALE {
            own[HEADER.1].fill(0);
        }
    };
    Observed { group, observe }
}

/// Each rank runs the cases of training; operations are each rank's own.
#[test]
fn two_ranks_that_are_given_the_same_keep_every_contract_of_training() {
    let runner = TRAINING.into_iter().fold(runner(), Runner::suite).suite("Convergence");
    let run = |group| runner.run(&Rank(Ranks::new(Cpu, uncounted(group))));
    for report in each_within(10 * PATIENCE, 2, run) {
        println!("{report}");
        report.assert_success();
    }
}

#[test]
fn two_ranks_that_keep_slices_keep_every_contract_of_training() {
    let reason = "one exponent is of a whole tensor";
    let runner = TRAINING.into_iter().fold(runner(), Runner::suite).excuse("scaled_f16/", reason);
    let runner = runner.excuse("whole_tensors/", "norms are of whole tensors");
    let run = |group| {
        let rank = Ranks::new(Cpu, uncounted(group)).with_partition(Partition::Slices);
        runner.run(&Rank(rank))
    };
    for report in each_within(10 * PATIENCE, 2, run) {
        println!("{report}");
        report.assert_success();
    }
}
