//! Subjects that go wrong over sparse gradients, in one way each: a right run of other look-ups, or with another result.

use super::caught::caught;
use super::faulty::Fault;
use super::toy::{Elements, Plain, Toy};
use crate::{
    Backend as _, Clip, LookupGrad, Result, SparseBatch, SparseResult, SparseRun, TrainStep,
};
use binade_core::{Named, Norm};
use std::collections::BTreeSet;

/// The fault of this name.
#[derive(Clone, Copy)]
pub(super) struct Wrong(&'static str);

impl Fault for Wrong {
    fn sparse(&self, run: SparseRun<Plain>) -> Result<SparseResult<Plain>> {
        let mut spoiled = run.clone();
        if self.0 == "forgets_later_micro_batches" {
            spoiled.steps.iter_mut().for_each(|step| step.truncate(1));
        }
        for batch in spoiled.steps.iter_mut().flatten() {
            for Named { value, .. } in &mut batch.lookups {
                match self.0 {
                    "adds_duplicates_in_their_own_type" => kept(value, true),
                    "keeps_the_first_duplicate" => kept(value, false),
                    "adds_backwards" => reverse(value),
                    "takes_any_index" => {
                        let rows = i64::try_from(value.rows).unwrap_or(i64::MAX);
                        let indices = at(value).into_iter().map(|index| index.rem_euclid(rows));
                        value.indices = put(&indices.collect::<Vec<_>>());
                    }
                    _ => {}
                }
            }
        }
        let mut result = Toy.sparse(spoiled)?;
        let last = run.steps.last().and_then(|step| step.last()).expect("a step");
        match (self.0, &mut result.found.overflow) {
            ("checks_before_duplicates_are_added", found) => {
                let raw = last.lookups.iter().map(|look_up| {
                    let Named { name, value } = look_up.clone();
                    Named { name, value: Some(value.grad) }
                });
                *found = Toy.unscale(raw.collect(), last.scale)?.found.overflow;
            }
            ("tells_a_place_among_the_rows", Some(overflow)) => {
                let rows: BTreeSet<_> = at(&last.lookups[0].value).into_iter().collect();
                let row = i64::try_from(overflow.index).unwrap_or(0);
                overflow.index = rows.range(..row).count() as u64;
            }
            ("steps_every_row", _) if run.steps.iter().all(|step| step.len() == 1) => {
                result.params = whole_steps(&run)?;
            }
            _ => {}
        }
        Ok(result)
    }
}

fn at(look_up: &LookupGrad<Plain>) -> Vec<i64> {
    look_up.indices.as_slice().unwrap_or_default().to_vec()
}

fn put(indices: &[i64]) -> Plain {
    Plain::new(indices.to_vec(), &[indices.len()]).expect("as many as there are")
}

/// Keeps one gradient of each row: the sum, each partial one rounded to its type, or the first.
fn kept(look_up: &mut LookupGrad<Plain>, adds: bool) {
    let (dtype, width) = (look_up.grad.dtype(), look_up.grad.shape()[1]);
    let mut rows: Vec<(i64, Vec<f32>)> = Vec::new();
    for (index, row) in at(look_up).into_iter().zip(look_up.grad.read().chunks(width)) {
        match rows.iter_mut().find(|(other, _)| *other == index) {
            None => rows.push((index, row.to_vec())),
            Some((_, sums)) if adds => {
                for (sum, x) in sums.iter_mut().zip(row) {
                    *sum = Plain::write(&[*sum + x], dtype, &[1]).read()[0];
                }
            }
            Some(_) => {}
        }
    }
    let (indices, rows): (Vec<i64>, Vec<Vec<f32>>) = rows.into_iter().unzip();
    look_up.grad = Plain::write(&rows.concat(), dtype, &[rows.len(), width]);
    look_up.indices = put(&indices);
}

/// Lists indices and their gradients from the last to the first.
fn reverse(look_up: &mut LookupGrad<Plain>) {
    let (dtype, shape) = (look_up.grad.dtype(), look_up.grad.shape().to_vec());
    let rows: Vec<f32> = look_up.grad.read().chunks(shape[1]).rev().flatten().copied().collect();
    look_up.grad = Plain::write(&rows, dtype, &shape);
    look_up.indices = put(&at(look_up).into_iter().rev().collect::<Vec<_>>());
}

/// Steps by whole gradients, of steps of one micro-batch.
fn whole_steps(run: &SparseRun<Plain>) -> Result<Vec<Named<Plain>>> {
    let step = |batches: &Vec<SparseBatch<Plain>>| {
        let SparseBatch { lookups, scale } = batches[0].clone();
        let whole = |Named { name, value }: Named<LookupGrad<Plain>>| {
            let (grad, width) = (value.grad.read(), value.grad.shape()[1]);
            let mut all = vec![0.0; value.rows * width];
            for (index, row) in at(&value).into_iter().zip(grad.chunks(width)) {
                let place = usize::try_from(index).unwrap_or(0) * width;
                all[place..].iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
            }
            let shape = [value.rows, width];
            Named { name, value: Some(Plain::write(&all, value.grad.dtype(), &shape)) }
        };
        let grads = lookups.into_iter().map(whole).collect();
        let clip = run.max_norm.map(|max| Clip::Norm(Norm::L2, max));
        TrainStep { rule: run.rule, grads, scale, clip, beside: None }
    };
    Toy.train(run.params.clone(), run.steps.iter().map(step).collect())
}

caught! {
    fn adds_duplicates_in_their_own_type() by
        "sparse/f16/gradients_of_one_row_are_added_in_f32_and_rounded_once" "sparse/bf16/33_rows_of_7x9";
    fn keeps_the_first_duplicate() by "sparse/f32/gradients_of_one_row_are_added_in_f32_and_rounded_once";
    fn adds_backwards() by "sparse/f32/gradients_are_added_in_the_order_of_the_indices";
    fn forgets_later_micro_batches() by_only "sparse/f32<-f32/a_window_adds_rows_up_and_leaves_out_a_bad_micro_batch";
    fn takes_any_index() by "sparse/f16/an_index_behind_the_last_is_an_invalid_argument";
    fn checks_before_duplicates_are_added() by
        "sparse/f16/an_overflow_made_by_adding_up_is_found_at_its_element_of_the_table";
    fn tells_a_place_among_the_rows() by "sparse/f32/an_infinity_or_a_nan_among_duplicates_is_not_lost";
    fn steps_every_row() by "sparse/f32<-f16/sparse_adam_steps_the_rows_that_were_looked_up";
}
