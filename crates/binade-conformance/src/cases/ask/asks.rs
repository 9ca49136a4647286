//! Cases that know a subject by its bits alone, so that they are compiled once and not for every subject.

use crate::cases::put_at;
use crate::{Arithmetic, Cases, Check, Compute, Operation, Refusal, Stored, Subject, Verdict};
use std::fmt::Display;

/// A subject, as far as its operations go.
pub(in crate::cases) trait Computes {
    /// See [`Subject::arithmetic`].
    fn arithmetic(&self) -> Arithmetic;

    /// The bits of each result, of operands that begin `offset` elements into their buffers.
    fn compute(
        &self,
        op: &Compute,
        operands: &[&Stored],
        offset: usize,
    ) -> Result<Vec<Vec<u8>>, Refusal>;

    /// What the call itself says of the operands, before anybody reads a result.
    fn call(&self, op: &Compute, operands: &[&Stored]) -> Result<(), Refusal>;

    /// The bits of the operands after the call.
    fn kept(&self, op: &Compute, operands: &[&Stored]) -> Result<Vec<Vec<u8>>, Refusal>;

    /// The bits of what the second operation makes of the first one's result and of `beside`.
    fn chained(
        &self,
        ops: [&Compute; 2],
        operands: &[&Stored],
        beside: &Stored,
    ) -> Result<Vec<u8>, Refusal>;
}

impl<S: Subject> Computes for S {
    fn arithmetic(&self) -> Arithmetic {
        Subject::arithmetic(self)
    }

    fn compute(
        &self,
        op: &Compute,
        operands: &[&Stored],
        offset: usize,
    ) -> Result<Vec<Vec<u8>>, Refusal> {
        let tensors = put(self, operands, offset)?;
        let results = Subject::compute(self, op, &tensors.iter().collect::<Vec<_>>())?;
        results.iter().map(|tensor| self.to_bits(tensor)).collect()
    }

    fn call(&self, op: &Compute, operands: &[&Stored]) -> Result<(), Refusal> {
        let tensors = put(self, operands, 0)?;
        Subject::compute(self, op, &tensors.iter().collect::<Vec<_>>()).map(drop)
    }

    fn kept(&self, op: &Compute, operands: &[&Stored]) -> Result<Vec<Vec<u8>>, Refusal> {
        let tensors = put(self, operands, 0)?;
        Subject::compute(self, op, &tensors.iter().collect::<Vec<_>>())?;
        tensors.iter().map(|tensor| self.to_bits(tensor)).collect()
    }

    fn chained(
        &self,
        [first, then]: [&Compute; 2],
        operands: &[&Stored],
        beside: &Stored,
    ) -> Result<Vec<u8>, Refusal> {
        let missing = || Refusal::Failed(format!("{first:?} or {then:?} gave no tensor"));
        let tensors = put(self, operands, 1)?;
        let between = Subject::compute(self, first, &tensors.iter().collect::<Vec<_>>())?;
        let between = between.first().ok_or_else(missing)?;
        let last = Subject::compute(self, then, &[between, &put_at(self, beside, 0)?])?;
        self.to_bits(last.first().ok_or_else(missing)?)
    }
}

fn put<S: Subject>(s: &S, operands: &[&Stored], offset: usize) -> Result<Vec<S::Tensor>, Refusal> {
    operands.iter().map(|tensor| put_at(s, tensor, offset)).collect()
}

type Checker = dyn Fn(&dyn Computes, &mut Check) -> Verdict;

/// What is to be a case.
struct Sentence {
    operation: Operation,
    variant: String,
    contract: String,
    check: Box<Checker>,
}

/// The cases of operations, for any subject.
#[derive(Default)]
pub(in crate::cases) struct Asks(Vec<Sentence>);

impl Asks {
    /// Adds a case, as [`Cases::add`] does.
    pub(in crate::cases) fn add(
        &mut self,
        operation: Operation,
        variant: impl Display,
        sentence: impl Display,
        check: impl Fn(&dyn Computes, &mut Check) -> Verdict + 'static,
    ) {
        let (variant, contract) = (variant.to_string(), sentence.to_string());
        self.0.push(Sentence { operation, variant, contract, check: Box::new(check) });
    }

    /// Makes them cases of one subject's.
    pub(in crate::cases) fn put_to<S: Subject>(self, cases: &mut Cases<S>) {
        for Sentence { operation, variant, contract, check } in self.0 {
            cases.add(operation, variant, contract, move |s: &S, with| check(s, with));
        }
    }
}
