//! Stages side by side: those that only start what is built, most of which keep one core busy. What builds has all cores to itself.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use crate::ci::stage::Stage;

/// The most that run at once.
const LANES: usize = 2;

/// Runs `run` on every stage, those that stand together and may run beside others in lanes, and returns the results in the order of
/// `stages`. A lane takes the next stage when it is done with one.
pub(super) fn run<R: Send + Sync>(stages: &[Stage], run: impl Fn(&Stage) -> R + Sync) -> Vec<R> {
    let groups = stages.chunk_by(|one, next| one.beside && next.beside);
    groups.flat_map(|group| together(group, &run)).collect()
}

fn together<R: Send + Sync>(stages: &[Stage], run: &(impl Fn(&Stage) -> R + Sync)) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results: Vec<_> = stages.iter().map(|_| OnceLock::new()).collect();
    let take = || stages.iter().zip(&results).nth(next.fetch_add(1, Ordering::Relaxed));
    let lane = || {
        while let Some((stage, place)) = take() {
            place.get_or_init(|| run(stage));
        }
    };
    thread::scope(|scope| {
        for _ in 0..LANES.min(stages.len()) {
            scope.spawn(lane);
        }
    });
    // Every place is filled: a lane that panicked has ended the scope so.
    results.into_iter().filter_map(OnceLock::into_inner).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn two_that_may_run_beside_each_other_do_and_another_runs_by_itself_all_told_in_order() {
        let stages = [("a", true), ("b", true), ("c", false), ("d", true)];
        let stages =
            stages.map(|(name, beside)| Stage { name: name.into(), beside, ..Stage::default() });
        let (both, running) = (Barrier::new(2), AtomicUsize::new(0));
        let said = run(&stages, |stage| {
            let others = running.fetch_add(1, Ordering::SeqCst);
            if ["a", "b"].contains(&stage.name.as_str()) {
                both.wait();
            }
            running.fetch_sub(1, Ordering::SeqCst);
            (stage.name.clone(), others)
        });
        assert_eq!(said.iter().map(|it| it.0.as_str()).collect::<String>(), "abcd");
        assert_eq!((said[2].1, said[3].1), (0, 0));
    }
}
