//! An exponential that overflows, in each operation on one operand.

use super::faulty::{Fault, Faulty};
use super::toy::{Plain, Tensors, Toy};
use super::toy_ops::zip;
use crate::{Backend as _, OpInvocation, Result, Runner};

/// Gives NaN wherever an exponential of the operand is infinite in `f32`, as a quotient of two such exponentials does.
struct Overflows;

impl Fault for Overflows {
    fn compute(&self, op: &OpInvocation, operands: &[&Plain]) -> Result<Tensors> {
        let mut right = Toy.compute(op, operands)?;
        if let ([x], [y]) = (operands, &mut right[..])
            && x.shape() == y.shape()
        {
            let overflows = |x: f32| x.is_finite() && x.abs().exp().is_infinite();
            *y = zip(y, x, |y, x| if overflows(x) { f32::NAN } else { y });
        }
        Ok(right)
    }
}

/// Returns the names of the operations on one operand, whose two methods look alike in the table.
macro_rules! unary {
    ({} $($trait:ident $name:ident $methods:tt)*) => { [$(unary!(@row $name $methods)),*] };
    (@row $name:ident {
        $f:ident $forward:ident(input) -> Tensor;
        $b:ident $backward:ident(grad, $saved:ident) -> Tensor;
    }) => { Some(stringify!($name)) };
    (@row $name:ident $methods:tt) => { None };
}

#[test]
fn an_exponential_that_overflows_is_caught_in_every_operation_on_one_operand() {
    let names: [Option<&str>; _] = crate::ops::for_each_op!([unary]);
    assert!(names.contains(&Some("gelu")));
    for name in names.into_iter().flatten() {
        let report = Runner::new().only(format!("{name}/")).run_on(&Faulty(&Overflows));
        assert!(!report.failed().is_empty(), "{name} let it pass");
        assert!(report.passed() > 0, "{name}: one fault, and nothing at all passed");
    }
}
