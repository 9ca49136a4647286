//! One call of an operation of `binade-ops`, and its results compared.

mod asks;
mod pairs;
mod softmaxes;

pub(super) use asks::{OpCases, OpRun};
pub(super) use pairs::pairs;
pub(super) use softmaxes::Softmaxes;

use super::values::Draw;
use crate::{
    Agreement, CaseError, CaseGroup, Expected, Failure, Layout, OpInvocation, Stored, Verdict,
};
use binade_core::{DType, ErrorKind};

/// Of one result: its element type, and what the oracle wants of each element.
pub(super) type Result<T> = (DType, Vec<T>);

/// An operation and its operands.
#[derive(Clone, Debug)]
pub(super) struct OpCase<'a> {
    op: OpInvocation,
    operands: Vec<&'a Stored>,
    layout: Layout,
}

impl<'a> OpCase<'a> {
    pub(super) fn new(op: OpInvocation, operands: &[&'a Stored]) -> Self {
        Self { op, operands: operands.to_vec(), layout: Layout::Offset(0) }
    }

    /// With all operands `offset` elements into a buffer.
    pub(super) fn at(self, offset: usize) -> Self {
        Self { layout: Layout::Offset(offset), ..self }
    }

    /// Compares each result by the operation's agreement.
    pub(super) fn near(
        &self,
        run: &mut OpRun<'_>,
        wanted: impl IntoIterator<Item = Result<Expected>>,
    ) -> Verdict {
        let wanted: Vec<Result<Expected>> = wanted.into_iter().collect();
        let results =
            self.results(run, wanted.iter().map(|(dtype, wanted)| (*dtype, wanted.len())))?;
        let mut pairs = results.iter().zip(&wanted);
        pairs.try_for_each(|(got, (_, wanted))| run.check.tensor(&self.operands, got, wanted))
    }

    /// Compares each result bit by bit.
    pub(super) fn exact(
        &self,
        run: &mut OpRun<'_>,
        wanted: impl IntoIterator<Item = Result<f64>>,
    ) -> Verdict {
        let wanted: Vec<Result<f64>> = wanted.into_iter().collect();
        let results =
            self.results(run, wanted.iter().map(|(dtype, wanted)| (*dtype, wanted.len())))?;
        let mut pairs = results.iter().zip(&wanted);
        pairs.try_for_each(|(got, (_, wanted))| run.check.exact(&self.operands, got, wanted))
    }

    /// Compares the one result by another agreement than the operation's.
    pub(super) fn within(
        &self,
        run: &mut OpRun<'_>,
        agreement: Agreement,
        (dtype, wanted): Result<Expected>,
    ) -> Verdict {
        let results = self.results(run, [(dtype, wanted.len())])?;
        run.check.within(agreement, &self.operands, &results[0], &wanted)
    }

    /// Compares the one result with codes, NaNs among them, all of whose bits count.
    pub(super) fn same(&self, run: &mut OpRun<'_>, wanted: &Stored) -> Verdict {
        let results = self.results(run, [(wanted.dtype, wanted.len())])?;
        let differs = results[0].codes().zip(wanted.codes()).position(|(got, code)| got != code);
        let text = |tensor: &Stored| match differs {
            Some(index) => format!("{} at {index}", tensor.element(index)),
            None => "the same bits".to_owned(),
        };
        run.check.equal(self, text(&results[0]), text(wanted))
    }

    /// Wants the operands refused, at the call.
    pub(super) fn refused(&self, run: &mut OpRun<'_>, kind: ErrorKind) -> Verdict {
        run.check.rejected(
            self,
            run.backend.call(&self.op, &self.operands).map_err(CaseError::from),
            kind,
        )
    }

    /// Wants the operands to have their bits after the call.
    pub(super) fn keeps(&self, run: &mut OpRun<'_>) -> Verdict {
        let kept = run.backend.kept(&self.op, &self.operands)?;
        let before: Vec<&Vec<u8>> = self.operands.iter().map(|tensor| &tensor.bytes).collect();
        let changed = kept.iter().zip(before).position(|(after, before)| after != before);
        run.check.equal(self, format!("{changed:?}"), format!("{:?}", None::<usize>))
    }

    /// Compares what `then` makes of the one result and of `beside`, by the agreement of `operation`.
    pub(super) fn then(
        &self,
        run: &mut OpRun<'_>,
        (group, then, beside): (CaseGroup, &OpInvocation, &Stored),
        (dtype, wanted): Result<Expected>,
    ) -> Verdict {
        let bytes = run.backend.chained([&self.op, then], &self.operands, beside)?;
        let got = Stored { dtype, shape: vec![bytes.len() / dtype.bytes()], bytes };
        run.check.within(group.agreement(run.backend.arithmetic()), &self.operands, &got, &wanted)
    }

    /// Results of the call, as many tensors as there are types and lengths.
    pub(super) fn results(
        &self,
        run: &OpRun<'_>,
        like: impl IntoIterator<Item = (DType, usize)>,
    ) -> std::result::Result<Vec<Stored>, CaseError> {
        let like: Vec<(DType, usize)> = like.into_iter().collect();
        let results = run.backend.compute(&self.op, &self.operands, self.layout)?;
        let sizes = |sizes: Vec<usize>| format!("tensors of {sizes:?} bytes");
        let got = sizes(results.iter().map(Vec::len).collect());
        let wanted = sizes(like.iter().map(|(dtype, len)| dtype.bytes() * len).collect());
        if got != wanted {
            let inputs = format!("{self:?}");
            return Err(CaseError::Wrong(Failure { inputs, got, wanted, ..Failure::default() }));
        }
        let pairs = results.into_iter().zip(like);
        Ok(pairs.map(|(bytes, (dtype, len))| Stored { dtype, shape: vec![len], bytes }).collect())
    }
}

/// A tensor of values uniform in low..high, each rounded once; of `f16`, a seventh is 2^16 times smaller and mostly subnormal.
pub(super) fn uniform(seed: usize, dtype: DType, shape: &[usize], [low, high]: [f64; 2]) -> Stored {
    let mut draw = Draw::new(seed);
    let scale =
        |at: usize| if dtype == DType::F16 && at % 7 == 5 { 2.0_f64.powi(-16) } else { 1.0 };
    let values = (0..shape.iter().product()).map(|at| draw.within(low, high) * scale(at));
    Stored::from_values(dtype, shape, values.collect::<Vec<f64>>())
}

/// Labels, indices, a key.
pub(super) fn i64s(shape: &[usize], values: impl IntoIterator<Item = i64>) -> Stored {
    Stored::from_codes(DType::I64, shape, values.into_iter().map(i64::cast_unsigned))
}

/// An `f32` scalar.
pub(super) fn scalar(value: f64) -> Stored {
    Stored::from_values(DType::F32, &[], [value])
}

/// The elements as numbers.
pub(super) fn values(tensor: &Stored) -> Vec<f64> {
    tensor.values().collect()
}

/// Adds a case that gives an operation what does not fit, each time, and wants it refused.
pub(super) fn refusals(
    cases: &mut OpCases,
    sentence: &str,
    kind: ErrorKind,
    all: Vec<(OpInvocation, Vec<Stored>)>,
) {
    cases.add("-", sentence, move |run| {
        all.iter().try_for_each(|(op, operands)| {
            let operands: Vec<&Stored> = operands.iter().collect();
            OpCase::new(op.clone(), &operands).refused(run, kind)
        })
    });
}

/// An extent of which four do not fit into any memory.
pub(super) const HUGE: usize = usize::MAX / 4;

/// Adds a case whose results would be larger than any memory, and wants each refused.
pub(super) fn too_large(cases: &mut OpCases, all: Vec<(OpInvocation, Vec<Stored>)>) {
    let sentence = "a_result_larger_than_any_memory_is_an_invalid_argument";
    refusals(cases, sentence, ErrorKind::InvalidArgument, all);
}

/// Ones, for what is refused before anybody looks at them.
pub(super) fn ones(dtype: DType, shape: &[usize]) -> Stored {
    Stored::from_values(dtype, shape, vec![1.0; shape.iter().product()])
}
