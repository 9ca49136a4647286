//! The list of an operation's cases.

use super::OpRun;
use crate::cases::values::{STARTS, VIEWS, offsets};
use crate::{Backend, Cases, Layout, Verdict};
use std::{fmt::Display, rc::Rc};

type Checker = dyn Fn(&mut OpRun<'_>) -> Verdict;

/// A case before its subject is known.
struct OpCase {
    variant: String,
    sentence: String,
    check: Box<Checker>,
}

/// The cases of operations, for any subject.
#[derive(Default)]
pub(in crate::cases) struct OpCases(Vec<OpCase>);

impl OpCases {
    /// Adds a case, as [`Cases::add`] does.
    pub(in crate::cases) fn add(
        &mut self,
        variant: impl Display,
        sentence: impl Display,
        check: impl Fn(&mut OpRun<'_>) -> Verdict + 'static,
    ) {
        let (variant, sentence) = (variant.to_string(), sentence.to_string());
        self.0.push(OpCase { variant, sentence, check: Box::new(check) });
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

    /// Adds a case of operands that begin anywhere in a buffer, and one of views with strides: `check` is given a seed and a length.
    pub(in crate::cases) fn starts(
        &mut self,
        variant: impl Display,
        check: impl Fn(&mut OpRun<'_>, usize, usize) -> Verdict + 'static,
    ) {
        let check = Rc::new(check);
        let viewed = check.clone();
        self.add(&variant, VIEWS, move |run| {
            let layouts = [Layout::Transposed, Layout::Strided(1)].into_iter();
            let mut all = layouts.flat_map(|layout| offsets().map(move |of| (layout, of)));
            all.try_for_each(|(layout, (seed, length))| viewed(&mut run.with(layout), seed, length))
        });
        self.add(variant, STARTS, move |run| {
            offsets().try_for_each(|(offset, length)| check(&mut run.at(offset), offset, length))
        });
    }

    /// Makes them cases of one subject's.
    pub(in crate::cases) fn put_to<S: Backend>(self, cases: &mut Cases<S>) {
        for OpCase { variant, sentence, check } in self.0 {
            cases.add(variant, sentence, move |backend: &S, with| {
                check(&mut OpRun { backend, check: with, layout: Layout::Offset(0) })
            });
        }
    }
}
