//! Queue of jobs that are requested and not done yet.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError, TryLockError},
};

type Job = Box<dyn FnOnce() + Send>;

/// Jobs in the order they were queued in, which is the order they run in.
pub(crate) struct Queue {
    jobs: Mutex<VecDeque<Job>>,
    /// Lock that is held while jobs run: two threads at a time would change the order.
    turn: Mutex<()>,
    /// Number of jobs that may wait.
    limit: usize,
}

/// Locks a mutex. A poisoned one is taken as it is: a job is taken out before it runs, so that a panic leaves nothing half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Queue {
    pub(crate) fn new(limit: usize) -> Self {
        Self { jobs: Mutex::default(), turn: Mutex::default(), limit }
    }

    /// Queues `job`; runs all jobs if too many wait and no thread runs them already, as a GPU works while its host does.
    ///
    /// It never waits for its turn: a job's own parallel work may have brought this thread here.
    pub(crate) fn push(&self, job: impl FnOnce() + Send + 'static) {
        let waiting = {
            let mut jobs = lock(&self.jobs);
            jobs.push_back(Box::new(job));
            jobs.len()
        };
        if waiting > self.limit {
            match self.turn.try_lock() {
                Ok(turn) => self.run_all(turn),
                Err(TryLockError::Poisoned(turn)) => self.run_all(turn.into_inner()),
                Err(TryLockError::WouldBlock) => {}
            }
        }
    }

    /// Runs all jobs that wait.
    pub(crate) fn run(&self) {
        self.run_all(lock(&self.turn));
    }

    fn run_all(&self, _turn: MutexGuard<'_, ()>) {
        loop {
            // The lock is released before the job runs.
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
