//! Stages side by side: those that only start what is built, most of which keep one core busy. What builds has all cores to itself.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use crate::ci::stages::Stage;

/// How many run at once, unless there is but one core.
const MOST: usize = 2;

/// Runs `run` on every stage, those that stand together and may run beside others in lanes, and returns what it said in the order of
/// `stages`. A lane takes the next stage when it is done with one: what is long stands first.
pub(super) fn run<R: Send + Sync>(stages: &[Stage], run: impl Fn(&Stage) -> R + Sync) -> Vec<R> {
    let lanes = thread::available_parallelism().map_or(1, |cores| cores.get().min(MOST));
    let groups = stages.chunk_by(|one, next| one.is_beside && next.is_beside);
    groups.flat_map(|group| together(group, lanes, &run)).collect()
}

fn together<R: Send + Sync>(
    stages: &[Stage],
    lanes: usize,
    run: &(impl Fn(&Stage) -> R + Sync),
) -> Vec<R> {
    let (next, said) = (AtomicUsize::new(0), stages.iter().map(|_| OnceLock::new()));
    let said: Vec<_> = said.collect();
    let take = || {
        let index = next.fetch_add(1, Ordering::Relaxed);
        stages.get(index).zip(said.get(index))
    };
    let lane = || {
        while let Some((stage, place)) = take() {
            place.get_or_init(|| run(stage));
        }
    };
    thread::scope(|scope| {
        for _ in 0..lanes.min(stages.len()) {
            scope.spawn(lane);
        }
    });
    // Every place is filled: a lane that panicked has ended the scope so.
    said.into_iter().filter_map(OnceLock::into_inner).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;
    use crate::ci::outcome::Outcome;

    fn stage(name: &'static str, is_beside: bool) -> Stage {
        Stage { name, what: "", run: || Ok(Outcome::passed()), is_beside }
    }

    #[test]
    fn stages_are_told_in_their_order_whoever_ran_them() {
        let stages = [("a", false), ("b", true), ("c", true), ("d", true), ("e", false)];
        let stages = stages.map(|(name, is_beside)| stage(name, is_beside));
        assert_eq!(run(&stages, |stage| stage.name), ["a", "b", "c", "d", "e"]);
    }

    #[test]
    fn two_that_may_run_beside_each_other_do() {
        let both = Barrier::new(2);
        let stages = [stage("a", true), stage("b", true)];
        let said = together(&stages, 2, &|stage: &Stage| (both.wait(), stage.name).1);
        assert_eq!(said, ["a", "b"]);
    }

    #[test]
    fn one_that_builds_runs_by_itself() {
        let running = AtomicUsize::new(0);
        let stages = [("a", true), ("b", true), ("c", false), ("d", true), ("e", true)];
        let stages = stages.map(|(name, is_beside)| stage(name, is_beside));
        let alone = run(&stages, |_| {
            let others = running.fetch_add(1, Ordering::SeqCst);
            thread::yield_now();
            running.fetch_sub(1, Ordering::SeqCst);
            others == 0
        });
        assert!(alone[2], "nothing runs beside what builds");
        assert_eq!(alone.len(), 5);
    }
}
