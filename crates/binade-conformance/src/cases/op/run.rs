//! One run of an operation's case: the subject, the layout of its operands, and the comparison of results.

use super::values;
use crate::cases::put;
use crate::{
    Agreement, Backend, CaseError, CaseGroup, Check, Expected, Failure, Layout, OpInvocation,
    Result, Stored, SubjectError, Verdict,
};
use binade_core::{DType, ErrorKind};

/// A subject, as far as its operations go: known by bits alone, so that the cases are compiled once and not for every subject.
pub(super) trait ComputeBackend {
    /// Returns the agreement of a group on this subject.
    fn agreement(&self, group: CaseGroup) -> Agreement;

    /// Returns the bits of each result, of operands that are views of this layout.
    fn compute(&self, call: &OpCall<'_>) -> Result<Vec<Vec<u8>>>;

    /// Calls the operation, and reads no result.
    fn call(&self, call: &OpCall<'_>) -> Result<()>;

    /// Returns the bits of the operands after the call.
    fn kept(&self, call: &OpCall<'_>) -> Result<Vec<Vec<u8>>>;

    /// Returns the bits of the result of `then` on the first result and `beside`.
    fn chained(&self, call: &OpCall<'_>, then: &OpInvocation, beside: &Stored) -> Result<Vec<u8>>;
}

/// An operation, its operands, and how these lie in their buffers.
#[derive(Debug)]
pub(super) struct OpCall<'a> {
    op: &'a OpInvocation,
    operands: &'a [&'a Stored],
    layout: Layout,
}

impl<S: Backend> ComputeBackend for S {
    fn agreement(&self, group: CaseGroup) -> Agreement {
        group.agreement(self.arithmetic())
    }

    fn compute(&self, call: &OpCall<'_>) -> Result<Vec<Vec<u8>>> {
        let (_, results) = of(self, call)?;
        results.iter().map(|tensor| self.to_bits(tensor)).collect()
    }

    fn call(&self, call: &OpCall<'_>) -> Result<()> {
        of(self, call).map(drop)
    }

    fn kept(&self, call: &OpCall<'_>) -> Result<Vec<Vec<u8>>> {
        let (operands, _) = of(self, call)?;
        operands.iter().map(|tensor| self.to_bits(tensor)).collect()
    }

    fn chained(&self, call: &OpCall<'_>, then: &OpInvocation, beside: &Stored) -> Result<Vec<u8>> {
        let missing = || SubjectError::Failed(format!("{call:?} or {then:?} gave no tensor"));
        let (_, between) = of(self, call)?;
        let between = between.first().ok_or_else(missing)?;
        let last = Backend::compute(self, then, &[between, &put(self, beside)?])?;
        self.to_bits(last.first().ok_or_else(missing)?)
    }
}

type Tensors<S> = Vec<crate::Tensor<S>>;

/// Operands on the subject's side, and results.
fn of<S: Backend>(s: &S, call: &OpCall<'_>) -> Result<(Tensors<S>, Tensors<S>)> {
    let view = |of: &&Stored| s.view(&of.bytes, of.dtype, &of.shape, call.layout);
    let operands = call.operands.iter().map(view);
    let operands = operands.collect::<Result<Vec<_>>>()?;
    let results = Backend::compute(s, call.op, &operands.iter().collect::<Vec<_>>())?;
    Ok((operands, results))
}

/// Of one result: its element type, and the oracle's value of each element.
type Wanted<T> = (DType, Vec<T>);

/// A case as it runs: its subject, and its comparison.
pub(in crate::cases) struct OpRun<'c> {
    pub(super) backend: &'c dyn ComputeBackend,
    pub(in crate::cases) check: &'c mut Check,
    /// Layout of all operands.
    pub(super) layout: Layout,
}

#[expect(clippy::needless_pass_by_value, reason = "a case writes an operation where it calls it")]
impl OpRun<'_> {
    /// Returns the run with all operands `offset` elements into a buffer.
    pub(in crate::cases) fn at(&mut self, offset: usize) -> OpRun<'_> {
        self.with(Layout::Offset(offset))
    }

    pub(super) fn with(&mut self, layout: Layout) -> OpRun<'_> {
        OpRun { backend: self.backend, check: &mut *self.check, layout }
    }

    /// Compares each result by the operation's agreement.
    pub(in crate::cases) fn near(
        &mut self,
        op: OpInvocation,
        operands: &[&Stored],
        wanted: impl IntoIterator<Item = Wanted<Expected>>,
    ) -> Verdict {
        self.each(&op, operands, wanted, |check, got, wanted| check.tensor(operands, got, wanted))
    }

    /// Compares each result bit by bit.
    pub(in crate::cases) fn exact(
        &mut self,
        op: OpInvocation,
        operands: &[&Stored],
        wanted: impl IntoIterator<Item = Wanted<f64>>,
    ) -> Verdict {
        self.each(&op, operands, wanted, |check, got, wanted| check.exact(operands, got, wanted))
    }

    fn each<T>(
        &mut self,
        op: &OpInvocation,
        operands: &[&Stored],
        wanted: impl IntoIterator<Item = Wanted<T>>,
        mut compare: impl FnMut(&mut Check, &Stored, &[T]) -> Verdict,
    ) -> Verdict {
        let wanted: Vec<Wanted<T>> = wanted.into_iter().collect();
        let like = wanted.iter().map(|(dtype, wanted)| (*dtype, wanted.len()));
        let results = self.results(op, operands, like)?;
        let mut pairs = results.iter().zip(&wanted);
        pairs.try_for_each(|(got, (_, wanted))| compare(self.check, got, wanted))
    }

    /// Compares the one result with codes, NaNs among them, all of whose bits count.
    pub(in crate::cases) fn same(
        &mut self,
        op: OpInvocation,
        operands: &[&Stored],
        wanted: &Stored,
    ) -> Verdict {
        let got = self.result(&op, operands, (wanted.dtype, wanted.len()))?;
        self.check.same_codes(&(op, operands), &got, wanted)
    }

    /// Wants the operands refused, at the call.
    pub(in crate::cases) fn refused(
        &mut self,
        op: &OpInvocation,
        operands: &[&Stored],
        kind: ErrorKind,
    ) -> Verdict {
        let call = OpCall { op, operands, layout: Layout::Offset(0) };
        self.check.rejected(&call, self.backend.call(&call).map_err(CaseError::from), kind)
    }

    /// Wants `InvalidArgument`, at the call or when the result was read, or else NaN at these places of the one result.
    pub(in crate::cases) fn reported(
        &mut self,
        op: &OpInvocation,
        operands: &[&Stored],
        like: (DType, usize),
        places: std::ops::Range<usize>,
    ) -> Verdict {
        let told = match self.result(op, operands, like) {
            Err(CaseError::Subject(SubjectError::Rejected(ErrorKind::InvalidArgument, _))) => true,
            Err(stop) => return Err(stop),
            Ok(result) => values(&result)[places].iter().all(|x| x.is_nan()),
        };
        let wanted = "InvalidArgument or NaN";
        let got = if told { wanted } else { "neither" };
        self.check.equal((op, operands), got.to_owned(), wanted.to_owned())
    }

    /// Wants the operands to have their bits after the call.
    pub(in crate::cases) fn keeps(&mut self, op: &OpInvocation, operands: &[&Stored]) -> Verdict {
        let call = OpCall { op, operands, layout: Layout::Offset(0) };
        let kept = self.backend.kept(&call)?;
        let mut pairs = kept.iter().zip(operands);
        let changed = pairs.position(|(after, before)| *after != before.bytes);
        self.check.equal(&call, format!("{changed:?}"), format!("{:?}", None::<usize>))
    }

    /// Compares the result of `then` on the one result and `beside`, by the agreement of `group`.
    pub(in crate::cases) fn then(
        &mut self,
        (op, operand): (&OpInvocation, &Stored),
        (group, then, beside): (CaseGroup, &OpInvocation, &Stored),
        (dtype, wanted): Wanted<Expected>,
    ) -> Verdict {
        let operands = &[operand][..];
        let call = OpCall { op, operands, layout: Layout::Offset(1) };
        let bytes = self.backend.chained(&call, then, beside)?;
        let got = Stored::from_bytes(dtype, &[bytes.len() / dtype.bytes()], bytes);
        self.check.within(self.backend.agreement(group), operands, &got, &wanted)
    }

    /// Returns the one result of the call, of this type and length.
    pub(in crate::cases) fn result(
        &self,
        op: &OpInvocation,
        operands: &[&Stored],
        like: (DType, usize),
    ) -> Result<Stored, CaseError> {
        self.results(op, operands, [like]).map(|mut results| results.remove(0))
    }

    /// Returns the results of the call, as many tensors as there are types and lengths.
    fn results(
        &self,
        op: &OpInvocation,
        operands: &[&Stored],
        like: impl IntoIterator<Item = (DType, usize)>,
    ) -> Result<Vec<Stored>, CaseError> {
        let like: Vec<(DType, usize)> = like.into_iter().collect();
        let call = OpCall { op, operands, layout: self.layout };
        let results = self.backend.compute(&call)?;
        let sizes = |sizes: Vec<usize>| format!("tensors of {sizes:?} bytes");
        let got = sizes(results.iter().map(Vec::len).collect());
        let wanted = sizes(like.iter().map(|(dtype, len)| dtype.bytes() * len).collect());
        if got != wanted {
            let inputs = format!("{call:?}");
            return Err(CaseError::Wrong(Failure { inputs, got, wanted, ..Failure::default() }));
        }
        let pairs = results.into_iter().zip(like);
        Ok(pairs.map(|(bytes, (dtype, len))| Stored::from_bytes(dtype, &[len], bytes)).collect())
    }
}
