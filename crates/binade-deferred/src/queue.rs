//! Work that was asked for and not done yet.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

type Job = Box<dyn FnOnce() + Send>;

/// Jobs in the order they were queued in, which is the order they run in.
pub(crate) struct Queue {
    jobs: Mutex<VecDeque<Job>>,
    /// Held by whoever runs jobs: two at a time would change the order.
    turn: Mutex<()>,
    /// Jobs that may wait.
    limit: usize,
}

/// Nothing is left half-done by a panic: a job is taken out before it runs.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Queue {
    pub(crate) fn new(limit: usize) -> Self {
        Self { jobs: Mutex::default(), turn: Mutex::default(), limit }
    }

    /// Queues `job`; runs everything if too much is waiting, as a GPU works while its host does.
    pub(crate) fn push(&self, job: impl FnOnce() + Send + 'static) {
        let waiting = {
            let mut jobs = lock(&self.jobs);
            jobs.push_back(Box::new(job));
            jobs.len()
        };
        if waiting > self.limit {
            self.run();
        }
    }

    /// Runs all that is waiting.
    pub(crate) fn run(&self) {
        let _turn = lock(&self.turn);
        loop {
            // The lock is let go before the job runs.
            let job = lock(&self.jobs).pop_front();
            match job {
                Some(job) => job(),
                None => return,
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.jobs).len()
    }
}
