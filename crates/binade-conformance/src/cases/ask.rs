//! One call of an operation of `binade-ops`, and its results compared.

use super::values::Draw;
use super::{get, put_at};
use crate::{
    Agreement, Check, Compute, Failure, Operation, Stop, Stored, Subject, Suite, Verdict, Wanted,
};
use binade_core::{DType, ErrorKind};

/// Of one result: its element type, and what the oracle wants of each element.
pub(super) type Result<T> = (DType, Vec<T>);

/// What is computed, and of what.
#[derive(Clone, Debug)]
pub(super) struct Ask<'a> {
    op: Compute,
    operands: Vec<&'a Stored>,
    offset: usize,
}

impl<'a> Ask<'a> {
    pub(super) fn new(op: Compute, operands: &[&'a Stored]) -> Self {
        Self { op, operands: operands.to_vec(), offset: 0 }
    }

    /// With all operands `offset` elements into a buffer.
    pub(super) fn at(self, offset: usize) -> Self {
        Self { offset, ..self }
    }

    /// Compares each result by the operation's agreement.
    pub(super) fn near<S: Subject>(
        &self,
        s: &S,
        check: &mut Check,
        wanted: impl IntoIterator<Item = Result<Wanted>>,
    ) -> Verdict {
        let wanted: Vec<Result<Wanted>> = wanted.into_iter().collect();
        let results =
            self.results(s, wanted.iter().map(|(dtype, wanted)| (*dtype, wanted.len())))?;
        let mut pairs = results.iter().zip(&wanted);
        pairs.try_for_each(|(got, (_, wanted))| check.tensor(&self.operands, got, wanted))
    }

    /// Compares each result bit by bit.
    pub(super) fn exact<S: Subject>(
        &self,
        s: &S,
        check: &mut Check,
        wanted: impl IntoIterator<Item = Result<f64>>,
    ) -> Verdict {
        let wanted: Vec<Result<f64>> = wanted.into_iter().collect();
        let results =
            self.results(s, wanted.iter().map(|(dtype, wanted)| (*dtype, wanted.len())))?;
        let mut pairs = results.iter().zip(&wanted);
        pairs.try_for_each(|(got, (_, wanted))| check.exact(&self.operands, got, wanted))
    }

    /// Compares the one result by another agreement than the operation's.
    pub(super) fn within<S: Subject>(
        &self,
        s: &S,
        check: &mut Check,
        agreement: Agreement,
        (dtype, wanted): Result<Wanted>,
    ) -> Verdict {
        let results = self.results(s, [(dtype, wanted.len())])?;
        check.within(agreement, &self.operands, &results[0], &wanted)
    }

    /// Compares the one result with codes, NaNs among them, all of whose bits count.
    pub(super) fn same<S: Subject>(&self, s: &S, check: &mut Check, wanted: &Stored) -> Verdict {
        let results = self.results(s, [(wanted.dtype, wanted.len())])?;
        let differs = results[0].codes().zip(wanted.codes()).position(|(got, code)| got != code);
        let text = |tensor: &Stored| match differs {
            Some(index) => format!("{} at {index}", tensor.element(index)),
            None => "the same bits".to_owned(),
        };
        check.equal(self, text(&results[0]), text(wanted))
    }

    /// Wants the operands refused, at the call.
    pub(super) fn refused<S: Subject>(&self, s: &S, check: &mut Check, kind: ErrorKind) -> Verdict {
        let tensors = self.put(s)?;
        let result = s.compute(&self.op, &tensors.iter().collect::<Vec<_>>());
        check.rejected(self, result.map_err(Stop::from), kind)
    }

    /// What came of it, which has to be as many tensors as there are types and lengths.
    pub(super) fn results<S: Subject>(
        &self,
        s: &S,
        like: impl IntoIterator<Item = (DType, usize)>,
    ) -> std::result::Result<Vec<Stored>, Stop> {
        let like: Vec<(DType, usize)> = like.into_iter().collect();
        let tensors = self.put(s)?;
        let results = s.compute(&self.op, &tensors.iter().collect::<Vec<_>>())?;
        if results.len() != like.len() {
            return Err(Stop::Wrong(Failure {
                inputs: format!("{self:?}"),
                got: format!("{} tensors", results.len()),
                wanted: format!("{} tensors", like.len()),
                ..Failure::default()
            }));
        }
        let pairs = results.iter().zip(like);
        pairs.map(|(tensor, (dtype, len))| get(s, tensor, dtype, &[len])).collect()
    }

    fn put<S: Subject>(&self, s: &S) -> std::result::Result<Vec<S::Tensor>, Stop> {
        let put = |tensor: &&Stored| Ok(put_at(s, tensor, self.offset)?);
        self.operands.iter().map(put).collect()
    }
}

/// A tensor of values uniform in low..high, each rounded once.
pub(super) fn uniform(seed: usize, dtype: DType, shape: &[usize], [low, high]: [f64; 2]) -> Stored {
    let mut draw = Draw::new(seed);
    let values = (0..shape.iter().product()).map(|_| draw.within(low, high));
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
pub(super) fn refusals<S: Subject>(
    suite: &mut Suite<S>,
    operation: Operation,
    sentence: &str,
    kind: ErrorKind,
    all: Vec<(Compute, Vec<Stored>)>,
) {
    suite.add(operation, "-", sentence, move |s: &S, check| {
        all.iter().try_for_each(|(op, operands)| {
            let operands: Vec<&Stored> = operands.iter().collect();
            Ask::new(op.clone(), &operands).refused(s, check, kind)
        })
    });
}

/// Ones, for what is refused before anybody looks at them.
pub(super) fn ones(dtype: DType, shape: &[usize]) -> Stored {
    Stored::from_values(dtype, shape, vec![1.0; shape.iter().product()])
}
