//! Items that are shared out among threads, the caller's among them.
//!
//! rayon's own iterators put a caller outside its pool to sleep and wake up the pool's threads; each of the two takes as long as a small operation.
//! Here the caller works from the start, and rayon's threads join it as they come.

use std::{
    cell::Cell,
    hint, iter,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

/// Number of polls by a caller without work before it sleeps: some tens of microseconds.
const SPINS: usize = 1000;

thread_local! {
    /// True while this thread works on shared items.
    static IS_SHARING: Cell<bool> = const { Cell::new(false) };
}

/// Calls `work` for each item, on the calling thread and on those of rayon's pool. A call from within `work` stays on its thread.
pub(crate) fn each<T: Send>(
    mut items: impl ExactSizeIterator<Item = T> + Send,
    work: impl Fn(T) + Sync,
) {
    let most = items.len();
    if most < 2 || IS_SHARING.get() {
        return items.for_each(work);
    }
    share(&mut items, rayon::current_num_threads().min(most) - 1, &work);
}

/// Returns the results of `work` for the items, in their order.
pub(crate) fn map<T: Send, R: Send>(
    items: impl ExactSizeIterator<Item = T> + Send,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let mut results: Vec<_> = iter::repeat_with(|| None).take(items.len()).collect();
    each(items.zip(&mut results), |(item, result)| *result = Some(work(item)));
    results.into_iter().flatten().collect()
}

/// Number of turns for a thread's share, if each were as long as the first.
const TURNS: usize = 4;

/// Shares items with `others` threads of rayon's pool at most. A thread takes several neighbours at once, and fewer towards the end: memory is read
/// in long runs, and threads wait only briefly for the last one.
fn share<T: Send>(
    items: &mut (dyn ExactSizeIterator<Item = T> + Send),
    others: usize,
    work: &(dyn Fn(T) + Sync),
) {
    let items = Mutex::new(items);
    let take = |turn: &mut Vec<T>| {
        let mut items = items.lock().unwrap_or_else(PoisonError::into_inner);
        let count = items.len().div_ceil((others + 1) * TURNS);
        turn.extend((&mut *items).take(count));
        !turn.is_empty()
    };
    let take_turns = || {
        let _sharing = Sharing::begin();
        let mut turn = Vec::new();
        while take(&mut turn) {
            turn.drain(..).for_each(work);
        }
    };
    let running = AtomicUsize::new(others);
    rayon::in_place_scope(|scope| {
        for _ in 0..others {
            scope.spawn(|_| {
                take_turns();
                running.fetch_sub(1, Ordering::Release);
            });
        }
        take_turns();
        let mut spins = 0..SPINS;
        while running.load(Ordering::Acquire) > 0 && spins.next().is_some() {
            hint::spin_loop();
        }
    });
}

/// Lifetime of a thread's work on shared items.
struct Sharing {
    before: bool,
}

impl Sharing {
    fn begin() -> Self {
        Self { before: IS_SHARING.replace(true) }
    }
}

impl Drop for Sharing {
    fn drop(&mut self) {
        IS_SHARING.set(self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::{IS_SHARING, each, map};
    use rayon::ThreadPoolBuilder;
    use std::{
        panic::{AssertUnwindSafe, catch_unwind},
        sync::Barrier,
        thread,
    };

    #[test]
    fn two_threads_work_at_once_and_calls_within_stay_on_theirs() {
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        pool.install(|| {
            let both = Barrier::new(2);
            each(0..2, |_| {
                // Neither goes on without the other.
                both.wait();
                assert!(IS_SHARING.get());
                let here = thread::current().id();
                each(0..100, |_| assert_eq!(thread::current().id(), here));
            });
        });
    }

    #[test]
    fn results_come_in_the_order_of_items() {
        let squares: Vec<usize> = (0..1000).map(|i| i * i).collect();
        assert_eq!(map(0..1000, |i| i * i), squares);
        assert_eq!(map(0..0, |i| i), Vec::<usize>::new());
    }

    #[test]
    fn a_panic_reaches_the_caller_and_later_items_are_shared_again() {
        let failed = catch_unwind(AssertUnwindSafe(|| each(0..100, |i| assert_ne!(i, 50))));
        assert!(failed.is_err());
        assert!(!IS_SHARING.get());
    }
}
