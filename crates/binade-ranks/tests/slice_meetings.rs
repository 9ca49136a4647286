//! Bytes that ranks exchange with slices, and ranks that differ in what they keep or gather.

use crate::common::{Error, each, set, tensor};
use crate::observed::Observed;
use binade_core::{DType, Named, Optimizer};
use binade_cpu::{Cpu, Tensor};
use binade_grad_scaler::{GradScaler, ScaleState};
use binade_master_weights::{MasterOptimizer, OptimizerConfig, UpdateRule};
use binade_ranks::{Group, Partition, RankGrads, Ranks, RanksError, Threads};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// Number of elements: 10 a rank.
const ELEMENTS: usize = 40;

/// Bytes of a header.
const HEADER: usize = 112;

fn params() -> Vec<Named<Tensor>> {
    let param = |name| Named::new(name, tensor(&[0.5; ELEMENTS / 2], DType::F32));
    vec![param("w"), param("v")]
}

fn config() -> OptimizerConfig {
    OptimizerConfig::new(UpdateRule::adamw(0.1)).unwrap().with_storage(DType::BF16)
}

/// Returns the bytes that a rank of four gives in `unscale` and in `step`, of gradients of which one may be infinite.
fn given(partition: Partition, gradient: f32) -> [usize; 2] {
    let run = |group| {
        let count = Arc::new(AtomicUsize::new(0));
        let total = count.clone();
        let observe = move |_: &str, own: &mut Vec<u8>| {
            total.fetch_add(own.len(), Ordering::Relaxed);
        };
        let rank = Ranks::new(Cpu, Observed { group, observe }).with_partition(partition);
        let mut optimizer = MasterOptimizer::new(rank.clone(), params(), config()).unwrap();
        let grads = [1.0; ELEMENTS / 2].map(|one| one * gradient);
        let mut grads = RankGrads::from(set(&[("w", &grads), ("v", &grads)], DType::BF16));
        count.store(0, Ordering::Relaxed);
        let found = rank.unscale(&mut grads, &ScaleState::from_exponent(0)).unwrap();
        let unscale = count.swap(0, Ordering::Relaxed);
        optimizer.step(grads, &found).unwrap();
        [unscale, count.load(Ordering::Relaxed)]
    };
    let all = each(4, run);
    assert!(all.iter().all(|one| *one == all[0]), "{all:?}");
    all[0]
}

#[test]
fn a_rank_gives_its_slice_of_parameters_in_place_of_averages() {
    let (all, own) = (ELEMENTS, ELEMENTS / 4);
    assert_eq!(given(Partition::Whole, 1.0), [HEADER + 2 * all + 4 * own, 0]);
    assert_eq!(given(Partition::Slices, 1.0), [HEADER + 2 * all, HEADER + 2 * own]);
}

#[test]
fn a_skipped_step_gathers_nothing() {
    for partition in [Partition::Whole, Partition::Slices] {
        assert_eq!(given(partition, f32::INFINITY), [HEADER, 0]);
    }
}

/// Asserts that two ranks report the same difference, and that its text has these words.
fn differ(words: &[&str], run: impl Fn(Ranks<Cpu, Threads>) -> Result<(), Error> + Sync) {
    for outcome in each(2, |group| run(Ranks::new(Cpu, group))) {
        let error = outcome.unwrap_err();
        assert!(matches!(error, RanksError::Desync(_)), "{error}");
        let told = error.to_string();
        assert!(words.iter().all(|word| told.contains(word)), "{told}");
    }
}

#[test]
fn ranks_that_keep_other_parts_hear_of_it_before_any_is_made() {
    differ(&["the optimizer", "Whole", "Slices"], |rank| {
        let partition = [Partition::Whole, Partition::Slices][rank.group().rank()];
        MasterOptimizer::new(rank.with_partition(partition), params(), config()).map(drop)
    });
}

#[test]
fn a_rank_that_saves_alone_is_told_what_the_others_do() {
    differ(&["`save`", "`unscale` of its own gradients"], |rank| {
        let rank = rank.with_partition(Partition::Slices);
        let optimizer = MasterOptimizer::new(rank.clone(), params(), config())?;
        if rank.group().rank() == 0 {
            optimizer.save()?;
        }
        let mut grads = RankGrads::from(set(&[("w", &[1.0])], DType::F32));
        rank.unscale(&mut grads, &ScaleState::from_exponent(0)).map(drop)
    });
}

#[test]
fn bytes_of_any_length_are_gathered_and_ranks_that_gather_something_else_are_told() {
    let all = each(3, |group| {
        let rank = Ranks::new(Cpu, group);
        let own = vec![7; rank.group().rank()];
        rank.gather("numbers", &own).unwrap()
    });
    assert!(all.iter().all(|all| *all == [vec![], vec![7], vec![7, 7]]), "{all:?}");
    differ(&["a `gather`", "letters", "numbers"], |rank| {
        let what = ["letters", "numbers"][rank.group().rank()];
        rank.gather(what, &[]).map(drop)
    });
}

#[test]
fn ranks_of_which_one_saves_slices_hear_of_it_before_any_is_made() {
    differ(&["the optimizer", "saved as slices"], |rank| {
        let rank = rank.with_partition(Partition::Slices);
        let is_first = rank.group().rank() == 0;
        let rank = if is_first { rank.with_saved_slices() } else { rank };
        MasterOptimizer::new(rank, params(), config()).map(drop)
    });
}

#[test]
fn a_rank_whose_step_fails_alone_is_told_to_the_others() {
    let run = |group: Threads| {
        let own = group.rank();
        let rank = Ranks::new(Cpu, group).with_partition(Partition::Slices);
        let mut optimizer = MasterOptimizer::new(rank.clone(), params(), config())?;
        if own == 1 {
            optimizer.params[0].value = tensor(&[1.0, 2.0], DType::BF16);
        }
        let ones = [1.0; ELEMENTS / 2];
        let mut grads = RankGrads::from(set(&[("w", &ones), ("v", &ones)], DType::BF16));
        let found = rank.unscale(&mut grads, &ScaleState::from_exponent(0))?;
        optimizer.step(grads, &found)
    };
    let mut errors = each(2, run).into_iter().map(Result::unwrap_err);
    let told = errors.next().unwrap().to_string();
    assert!(told.contains("an error of its own"), "{told}");
    assert!(matches!(errors.next().unwrap(), RanksError::Mismatch(_)));
}
