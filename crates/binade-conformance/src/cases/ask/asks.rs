//! Cases that know a subject by its bits alone, so that they are compiled once and not for every subject.

use crate::cases::put_at;
use crate::cases::values::{STARTS, VIEWS, offsets};
use crate::{
    Arithmetic, Cases, Check, Layout, OpInvocation, Result, Stored, Subject, SubjectError,
    TensorOf, Verdict,
};
use std::fmt::Display;
use std::rc::Rc;

/// A subject, as far as its operations go.
pub(in crate::cases) trait ComputeBackend {
    /// See [`Subject::arithmetic`].
    fn arithmetic(&self) -> Arithmetic;

    /// The bits of each result, of operands that are views of this layout.
    fn compute(
        &self,
        op: &OpInvocation,
        operands: &[&Stored],
        layout: Layout,
    ) -> Result<Vec<Vec<u8>>>;

    /// Answer of the call itself of the operands, before anybody reads a result.
    fn call(&self, op: &OpInvocation, operands: &[&Stored]) -> Result<()>;

    /// The bits of the operands after the call.
    fn kept(&self, op: &OpInvocation, operands: &[&Stored]) -> Result<Vec<Vec<u8>>>;

    /// The bits of what the second operation makes of the first one's result and of `beside`.
    fn chained(
        &self,
        ops: [&OpInvocation; 2],
        operands: &[&Stored],
        beside: &Stored,
    ) -> Result<Vec<u8>>;
}

impl<S: Subject> ComputeBackend for S {
    fn arithmetic(&self) -> Arithmetic {
        Subject::arithmetic(self)
    }

    fn compute(
        &self,
        op: &OpInvocation,
        operands: &[&Stored],
        layout: Layout,
    ) -> Result<Vec<Vec<u8>>> {
        let tensors = put(self, operands, layout)?;
        let results = Subject::compute(self, op, &tensors.iter().collect::<Vec<_>>())?;
        results.iter().map(|tensor| self.to_bits(tensor)).collect()
    }

    fn call(&self, op: &OpInvocation, operands: &[&Stored]) -> Result<()> {
        let tensors = put(self, operands, Layout::Offset(0))?;
        Subject::compute(self, op, &tensors.iter().collect::<Vec<_>>()).map(drop)
    }

    fn kept(&self, op: &OpInvocation, operands: &[&Stored]) -> Result<Vec<Vec<u8>>> {
        let tensors = put(self, operands, Layout::Offset(0))?;
        Subject::compute(self, op, &tensors.iter().collect::<Vec<_>>())?;
        tensors.iter().map(|tensor| self.to_bits(tensor)).collect()
    }

    fn chained(
        &self,
        [first, then]: [&OpInvocation; 2],
        operands: &[&Stored],
        beside: &Stored,
    ) -> Result<Vec<u8>> {
        let missing = || SubjectError::Failed(format!("{first:?} or {then:?} gave no tensor"));
        let tensors = put(self, operands, Layout::Offset(1))?;
        let between = Subject::compute(self, first, &tensors.iter().collect::<Vec<_>>())?;
        let between = between.first().ok_or_else(missing)?;
        let last =
            Subject::compute(self, then, &[between, &put_at(self, beside, Layout::Offset(0))?])?;
        self.to_bits(last.first().ok_or_else(missing)?)
    }
}

fn put<S: Subject>(s: &S, operands: &[&Stored], layout: Layout) -> Result<Vec<TensorOf<S>>> {
    operands.iter().map(|tensor| put_at(s, tensor, layout)).collect()
}

/// A subject all of whose operands are views of one layout, whatever a case asks for.
struct Viewed<'s>(&'s dyn ComputeBackend, Layout);

impl ComputeBackend for Viewed<'_> {
    fn arithmetic(&self) -> Arithmetic {
        self.0.arithmetic()
    }

    fn compute(&self, op: &OpInvocation, operands: &[&Stored], _: Layout) -> Result<Vec<Vec<u8>>> {
        self.0.compute(op, operands, self.1)
    }

    fn call(&self, op: &OpInvocation, operands: &[&Stored]) -> Result<()> {
        self.0.call(op, operands)
    }

    fn kept(&self, op: &OpInvocation, operands: &[&Stored]) -> Result<Vec<Vec<u8>>> {
        self.0.kept(op, operands)
    }

    fn chained(
        &self,
        ops: [&OpInvocation; 2],
        operands: &[&Stored],
        beside: &Stored,
    ) -> Result<Vec<u8>> {
        self.0.chained(ops, operands, beside)
    }
}

/// A case as it runs: on whom, and by what it compares.
pub(in crate::cases) struct OpRun<'c> {
    pub(in crate::cases) backend: &'c dyn ComputeBackend,
    pub(in crate::cases) check: &'c mut Check,
}

type Checker = dyn Fn(&mut OpRun<'_>) -> Verdict;

/// A case before its subject is known.
struct Sentence {
    variant: String,
    contract: String,
    check: Rc<Checker>,
}

/// The cases of operations, for any subject.
#[derive(Default)]
pub(in crate::cases) struct OpCases(Vec<Sentence>);

impl OpCases {
    /// Adds a case, as [`Cases::add`] does; and beside one of operands that start anywhere, the same of views with strides.
    pub(in crate::cases) fn add(
        &mut self,
        variant: impl Display,
        sentence: impl Display,
        check: impl Fn(&mut OpRun<'_>) -> Verdict + 'static,
    ) {
        let (variant, contract) = (variant.to_string(), sentence.to_string());
        let check: Rc<Checker> = Rc::new(check);
        if contract == STARTS {
            let (variant, contract, check) = (variant.clone(), VIEWS.to_owned(), check.clone());
            let viewed = move |run: &mut OpRun<'_>| {
                let layouts = [Layout::Transposed, Layout::Strided(1)];
                layouts.into_iter().try_for_each(|layout| {
                    let backend = &Viewed(run.backend, layout);
                    check(&mut OpRun { backend, check: &mut *run.check })
                })
            };
            self.0.push(Sentence { variant, contract, check: Rc::new(viewed) });
        }
        self.0.push(Sentence { variant, contract, check });
    }

    /// Adds a case for each length of a tensor.
    pub(in crate::cases) fn lengths(
        &mut self,
        variant: impl Display,
        lengths: impl IntoIterator<Item = usize>,
        check: impl Fn(&mut OpRun<'_>, usize) -> Verdict + Clone + 'static,
    ) {
        for length in lengths {
            let check = check.clone();
            let sentence = format!("all_of_{length}_elements");
            self.add(&variant, sentence, move |run| check(run, length));
        }
    }

    /// Adds a case of operands that begin anywhere in a buffer: so many elements behind its start, and of that length.
    pub(in crate::cases) fn starts(
        &mut self,
        variant: impl Display,
        check: impl Fn(&mut OpRun<'_>, usize, usize) -> Verdict + 'static,
    ) {
        self.add(variant, STARTS, move |run| {
            offsets().try_for_each(|(offset, length)| check(run, offset, length))
        });
    }

    /// Makes them cases of one subject's.
    pub(in crate::cases) fn put_to<S: Subject>(self, cases: &mut Cases<S>) {
        for Sentence { variant, contract, check } in self.0 {
            cases.add(variant, contract, move |backend: &S, with| {
                check(&mut OpRun { backend, check: with })
            });
        }
    }
}
