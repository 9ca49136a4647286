//! Subjects that are wrong in one way each where sets of tensors are scaled, added, measured, cast and assigned.

use super::caught::caught;
use super::faulty::Fault;
use super::toy::{Elements, Plain, Toy};
use crate::{Backend as _, Result, SetCall, SetResult};
use binade_core::{DType, FoundInf, Named, Norm};

/// The fault of this name.
#[derive(Clone, Copy)]
pub(super) struct Wrong(&'static str);

type Set = [Named<Plain>];

impl Fault for Wrong {
    fn multi_tensor(&self, call: &SetCall, x: &Set, y: &Set) -> Result<SetResult<Plain>> {
        let by_fault = match (self.0, call) {
            ("assigns_whatever_was_found", SetCall::Assign { .. }) => {
                return Toy.multi_tensor(&SetCall::Assign { is_raised: false }, x, y);
            }
            ("casts_all_to_the_first_type", SetCall::Cast(to)) if to.len() > 1 => {
                let alike = vec![to[0]; to.len()];
                return Toy.multi_tensor(&SetCall::Cast(alike), x, y);
            }
            ("pairs_tensors_by_place", SetCall::Axpby(..) | SetCall::Assign { .. })
                if x.len() == y.len() && alike(x, y) =>
            {
                let pair = |(x, y): (&Named<Plain>, &Named<Plain>)| {
                    Named::new(x.name.clone(), y.value.clone())
                };
                let renamed: Vec<_> = x.iter().zip(y).map(pair).collect();
                return Toy.multi_tensor(call, x, &renamed);
            }
            (name, _) => name,
        };
        let mut result = Toy.multi_tensor(call, x, y)?;
        match (by_fault, call) {
            ("fuses_products_and_sums", SetCall::Axpby(a, b)) => {
                for ((sum, x), y) in result.tensors.iter_mut().zip(x).zip(y) {
                    let terms = x.value.read().into_iter().zip(y.value.read());
                    let sums: Vec<f32> = terms.map(|(x, y)| a.mul_add(x, b * y)).collect();
                    sum.value = Plain::write(&sums, DType::F32, sum.value.shape());
                }
            }
            ("flushes_products", SetCall::Scale(_)) => {
                let flushed = |x: f32| if x.is_subnormal() { 0.0 } else { x };
                each(&mut result.tensors, flushed);
            }
            ("looks_at_operands", SetCall::Scale(_) | SetCall::Axpby(..)) => {
                let mut found = FoundInf::default();
                for tensor in x.iter().chain(y) {
                    for (value, index) in tensor.value.read().into_iter().zip(0..) {
                        found.check(&tensor.name, index, value, value);
                    }
                }
                if !found.is_raised() {
                    result.found = result.found.map(|told| FoundInf { overflow: None, ..told });
                }
            }
            ("casts_the_first_of_many", SetCall::Cast(_)) => {
                for Named { value, .. } in result.tensors.iter_mut().skip(1) {
                    *value = Plain::write(&vec![0.0; value.len()], value.dtype(), value.shape());
                }
            }
            ("counts_the_first_alone", _) => {
                if let Some(found) = result.found.as_mut().filter(|found| found.nans > 0) {
                    (found.nans, found.infinities) = (0, 1);
                }
            }
            ("gives_each_the_norm_of_all", SetCall::Norms(_)) => {
                let all = result.tensors[0].value.clone();
                result.tensors.iter_mut().for_each(|norm| norm.value = all.clone());
            }
            ("lets_a_nan_pass_the_largest", SetCall::Norms(Norm::Infinity)) => {
                for (norm, tensor) in result.tensors.iter_mut().skip(1).zip(x) {
                    let largest =
                        tensor.value.read().into_iter().fold(0.0, |a: f32, x| a.max(x.abs()));
                    norm.value = Plain::write(&[largest], DType::F32, &[]);
                }
            }
            _ => {}
        }
        Ok(result)
    }
}

fn alike(x: &Set, y: &Set) -> bool {
    x.iter().zip(y).all(|(x, y)| x.value.shape() == y.value.shape())
}

fn each(tensors: &mut [Named<Plain>], f: impl Fn(f32) -> f32) {
    for tensor in tensors {
        let values: Vec<f32> = tensor.value.read().into_iter().map(&f).collect();
        tensor.value = Plain::write(&values, DType::F32, tensor.value.shape());
    }
}

caught! {
    fn fuses_products_and_sums() by "multi_tensor/f32/products_and_their_sum_are_rounded_each";
    fn flushes_products() by_only "multi_tensor/f32/subnormal_results_keep_their_bits";
    fn looks_at_operands() by "multi_tensor/f32/results_beyond_f32_are_found_though_operands_are_finite";
    fn counts_the_first_alone() by "multi_tensor/f16/the_first_that_is_not_finite_is_named_and_all_are_counted" "multi_tensor/bf16/either_operand_is_looked_at";
    fn gives_each_the_norm_of_all() by "multi_tensor/f32/norms_are_of_all_and_of_each";
    fn lets_a_nan_pass_the_largest() by_only "multi_tensor/f16/a_nan_shows_in_its_own_norm_and_in_that_of_all";
    fn casts_the_first_of_many() by "multi_tensor/f32/many_are_cast_each_by_itself";
    fn casts_all_to_the_first_type() by_only "multi_tensor/f32/each_is_cast_to_a_type_of_its_own";
    fn assigns_whatever_was_found() by_only "multi_tensor/bf16/nothing_is_assigned_where_the_finding_is_raised";
    fn pairs_tensors_by_place() by_only "multi_tensor/f32/two_sets_that_differ_are_a_mismatch";
}
