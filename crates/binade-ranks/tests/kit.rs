//! The conformance kit on a group of one, and on two ranks that are given the same.

use crate::common::{PATIENCE, each_within};
use binade_autocast::Autocast;
use binade_conformance::{OpInvocation, Result, Runner, Subject, compute};
use binade_core::{DType, stochastic::Key};
use binade_cpu::{Cpu, Tensor};
use binade_ranks::{Alone, Group, Ranks};

struct Rank<G>(Ranks<Cpu, G>);

impl<G: Group> Subject for Rank<G> {
    type Handle = Ranks<Cpu, G>;

    fn handle(&self) -> Option<&Ranks<Cpu, G>> {
        Some(&self.0)
    }

    fn name(&self) -> &'static str {
        "ranks"
    }

    fn from_bits(&self, bits: &[u8], dtype: DType, shape: &[usize]) -> Result<Tensor> {
        Ok(Tensor::from_bits(bits, dtype, shape)?)
    }

    fn to_bits(&self, tensor: &Tensor) -> Result<Vec<u8>> {
        Ok(tensor.to_bits())
    }

    fn cast(&self, tensor: &Tensor, to: DType) -> Result<Tensor> {
        Ok(Autocast::cast(&self.0, tensor, to)?)
    }

    fn cast_stochastic(&self, tensor: &Tensor, to: DType, key: Key) -> Result<Tensor> {
        Ok(Cpu.cast_stochastic(tensor, to, key)?)
    }

    fn compute(&self, op: &OpInvocation, operands: &[&Tensor]) -> Result<Vec<Tensor>> {
        compute(&self.0, op, operands)
    }
}

fn runner() -> Runner {
    let views = "views_are_read_in_row_major_order";
    let reason = "tensors of the CPU lie row after row, without strides";
    Runner::from_env().excuse(views, reason).require_all()
}

#[test]
fn a_group_of_one_keeps_every_contract() {
    let report = runner().run(&Rank(Ranks::new(Cpu, Alone)));
    println!("{report}");
    report.assert_success();
}

/// Starts of the names of cases whose elements are not finite on both ranks: `*` stands for each type.
///
/// Both ranks count what they find, and counts add up where the kit expects those of one pass. Gradients are not sent then, so
/// that there are no values to compare.
const NOT_FINITE_TWICE: &[&str] = &[
    "unscale/bf16/divides_exactly_by_2^-",
    "unscale/f32/divides_exactly_by_2^-",
    "unscale/*/a_nan_in_the_",
    "unscale/*/an_infinity_in_the_",
    "unscale/*/the_first_offender_",
    "unscale/*/starts_anywhere_in_a_buffer",
    "unscale/*/magnitude_is_the_largest_finite_scaled_gradient",
    "unscale/*/infinities_and_nans_are_counted_apart",
    "unscale/*/infinite_only_once_unscaled_is_an_overflow",
    "unscale/*/every_nan_is_counted_as_one_quiet_or_signalling_of_either_sign",
    "unscale/*/all_that_is_awkward_at_once",
    "sparse/*/duplicates_that_overflow_",
    "sparse/*/an_infinity_or_a_nan_among_duplicates_is_not_lost",
    "delayed/*/an_infinity_stays_in_its_buffer_and_skips_the_window",
    "delayed/*/a_pass_that_overflows_",
    "clip_groups/*/what_was_raised_stays_as_it_was_told_in_whatever_group",
    "clip/*/clip_value_limits_infinities",
    "clip/*/clip_value_limits_all_that_is_awkward",
    "clip/*/clip_value_leaves_a_nan_a_nan",
    "clip/*/all_that_a_pass_found_is_told_beside_the_norm",
    "merge/all/what_the_two_read_stays_as_it_was",
    "merge/all/it_adds_counts_up",
    "merge/any/what_the_two_read_stays_as_it_was",
    "merge/any/it_adds_counts_up",
    "iterate/-/divergence_halts_",
    "iterate/-/one_raised_pass_of_any_skips_and_backs_off_once",
    "iterate/-/a_hundred_iterations_at_random",
    "iterate/-/a_pass_left_out_backs_off_and_skips_nothing",
    "iterate/-/each_iteration_goes_by_its_own_verdict",
    "iterate/-/the_scale_that_moved_is_the_next_ones",
];

/// Each rank runs the cases of training; operations are each rank's own.
#[test]
fn two_ranks_that_are_given_the_same_keep_every_contract_but_in_counts() {
    let suites = ["GradScaler", "GradOps", "ClipGroups", "MasterWeights", "Scaler", "Convergence"];
    let runner = suites.into_iter().fold(runner(), Runner::suite);
    let known = |runner: Runner, start: &str| runner.known(start, "both ranks count and add up");
    let types = ["bf16", "f16", "f32"];
    let runner = NOT_FINITE_TWICE.iter().fold(runner, |runner, start| {
        let starts = types.map(|dtype| start.replace('*', dtype));
        let starts = if start.contains('*') { &starts[..] } else { &starts[..1] };
        starts.iter().fold(runner, |runner, start| known(runner, start))
    });
    for report in each_within(10 * PATIENCE, 2, |group| runner.run(&Rank(Ranks::new(Cpu, group)))) {
        println!("{report}");
        report.assert_success();
    }
}
