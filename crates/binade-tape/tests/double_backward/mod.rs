//! Gradients of gradients: against central differences, operation by operation, and those that are refused.

mod record;
mod rows;

use crate::common::{f32s, plain, tensor, values};
use approx::relative_eq;
use binade_core::DType;
use binade_cpu::{Cpu, Tensor};
use binade_tape::{TapeError, Var};
use rows::{Row, rows};
use std::collections::BTreeSet;

/// Returns variables of `inputs`, and a scalar that no operation makes linear: the weighted sum of squares of the row's result.
fn squared(row: &Row, inputs: &[Tensor]) -> (Vec<Var<Cpu>>, Var<Cpu>) {
    let tape = plain();
    let vars: Vec<_> = inputs.iter().map(|input| tape.variable(input.clone())).collect();
    let output = (row.run)(&vars).unwrap();
    let weights = tape.constant(tensor(&output.shape(), 91).cast(output.dtype()).unwrap());
    let squares = output.mul(&output).unwrap().mul(&weights).unwrap();
    (vars, squares.sum().unwrap())
}

fn grads(loss: &Var<Cpu>, vars: &[Var<Cpu>]) -> Vec<Var<Cpu>> {
    let grads = loss.grad(&vars.iter().collect::<Vec<_>>()).unwrap();
    grads.into_iter().map(|grad| grad.expect("a path")).collect()
}

/// Returns the sum of gradients, each element with a weight of its own.
fn weighted(grads: &[Var<Cpu>]) -> Var<Cpu> {
    let part = |(grad, seed): (&Var<Cpu>, u32)| {
        let weights = grad.tape().constant(tensor(&grad.shape(), seed));
        grad.mul(&weights).unwrap().sum().unwrap()
    };
    grads.iter().zip(200..).map(part).reduce(|sum, part| sum.add(&part).unwrap()).unwrap()
}

/// Compares the gradients of a scalar made of `vars` with central differences of what `of` computes of moved inputs.
fn check(name: &str, scalar: &Var<Cpu>, vars: &[Var<Cpu>], of: impl Fn(&[Tensor]) -> f64) {
    let inputs: Vec<_> = vars.iter().map(|var| var.tensor().clone()).collect();
    for (which, var) in vars.iter().enumerate() {
        let found = scalar.gradient(var).unwrap();
        let found = found.map_or_else(|| vec![0.0; inputs[which].to_f32().len()], |it| f32s(&it));
        for (index, found) in found.into_iter().enumerate() {
            let moved = |by: f32| {
                let mut inputs = inputs.clone();
                inputs[which].as_mut_slice::<f32>().unwrap()[index] += by;
                of(&inputs)
            };
            let step = 2.0_f32.powi(-8);
            let expected = (moved(step) - moved(-step)) / (2.0 * f64::from(step));
            let close =
                relative_eq!(f64::from(found), expected, epsilon = 3e-3, max_relative = 3e-3);
            assert!(close, "{name}: input {which}[{index}]: {found}, {expected} by differences");
        }
    }
}

/// Returns the weighted sum of the plain gradients, added up in `f64`.
fn sum_of_plain_gradients(row: &Row, inputs: &[Tensor]) -> f64 {
    let (vars, loss) = squared(row, inputs);
    let sum = |(var, seed): (&Var<Cpu>, u32)| {
        let grad = f32s(&loss.gradient(var).unwrap().expect("a path"));
        let weights = values(grad.len(), seed);
        grad.iter().zip(weights).map(|(g, w)| f64::from(*g) * f64::from(w)).sum::<f64>()
    };
    vars.iter().zip(200..).map(sum).sum()
}

#[test]
fn gradients_of_gradients_are_what_differences_say() {
    for row in rows() {
        let (vars, loss) = squared(&row, &row.inputs);
        let scalar = weighted(&grads(&loss, &vars));
        check(row.name, &scalar, &vars, |inputs| sum_of_plain_gradients(&row, inputs));
    }
}

#[test]
fn third_derivatives_are_what_differences_of_the_second_say() {
    for row in rows() {
        let second = |inputs: &[Tensor]| {
            let (vars, loss) = squared(&row, inputs);
            let scalar = weighted(&grads(&loss, &vars));
            let second = scalar.grad(&vars.iter().collect::<Vec<_>>()).unwrap();
            (weighted(&second.into_iter().flatten().collect::<Vec<_>>()), vars)
        };
        let (scalar, vars) = second(&row.inputs);
        // A polynomial of the second degree has no third derivative.
        if !matches!(scalar.gradient(&vars[0]), Err(TapeError::Detached)) {
            check(row.name, &scalar, &vars, |inputs| f64::from(f32s(second(inputs).0.tensor())[0]));
        }
    }
}

#[test]
fn recorded_gradients_have_the_bits_of_plain_ones_at_every_type() {
    let types = [DType::BF16, DType::F16, DType::F32];
    for (row, dtype) in rows().iter().flat_map(|row| types.map(|dtype| (row, dtype))) {
        let inputs: Vec<_> = row.inputs.iter().map(|input| input.cast(dtype).unwrap()).collect();
        let (vars, loss) = squared(row, &inputs);
        for (grad, var) in grads(&loss, &vars).iter().zip(&vars) {
            let plain = loss.gradient(var).unwrap().unwrap();
            assert_eq!(grad.dtype(), plain.dtype(), "{} {dtype}", row.name);
            assert!(grad.tensor().to_bits() == plain.to_bits(), "{} {dtype}", row.name);
        }
    }
}

/// Returns the gradients of the weighted gradients, computed in `dtype` from inputs that it holds, in `f32`.
fn second_gradients(row: &Row, dtype: DType) -> Vec<f32> {
    let rounded = |input: &Tensor| input.cast(DType::F16).unwrap().cast(dtype).unwrap();
    let inputs: Vec<_> = row.inputs.iter().map(rounded).collect();
    let (vars, loss) = squared(row, &inputs);
    let wide: Vec<_> = grads(&loss, &vars).iter().map(|it| it.cast(DType::F32).unwrap()).collect();
    let scalar = weighted(&wide);
    vars.iter().filter_map(|var| scalar.gradient(var).unwrap()).flat_map(|it| f32s(&it)).collect()
}

#[test]
fn gradients_of_16_bit_gradients_are_near_those_of_f32() {
    for row in rows() {
        let (got, want) = (second_gradients(&row, DType::F16), second_gradients(&row, DType::F32));
        assert!(!got.is_empty() && got.len() == want.len(), "{}", row.name);
        let largest = want.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
        for (got, want) in got.iter().zip(&want) {
            assert!((got - want).abs() <= 0.01 * largest, "{}: {got}, {want}", row.name);
        }
    }
}

#[test]
fn recorded_gradients_of_gradients_are_the_plain_ones() {
    for row in rows() {
        let (vars, loss) = squared(&row, &row.inputs);
        let scalar = weighted(&grads(&loss, &vars));
        for (grad, var) in scalar.grad(&vars.iter().collect::<Vec<_>>()).unwrap().iter().zip(&vars)
        {
            let plain = scalar.gradient(var).unwrap().map(|it| f32s(&it)).unwrap_or_default();
            let found = grad.as_ref().map(|it| f32s(it.tensor())).unwrap_or_default();
            assert_eq!(found.len(), plain.len(), "{}", row.name);
            for (found, plain) in found.into_iter().zip(plain) {
                let close = relative_eq!(found, plain, epsilon = 1e-4, max_relative = 1e-4);
                assert!(close, "{}: {found}, {plain}", row.name);
            }
        }
    }
}

/// Names of all operations of the table.
macro_rules! names {
    ({} $($trait:ident $file:ident $methods:tt)*) => { [$(stringify!($file)),*] };
}

#[test]
fn each_operation_of_the_table_goes_back_twice_or_is_known_to_be_refused() {
    // `fill` has no operand; the tests `…_is_refused_by_name` have the others.
    let without = ["fill", "group_norm", "scaled_dot_product_attention"];
    let rows: BTreeSet<_> = rows().iter().map(|row| row.name).chain(without).collect();
    let table: BTreeSet<_> = binade_core::ops::for_each_op!([names]).into_iter().collect();
    let missing: Vec<_> = table.difference(&rows).collect();
    assert!(missing.is_empty(), "{missing:?}: add a row, or the name to those that are refused");
}
