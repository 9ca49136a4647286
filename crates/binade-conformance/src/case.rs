//! A case, its verdict, and the list of a subject's cases.

use crate::cases::layouts;
use crate::difference::{Difference, worst};
use crate::{Agreement, Arithmetic, Backend, CaseGroup, Expected, Layout, Stored, SubjectError};
use binade_core::ErrorKind;
use std::fmt;

/// A check of one contract, named `operation/variant/sentence`.
pub(crate) struct Case<S> {
    pub(crate) group: CaseGroup,
    pub(crate) variant: String,
    sentence: String,
    pub(crate) check: Box<Checker<S>>,
}

type Checker<S> = dyn Fn(&S, &mut Check) -> Verdict;

impl<S> Case<S> {
    /// The full name, which `BINADE_CASE` filters by.
    pub(crate) fn name(&self) -> String {
        format!("{}/{}/{}", self.group, self.variant, self.sentence)
    }
}

/// Result of a case, or the reason why it fails or is skipped.
pub(crate) type Verdict = Result<(), CaseError>;

/// Reason why a case fails or is skipped.
#[derive(Clone, Debug)]
pub(crate) enum CaseError {
    /// The subject gave no result.
    Subject(SubjectError),
    /// The subject gave a wrong result.
    Wrong(Failure),
}

impl From<SubjectError> for CaseError {
    fn from(error: SubjectError) -> Self {
        Self::Subject(error)
    }
}

/// Description of a wrong result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Failure {
    /// The inputs, as bits.
    pub inputs: String,
    /// The result.
    pub got: String,
    /// The result that the oracle wants.
    pub wanted: String,
    /// The agreement that the result had to meet.
    pub agreement: String,
    /// The first element of a tensor that does not agree.
    pub first: Option<usize>,
    /// The element of a tensor that is farthest from the wanted value.
    pub(crate) worst: Option<Box<Difference>>,
}

/// Comparison of a case's results by the agreement that the kit declares.
#[derive(Debug)]
pub(crate) struct Check {
    agreement: Agreement,
    pub(crate) worst: f64,
    pub(crate) compared: usize,
}

impl Check {
    pub(crate) fn new(agreement: Agreement) -> Self {
        Self { agreement, worst: 0.0, compared: 0 }
    }

    /// Compares a tensor by the operation's agreement.
    pub(crate) fn tensor(
        &mut self,
        inputs: &[&Stored],
        got: &Stored,
        wanted: &[Expected],
    ) -> Verdict {
        self.within(self.agreement, inputs, got, wanted)
    }

    /// Compares a tensor bit by bit, for values on which every arithmetic gives the same result.
    pub(crate) fn exact(&mut self, inputs: &[&Stored], got: &Stored, wanted: &[f64]) -> Verdict {
        self.values(inputs, got, wanted, Some(Agreement::Bits))
    }

    /// Compares a tensor with values by this agreement, or by the operation's.
    pub(crate) fn values(
        &mut self,
        inputs: &[&Stored],
        got: &Stored,
        wanted: &[f64],
        agreement: Option<Agreement>,
    ) -> Verdict {
        let wanted: Vec<Expected> = wanted.iter().copied().map(Expected::exactly).collect();
        self.within(agreement.unwrap_or(self.agreement), inputs, got, &wanted)
    }

    /// Compares codes. All bits of NaNs count too.
    pub(crate) fn same_codes(
        &mut self,
        inputs: &impl fmt::Debug,
        got: &Stored,
        wanted: &Stored,
    ) -> Verdict {
        let differs = got.codes().zip(wanted.codes()).position(|(got, code)| got != code);
        let text = |tensor: &Stored| match differs {
            Some(index) => format!("{} at {index}", tensor.element(index)),
            None => "the same bits".to_owned(),
        };
        self.equal(inputs, text(got), text(wanted))
    }

    /// Compares two values by their printed form, which has all numbers as bits.
    pub(crate) fn equal(
        &mut self,
        inputs: impl fmt::Debug,
        got: String,
        wanted: String,
    ) -> Verdict {
        self.compared += 1;
        if got == wanted {
            return Ok(());
        }
        let (inputs, agreement) = (format!("{inputs:?}"), Agreement::Bits.to_string());
        Err(CaseError::Wrong(Failure { inputs, got, wanted, agreement, ..Failure::default() }))
    }

    /// Requires an error of this kind for wrong input.
    pub(crate) fn rejected<T>(
        &mut self,
        inputs: impl fmt::Debug,
        got: Result<T, CaseError>,
        wanted: ErrorKind,
    ) -> Verdict {
        let got = match got {
            Err(CaseError::Subject(SubjectError::Rejected(kind, _))) => format!("{kind:?}"),
            Err(stop) => return Err(stop),
            Ok(_) => "no error".to_owned(),
        };
        self.equal(inputs, got, format!("{wanted:?}"))
    }

    pub(crate) fn within(
        &mut self,
        agreement: Agreement,
        inputs: &[&Stored],
        got: &Stored,
        wanted: &[Expected],
    ) -> Verdict {
        if got.len() != wanted.len() {
            let count = |n: usize| format!("{n} elements");
            return self.equal(inputs, count(got.len()), count(wanted.len()));
        }
        self.compared += 1;
        let comparison = agreement.compare(got, wanted);
        self.worst = self.worst.max(comparison.worst);
        match comparison.offenders.first() {
            None => Ok(()),
            Some(&index) => {
                let (offenders, all) = (comparison.offenders.len(), got.len());
                Err(CaseError::Wrong(Failure {
                    inputs: at(inputs, index, all),
                    got: format!(
                        "{} at {index}; {offenders} of {all} elements disagree",
                        got.element(index)
                    ),
                    wanted: wish(wanted[index], got),
                    agreement: agreement.to_string(),
                    first: Some(index),
                    worst: worst(&comparison.offenders, got, wanted).map(Box::new),
                }))
            }
        }
    }
}

/// Returns the wanted value as text, before and after rounding.
fn wish(wanted: Expected, got: &Stored) -> String {
    let rounded = Stored::from_values(got.dtype, &[1], [wanted.value]);
    format!("{} from {:e}", rounded.element(0), wanted.value)
}

/// Returns the inputs as text: the element at `index` if they match the result element by element, else their first elements.
fn at(inputs: &[&Stored], index: usize, length: usize) -> String {
    let one = |input: &&Stored| {
        if input.len() == length {
            format!("{}[{index}] = {}", input.dtype, input.element(index))
        } else {
            format!("{input:?}")
        }
    };
    inputs.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// The cases for one subject.
pub(crate) struct Cases<S> {
    group: CaseGroup,
    arithmetic: Arithmetic,
    pub(crate) list: Vec<Case<S>>,
}

impl<S: Backend> Cases<S> {
    pub(crate) fn new(group: CaseGroup, arithmetic: Arithmetic) -> Self {
        Self { group, arithmetic, list: Vec::new() }
    }

    /// Returns the agreement of the group.
    pub(crate) fn agreement(&self) -> Agreement {
        self.group.agreement(self.arithmetic)
    }

    /// Returns the arithmetic of the subject, for cases that apply to some arithmetic only.
    pub(crate) fn arithmetic(&self) -> &Arithmetic {
        &self.arithmetic
    }

    /// Adds a case.
    pub(crate) fn add(
        &mut self,
        variant: impl fmt::Display,
        sentence: impl fmt::Display,
        check: impl Fn(&S, &mut Check) -> Verdict + 'static,
    ) {
        let (variant, sentence) = (variant.to_string(), sentence.to_string());
        let group = self.group;
        self.list.push(Case { group, variant, sentence, check: Box::new(check) });
    }

    /// Adds a case for each length of a tensor.
    pub(crate) fn lengths(
        &mut self,
        variant: impl fmt::Display,
        lengths: impl IntoIterator<Item = usize>,
        check: impl Fn(&S, &mut Check, usize) -> Verdict + Clone + 'static,
    ) {
        for length in lengths {
            let check = check.clone();
            let sentence = format!("all_of_{length}_elements");
            self.add(&variant, sentence, move |s, with| check(s, with, length));
        }
    }

    /// Adds a case of tensors with any offset in a buffer, and one of views with strides.
    pub(crate) fn views(
        &mut self,
        variant: impl fmt::Display,
        check: impl Fn(&S, &mut Check, Layout, usize) -> Verdict + Clone + 'static,
    ) {
        for (sentence, layouts) in layouts() {
            let check = check.clone();
            self.add(&variant, sentence, move |s, with| {
                layouts.iter().try_for_each(|&(layout, length)| check(s, with, layout, length))
            });
        }
    }
}
