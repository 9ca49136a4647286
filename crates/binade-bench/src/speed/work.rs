//! Work that can be timed.

use super::{Result, row::What};

/// Piece of work that can be done again and again.
pub(crate) trait Work {
    type Input;
    type Output;

    fn what(&self) -> What;

    /// Prepares the input of a round; not timed.
    fn prepare(&mut self, round: usize) -> Result<Self::Input>;

    fn run(&mut self, input: Self::Input) -> Result<Self::Output>;

    /// Returns the number of inputs that take turns. As many outputs stay alive, so that the next is written to other memory.
    fn turns(&self) -> usize {
        1
    }
}

/// Function of one input.
type Run<'w, T, O> = dyn FnMut(&mut T) -> Result<O> + 'w;

/// Function of inputs that take turns.
pub(crate) struct Turns<'w, T, O> {
    what: What,
    inputs: Vec<T>,
    run: Box<Run<'w, T, O>>,
}

impl<'w, T, O> Turns<'w, T, O> {
    pub(crate) fn new(
        what: What,
        inputs: Vec<T>,
        run: impl FnMut(&mut T) -> Result<O> + 'w,
    ) -> Self {
        Self { what, inputs, run: Box::new(run) }
    }
}

impl<T, O> Work for Turns<'_, T, O> {
    type Input = usize;
    type Output = O;

    fn what(&self) -> What {
        self.what.clone()
    }

    fn prepare(&mut self, round: usize) -> Result<usize> {
        Ok(round % self.inputs.len())
    }

    fn run(&mut self, place: usize) -> Result<O> {
        (self.run)(&mut self.inputs[place])
    }

    fn turns(&self) -> usize {
        self.inputs.len()
    }
}
