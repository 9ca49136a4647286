//! One run of an operation's case: the subject, the layout of its operands, and the comparison of results.

use super::values;
use crate::cases::put;
use crate::{
    Agreement, Backend, CaseError, CaseGroup, Check, Expected, Failure, Layout, OpInvocation,
    Result, Stored, SubjectError, Verdict,
};
use binade_core::{DType, ErrorKind};

/// Operations of a subject, with tensors as bits, so that the cases are compiled once and not for every subject.
pub(super) trait ComputeBackend {
    /// Returns the agreement of a group on this subject.
    fn agreement(&self, group: CaseGroup) -> Agreement;

    /// Calls the operation, and returns the bits of the tensors to read.
    fn compute(&self, call: &OpCall<'_>, read: Read<'_>) -> Result<Vec<Vec<u8>>>;
}

/// Tensors that are read after a call.
#[derive(Clone, Copy, Debug)]
pub(super) enum Read<'a> {
    Nothing,
    Results,
    Operands,
    /// Results of this operation on the first result and another operand.
    Then(&'a OpInvocation, &'a Stored),
}

/// An operation, its operands, and their layout.
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

    fn compute(&self, call: &OpCall<'_>, read: Read<'_>) -> Result<Vec<Vec<u8>>> {
        let view = |of: &&Stored| self.view(&of.bytes, of.dtype, &of.shape, call.layout);
        let operands = call.operands.iter().map(view);
        let operands = operands.collect::<Result<Vec<_>>>()?;
        let results = Backend::compute(self, call.op, &operands.iter().collect::<Vec<_>>())?;
        let tensors = match read {
            Read::Nothing => Vec::new(),
            Read::Results => results,
            Read::Operands => operands,
            Read::Then(op, beside) => {
                let missing = || SubjectError::Failed(format!("{call:?} gave no tensor"));
                let between = results.first().ok_or_else(missing)?;
                Backend::compute(self, op, &[between, &put(self, beside)?])?
            }
        };
        tensors.iter().map(|tensor| self.to_bits(tensor)).collect()
    }
}

/// A wanted result: its element type, and the oracle's value of each element.
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
        self.each(&op, operands, wanted, None)
    }

    /// Compares each result bit by bit.
    pub(in crate::cases) fn exact(
        &mut self,
        op: OpInvocation,
        operands: &[&Stored],
        wanted: impl IntoIterator<Item = Wanted<f64>>,
    ) -> Verdict {
        let exactly = |wanted: Vec<f64>| wanted.into_iter().map(Expected::exactly).collect();
        let wanted = wanted.into_iter().map(|(dtype, wanted)| (dtype, exactly(wanted)));
        self.each(&op, operands, wanted, Some(Agreement::Bits))
    }

    fn each(
        &mut self,
        op: &OpInvocation,
        operands: &[&Stored],
        wanted: impl IntoIterator<Item = Wanted<Expected>>,
        agreement: Option<Agreement>,
    ) -> Verdict {
        let wanted: Vec<Wanted<Expected>> = wanted.into_iter().collect();
        let like = wanted.iter().map(|(dtype, wanted)| (*dtype, wanted.len()));
        let call = OpCall { op, operands, layout: self.layout };
        let results = self.results(&call, Read::Results, like)?;
        results.iter().zip(&wanted).try_for_each(|(got, (_, wanted))| match agreement {
            Some(agreement) => self.check.within(agreement, operands, got, wanted),
            None => self.check.tensor(operands, got, wanted),
        })
    }

    /// Compares the one result with codes. All bits of NaNs count too.
    pub(in crate::cases) fn same(
        &mut self,
        op: OpInvocation,
        operands: &[&Stored],
        wanted: &Stored,
    ) -> Verdict {
        let got = self.result(&op, operands, (wanted.dtype, wanted.len()))?;
        self.check.same_codes(&(op, operands), &got, wanted)
    }

    /// Requires that the call refuses the operands.
    pub(in crate::cases) fn refused(
        &mut self,
        op: &OpInvocation,
        operands: &[&Stored],
        kind: ErrorKind,
    ) -> Verdict {
        let call = OpCall { op, operands, layout: Layout::Offset(0) };
        let got = self.backend.compute(&call, Read::Nothing);
        self.check.rejected(&call, got.map_err(CaseError::from), kind)
    }

    /// Requires `InvalidArgument`, at the call or when the result is read, or else NaN at these indices of the one result.
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

    /// Requires that the operands keep their bits.
    pub(in crate::cases) fn keeps(&mut self, op: &OpInvocation, operands: &[&Stored]) -> Verdict {
        let call = OpCall { op, operands, layout: Layout::Offset(0) };
        let kept = self.backend.compute(&call, Read::Operands)?;
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
        let got = self.results(&call, Read::Then(then, beside), [(dtype, wanted.len())])?;
        self.check.within(self.backend.agreement(group), operands, &got[0], &wanted)
    }

    /// Returns the one result of the call, of this type and length.
    pub(in crate::cases) fn result(
        &self,
        op: &OpInvocation,
        operands: &[&Stored],
        like: (DType, usize),
    ) -> Result<Stored, CaseError> {
        let call = OpCall { op, operands, layout: self.layout };
        self.results(&call, Read::Results, [like]).map(|mut results| results.remove(0))
    }

    /// Returns the tensors read after the call, which must be as many as the given types and lengths.
    fn results(
        &self,
        call: &OpCall<'_>,
        read: Read<'_>,
        like: impl IntoIterator<Item = (DType, usize)>,
    ) -> Result<Vec<Stored>, CaseError> {
        let like: Vec<(DType, usize)> = like.into_iter().collect();
        let results = self.backend.compute(call, read)?;
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
