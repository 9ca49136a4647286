//! Work on several items side by side.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// The results of `work` on each of `items`, in their order: each of so many workers takes the next item when it is done with one.
pub(crate) fn parallel<T: Sync, R: Send + Sync>(
    workers: usize,
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results: Vec<_> = items.iter().map(|_| OnceLock::new()).collect();
    let worker = || {
        while let Some((item, place)) =
            items.iter().zip(&results).nth(next.fetch_add(1, Ordering::Relaxed))
        {
            place.get_or_init(|| work(item));
        }
    };
    thread::scope(|scope| {
        (0..workers.min(items.len())).for_each(|_| drop(scope.spawn(worker)));
    });
    // Every place is filled: a worker that panicked has ended the scope so.
    results.into_iter().filter_map(OnceLock::into_inner).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn two_workers_run_side_by_side_and_the_order_is_kept() {
        let (both, items) = (Barrier::new(2), [1, 2, 3, 4]);
        let doubled = parallel(2, &items, |item| {
            both.wait();
            item * 2
        });
        assert_eq!(doubled, [2, 4, 6, 8]);
        assert!(parallel(2, &[] as &[i32], |item| *item).is_empty());
    }
}
