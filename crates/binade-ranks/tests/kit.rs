//! The conformance kit on a group of one, and on two ranks that are given the same.

use crate::common::{PATIENCE, each_within};
use binade_autocast::Autocast;
use binade_conformance::{self as conformance, OpInvocation, Runner, Subject, compute};
use binade_core::{DType, stochastic::Key};
use binade_cpu::{Cpu, Tensor};
use binade_ranks::{Alone, Group, GroupError, Partition, Ranks, Threads};
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

/// Suites of what ranks do together. Operations are handed on to the device by one macro: some suites are enough of them, and all run
/// where `BINADE_FULL` is set.
const TRAINING: [&str; 5] = ["GradScaler", "GradOps", "ClipGroups", "MasterWeights", "Scaler"];
const OPERATIONS: [&str; 3] = ["Autocast", "Linear", "LayerNorm"];

#[test]
fn a_group_of_one_keeps_every_contract() {
    let suites = TRAINING.into_iter().chain(OPERATIONS);
    let runner = match env::var_os("BINADE_FULL") {
        Some(_) => runner(),
        None => suites.fold(runner(), Runner::suite),
    };
    let report = runner.run(&Rank(Ranks::new(Cpu, Alone)));
    println!("{report}");
    report.assert_success();
}

/// Group in which rank 1 counts nothing. Both ranks have the same elements here, and counts add up, where the kit expects those of one
/// pass.
struct Uncounted(Threads);

/// Bytes of a header, and the place in it of the numbers of infinities and NaNs.
const HEADER: (usize, Range<usize>) = (112, 80..96);

/// Number of the call in a header in which ranks tell what their own gradients had. In others each tells of its slices.
const UNSCALE: u8 = 3;

impl Group for Uncounted {
    fn rank(&self) -> usize {
        self.0.rank()
    }

    fn ranks(&self) -> usize {
        self.0.ranks()
    }

    fn all_gather(&self, own: &[u8], lengths: &[usize], all: &mut [u8]) -> Result<(), GroupError> {
        let mut own = own.to_vec();
        let is_of_shards = own.get(8) == Some(&UNSCALE);
        if (self.rank(), own.len(), is_of_shards) == (1, HEADER.0, true) {
            own[HEADER.1].fill(0);
        }
        self.0.all_gather(&own, lengths, all)
    }

    fn exchange(
        &self,
        send: &[u8],
        sends: &[usize],
        receive: &mut [u8],
        receives: &[usize],
    ) -> Result<(), GroupError> {
        self.0.exchange(send, sends, receive, receives)
    }

    fn broadcast(&self, root: usize, bytes: &mut [u8]) -> Result<(), GroupError> {
        self.0.broadcast(root, bytes)
    }
}

/// Each rank runs the cases of training; operations are each rank's own.
#[test]
fn two_ranks_that_are_given_the_same_keep_every_contract_of_training() {
    let runner = TRAINING.into_iter().fold(runner(), Runner::suite).suite("Convergence");
    let run = |group| runner.run(&Rank(Ranks::new(Cpu, Uncounted(group))));
    for report in each_within(10 * PATIENCE, 2, run) {
        println!("{report}");
        report.assert_success();
    }
}

#[test]
fn two_ranks_that_keep_slices_keep_every_contract_of_training() {
    let reason = "one exponent is of a whole tensor";
    let runner = TRAINING.into_iter().fold(runner(), Runner::suite).excuse("scaled_f16/", reason);
    let run = |group| {
        let rank = Ranks::new(Cpu, Uncounted(group)).with_partition(Partition::Slices);
        runner.run(&Rank(rank))
    };
    for report in each_within(10 * PATIENCE, 2, run) {
        println!("{report}");
        report.assert_success();
    }
}
