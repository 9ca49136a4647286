//! Sparse gradients: repeated rows are added, the sums are checked, and only looked-up rows are stepped.
//!
//! The oracle adds gradients of one row in `f32`, in the order of the indices, rounds once to their type, and steps the elements of
//! rows that were looked up.

use super::cast::rounded;
use super::clip::clip_grads;
use super::prelude::*;
use super::training::{Element, narrow, step};
use super::unscale::{Set, same_grads, told, unscale};
use crate::{Clip, LookupGrad, SparseBatch, SparseResult, SparseRun};
use binade_grad_scaler::{Norm, ScaleState};
use binade_master_weights::UpdateRule;
use std::collections::BTreeSet;

pub(super) fn add_cases<S: Backend>(cases: &mut Cases<S>) {
    for dtype in FLOATS {
        sums(cases, dtype);
        overflows(cases, dtype);
        sizes_of_tables(cases, dtype);
        refusals_of(cases, dtype);
        for param in FLOATS {
            steps(cases, [param, dtype]);
        }
    }
    cases.add("mixed", "element_types_may_differ_within_a_set", |s: &S, check| {
        let look_ups = FLOATS.map(|dtype| pair(dtype, &[1, 0, 1]));
        let batch = ["a", "b", "c"].into_iter().zip(look_ups);
        Run::of(vec![batch.collect()], 3).checked(s, check)
    });
}

/// Gradient of a look-up, on the kit's side, with the number of the table's rows.
#[derive(Clone, Debug)]
struct LookUp {
    rows: usize,
    indices: Vec<i64>,
    /// `[n, width]`
    grad: Stored,
}

/// Look-ups of one micro-batch, by table.
type Batch = Vec<(&'static str, LookUp)>;

/// Steps of fresh tables.
#[derive(Clone)]
struct Run {
    /// Element type of the tables.
    dtype: DType,
    rule: UpdateRule,
    steps: Vec<Vec<Batch>>,
    /// Exponent of every scale.
    exponent: i32,
    diverged: bool,
    max_norm: Option<f32>,
}

/// A column of one element a row, of a table of four rows.
fn column(dtype: DType, indices: &[i64], values: &[f64]) -> LookUp {
    let grad = Stored::from_values(dtype, &[values.len(), 1], values.iter().copied());
    LookUp { rows: 4, indices: indices.to_vec(), grad }
}

/// Two elements a row, of a table of four rows.
fn pair(dtype: DType, indices: &[i64]) -> LookUp {
    let drawn = finite(31, 2 * indices.len(), dtype, [-4.0, 4.0]);
    let grad = Stored::from_values(dtype, &[indices.len(), 2], drawn);
    LookUp { rows: 4, indices: indices.to_vec(), grad }
}

impl Run {
    /// Returns a run with one step for each of these batches.
    fn of(batches: Vec<Batch>, exponent: i32) -> Self {
        let steps = batches.into_iter().map(|batch| vec![batch]).collect();
        let (rule, dtype) = (UpdateRule::sgd(0.5), DType::F32);
        Self { dtype, rule, steps, exponent, diverged: false, max_norm: None }
    }

    fn one(look_up: LookUp, exponent: i32) -> Self {
        Self::of(vec![vec![("w", look_up)]], exponent)
    }

    fn scale(&self) -> ScaleState {
        ScaleState { diverged: self.diverged, ..ScaleState::from_exponent(self.exponent) }
    }

    /// Returns the tables before the first step.
    fn tables(&self) -> Vec<(&'static str, Stored)> {
        let first = self.steps.iter().flatten().next();
        let table = |(name, look_up): &(&'static str, LookUp)| {
            let shape = [look_up.rows, look_up.grad.shape[1]];
            let drawn = finite(77, shape[0] * shape[1], self.dtype, [-2.0, 2.0]);
            (*name, Stored::from_values(self.dtype, &shape, drawn))
        };
        first.into_iter().flatten().map(table).collect()
    }

    fn run<S: Backend>(&self, s: &S) -> Result<SparseResult<Tensor<S>>, CaseError> {
        let table = |(name, table): (&'static str, Stored)| Ok(Named::new(name, put(s, &table)?));
        let params = self.tables().into_iter().map(table).collect::<Result<_, CaseError>>()?;
        let lookup = |(name, LookUp { rows, indices, grad }): &(&'static str, LookUp)| {
            let indices = i64s(&[indices.len()], indices.clone());
            let (grad, indices) = (put(s, grad)?, put(s, &indices)?);
            Ok(Named::new(*name, LookupGrad { grad, indices, rows: *rows }))
        };
        let batch = |batch: &Batch| {
            let lookups = batch.iter().map(lookup).collect::<Result<_, CaseError>>()?;
            Ok(SparseBatch { lookups, scale: self.scale() })
        };
        let steps = self.steps.iter().map(|step| step.iter().map(batch).collect());
        let steps = steps.collect::<Result<_, CaseError>>()?;
        let Self { rule, max_norm, .. } = *self;
        Ok(s.sparse(SparseRun { params, rule, steps, max_norm })?)
    }

    /// Runs, and compares the last step's found-inf result and gradients, and every table.
    fn checked<S: Backend>(&self, s: &S, check: &mut Check) -> Verdict {
        let got = self.run(s)?;
        let Wanted { tables, grads, found, input } = self.wanted();
        check.equal(&input, told(&got.found), told(&found))?;
        same_grads(s, check, (&input, &got.grads), &grads, Some(Agreement::Bits))?;
        for ((name, wanted), table) in tables.iter().zip(&got.params) {
            check.equal(&input, table.name.to_string(), (*name).to_owned())?;
            let table = get(s, &table.value, wanted.dtype, &wanted.shape)?;
            check.values(&[wanted], &table, &values(wanted), None)?;
        }
        Ok(())
    }
}

/// Adds cases of sums of gradients of one row, and of the rows present.
fn sums<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    // The number from which on adding one changes nothing in this type.
    let full = match dtype {
        DType::BF16 => 256.0,
        DType::F16 => 2048.0,
        _ => 16_777_216.0,
    };
    let mut add = |sentence: &str, look_up: LookUp| {
        cases.add(dtype, sentence, move |s: &S, check| {
            [0, 8]
                .into_iter()
                .try_for_each(|exponent| Run::one(look_up.clone(), exponent).checked(s, check))
        });
    };
    let rows = column(dtype, &[2, 2, 0, 2, 0, 2], &[full, 1.0, -1.0, 1.0, 5.0, 1.0]);
    // 2048 + 1 + 1 is 2050; added in f16 it stays 2048.
    add("gradients_of_one_row_are_added_in_f32_and_rounded_once", rows);
    let order = column(dtype, &[1, 1, 1], &[1.0, full, -full]);
    add("gradients_are_added_in_the_order_of_the_indices", order);
    add("a_row_that_is_looked_up_once_is_the_gradient", pair(dtype, &[3, 0]));
    add("no_index_at_all_is_a_gradient_of_zeros", column(dtype, &[], &[]));
}

/// Adds cases of finite gradients whose sum overflows, and of gradients that are not finite.
fn overflows<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let largest = if dtype == DType::F16 { 64000.0 } else { 3e38 };
    let twice = column(dtype, &[3, 1, 3], &[largest, 2.0, largest]);
    let sentence = "an_overflow_made_by_adding_up_is_found_at_its_element_of_the_table";
    cases.add(dtype, sentence, move |s: &S, check| Run::one(twice.clone(), 4).checked(s, check));
    let sentence = "an_infinity_or_a_nan_among_duplicates_is_not_lost";
    cases.add(dtype, sentence, move |s: &S, check| {
        for bad in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            for values in [[1.0, bad, 1.0], [bad, 1.0, f64::INFINITY], [f64::INFINITY, 1.0, bad]] {
                Run::one(column(dtype, &[2, 2, 2], &values), 2).checked(s, check)?;
            }
        }
        Ok(())
    });
    cases.add(dtype, "a_diverged_scale_halts_finite_rows", move |s: &S, check| {
        let run = Run::one(column(dtype, &[0, 0], &[1.0, 2.0]), 3);
        Run { diverged: true, ..run }.checked(s, check)
    });
}

/// Rows, width and number of indices.
const SIZES: &str = "1x1x1 5x8x7 7x9x33 33x32x9 2x257x5 300x3x257 2x33x512 5x1x900 70000x3x40";

fn sizes_of_tables<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    for [rows, width, count] in sizes(SIZES) {
        let sentence = format!("{count}_rows_of_{rows}x{width}");
        cases.add(dtype, sentence, move |s: &S, check| {
            let indices = drawn(count, rows)
                .into_iter()
                .map(|row| i64::try_from(row).unwrap_or(i64::MAX))
                .collect();
            let drawn = finite(32, count * width, dtype, [-4.0, 4.0]);
            let grad = Stored::from_values(dtype, &[count, width], drawn);
            Run::one(LookUp { rows, indices, grad }, 5).checked(s, check)
        });
    }
}

fn refusals_of<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    for (sentence, indices) in [
        ("an_index_behind_the_last_is_an_invalid_argument", [0, 4]),
        ("an_index_below_0_is_an_invalid_argument", [-1, 2]),
    ] {
        cases.add(dtype, sentence, move |s: &S, check| {
            let run = Run::one(column(dtype, &indices, &[1.0, 2.0]), 0);
            let got = run.run(s).and_then(|got| Ok(s.to_bits(&got.params[0].value)?));
            check.rejected(&run.steps, got, ErrorKind::InvalidArgument)
        });
    }
}

/// Adds cases of steps by each rule that can step single rows.
fn steps<S: Backend>(cases: &mut Cases<S>, [param, grad]: [DType; 2]) {
    let variant = super::steps::variant([param, grad]);
    let batch = |indices: &[i64]| vec![("w", pair(grad, indices)), ("v", pair(grad, &[1]))];
    for (name, rule) in [
        ("sgd", UpdateRule::sgd(0.1)),
        ("adagrad", UpdateRule::adagrad(0.1)),
        ("sparse_adam", UpdateRule::sparse_adam(0.1)),
    ] {
        let run = Run::of(vec![batch(&[0, 3, 0]), batch(&[3]), batch(&[1, 0])], 4);
        let run = Run { rule, dtype: param, ..run };
        let sentence = format!("{name}_steps_the_rows_that_were_looked_up");
        let steps = run.clone();
        cases.add(variant.clone(), sentence, move |s: &S, check| steps.checked(s, check));
        let mut bad = run.clone();
        let overflow = vec![("w", infinite(grad)), ("v", pair(grad, &[1]))];
        bad.steps.insert(1, vec![overflow]);
        let sentence = format!("{name}_skips_a_step_with_an_infinity");
        cases.add(variant.clone(), sentence, move |s: &S, check| bad.checked(s, check));
    }
    let bad = || vec![("w", infinite(grad)), ("v", pair(grad, &[1]))];
    let bad_between = vec![batch(&[0, 3, 0]), bad(), batch(&[3, 2])];
    let run = Run {
        steps: vec![bad_between, vec![bad(), batch(&[1, 3])]],
        rule: UpdateRule::sparse_adam(0.1),
        dtype: param,
        ..Run::of(vec![], 4)
    };
    let sentence = "a_window_adds_rows_up_and_leaves_out_a_bad_micro_batch";
    cases.add(variant.clone(), sentence, move |s: &S, check| run.checked(s, check));
    // Rows of [3, 0] and [0, 2] + [0, 2]: a norm of 5.
    let fives = Stored::from_values(grad, &[3, 2], [0.0, 2.0, 3.0, 0.0, 0.0, 2.0]);
    let fives = LookUp { rows: 4, indices: vec![1, 3, 1], grad: fives };
    let clipped = Run { max_norm: Some(0.5), dtype: param, ..Run::one(fives, 0) };
    let sentence = "a_norm_is_that_of_the_sums";
    cases.add(variant.clone(), sentence, move |s: &S, check| clipped.checked(s, check));
}

/// Returns a look-up with one infinite element in a row.
fn infinite(dtype: DType) -> LookUp {
    let grad = Stored::from_values(dtype, &[1, 2], [1.0, f64::INFINITY]);
    LookUp { rows: 4, indices: vec![2], grad }
}

// The oracle.

/// Results that the oracle wants of a run.
struct Wanted {
    tables: Vec<(&'static str, Stored)>,
    grads: Vec<Option<Vec<f64>>>,
    found: FoundInf,
    /// Gradients of the last step, dense, before unscaling.
    input: Set,
}

/// Dense gradients of a step, scaled and unscaled, and the looked-up rows of each.
struct Step {
    input: Set,
    grads: Vec<Option<Vec<f64>>>,
    found: FoundInf,
    rows: Vec<BTreeSet<usize>>,
}

/// Returns the dense gradient, in the type of the look-up's gradient, and the looked-up rows.
fn whole(LookUp { rows, indices, grad }: &LookUp) -> (Stored, BTreeSet<usize>) {
    let (width, terms) = (grad.shape[1], values(grad));
    let mut sums: Vec<f64> = vec![0.0; rows * width];
    let mut touched = BTreeSet::new();
    for (row, terms) in indices.iter().zip(terms.chunks(width)) {
        let row = usize::try_from(*row).expect("cases of wrong indices compare nothing");
        touched.insert(row);
        for (sum, term) in sums[row * width..].iter_mut().zip(terms) {
            *sum = rounded(*sum + term, DType::F32);
        }
    }
    (Stored::from_values(grad.dtype, &[*rows, width], sums), touched)
}

impl Run {
    /// Returns a micro-batch as a step.
    fn batch(&self, batch: &Batch) -> Step {
        let whole = batch.iter().map(|(name, look_up)| (*name, whole(look_up)));
        let (input, rows) = whole.map(|(name, (grad, rows))| ((name, Some(grad)), rows)).unzip();
        let (grads, found) = unscale(&input, self.scale());
        Step { input, grads, found, rows }
    }

    /// Returns the sum of a window's good micro-batches.
    fn window(&self, batches: &[Batch]) -> Step {
        let good = batches.iter().map(|batch| self.batch(batch));
        let mut good = good.filter(|batch| !batch.found.is_raised());
        let mut sum = good.next().expect("one of a window is good");
        for batch in good {
            let grads = sum.grads.iter_mut().zip(&batch.grads);
            for (sum, term) in
                grads.flat_map(|(sum, grad)| sum.iter_mut().flatten().zip(grad.iter().flatten()))
            {
                *sum = rounded(*sum + term, DType::F32);
            }
            sum.rows.iter_mut().zip(batch.rows).for_each(|(rows, more)| rows.extend(more));
        }
        for ((_, input), grad) in sum.input.iter_mut().zip(&sum.grads) {
            let shape = input.as_ref().map(|input| input.shape.clone()).unwrap_or_default();
            *input =
                grad.as_ref().map(|grad| Stored::from_values(DType::F32, &shape, grad.clone()));
        }
        let (grads, found) = unscale(&sum.input, ScaleState::from_exponent(0));
        Step { grads, found, ..sum }
    }

    fn wanted(&self) -> Wanted {
        let mut tables = self.tables();
        let fresh = |p: f64| Element { master: narrow(p), ..Element::default() };
        let mut state: Vec<Vec<Element>> =
            tables.iter().map(|(_, table)| table.values().map(fresh).collect()).collect();
        let (mut applied, mut last) = (0, None);
        for batches in &self.steps {
            let mut turn = match &batches[..] {
                [batch] => self.batch(batch),
                window => self.window(window),
            };
            if let Some(max) = self.max_norm {
                turn.grads = clip_grads(&turn.grads, Clip::Norm(Norm::L2, max));
            }
            if !turn.found.is_raised() {
                for ((elements, grad), rows) in state.iter_mut().zip(&turn.grads).zip(&turn.rows) {
                    self.step((elements, applied), grad.as_deref().unwrap_or_default(), rows);
                }
                applied += 1;
            }
            last = Some(turn);
        }
        for ((_, table), elements) in tables.iter_mut().zip(state) {
            let masters = elements.iter().map(|element| f64::from(element.master));
            *table = Stored::from_values(self.dtype, &table.shape.clone(), masters);
        }
        let Step { input, grads, found, .. } = last.expect("a run has a step");
        Wanted { tables, grads, found, input }
    }

    /// Steps the elements of these rows, given the number of steps of the whole table so far.
    fn step(
        &self,
        (elements, applied): (&mut [Element], i32),
        grad: &[f64],
        rows: &BTreeSet<usize>,
    ) {
        let width = self.steps[0][0].first().map_or(1, |(_, look_up)| look_up.grad.shape[1]);
        let turns = elements.chunks_mut(width).zip(grad.chunks(width)).enumerate();
        for (_, (elements, grad)) in turns.filter(|(row, _)| rows.contains(row)) {
            for (element, g) in elements.iter_mut().zip(grad) {
                element.steps = applied;
                step(&self.rule, element, narrow(*g));
            }
        }
    }
}
