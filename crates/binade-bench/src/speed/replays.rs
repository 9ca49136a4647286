//! Benchmark of a training step captured as a graph: a round is one replay.

use super::{Result, row::What, training::Training, work::Work};
use binade_cuda::{Captured, Cuda};

/// Step of a [`Training`], in one launch.
pub(crate) struct Replay {
    captured: Captured<()>,
    what: What,
    /// Owner of the memory that the captured step works on.
    _training: Training<Cuda>,
}

impl Replay {
    /// Captures the step, after the two warm-ups that a capture takes.
    pub(crate) fn new(cuda: &Cuda, mut training: Training<Cuda>) -> Result<Self> {
        let mut step = || training.run(()).map(drop);
        let ((), capture) = cuda.capture().warm_up(&mut step)?;
        let ((), capture) = capture.warm_up(&mut step)?;
        let captured = capture.capture(&mut step)?;
        let what = training.what();
        let what = What { name: format!("{}, captured", what.name), ..what };
        Ok(Self { captured, what, _training: training })
    }
}

impl Work for Replay {
    type Input = ();
    type Output = ();

    fn what(&self) -> What {
        self.what.clone()
    }

    fn prepare(&mut self, _: usize) -> Result<()> {
        Ok(())
    }

    fn run(&mut self, (): ()) -> Result<()> {
        Ok(self.captured.replay()?)
    }
}
