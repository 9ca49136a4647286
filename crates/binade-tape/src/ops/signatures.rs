//! Operations that a tape can derive from their signature in the table: operands, result, and arguments of backward.

use super::{Failed, Outcome, Saves, all};
use crate::{Device, Var};
use binade_core::{DType, Handle, Op, ops::OpInvocation};

/// Tensor that the backward pass of a unary operation needs.
#[derive(Clone, Copy)]
pub(super) enum Saved {
    Input,
    Output,
}

type Tensor<D> = <D as Handle>::Tensor;
type Computed<D, T = Tensor<D>> = Result<T, <D as Handle>::Error>;
type OfOne<D> = fn(&D, &Tensor<D>) -> Computed<D>;
type OfTwo<D> = fn(&D, &Tensor<D>, &Tensor<D>) -> Computed<D>;
type PairOfOne<D> = fn(&D, &Tensor<D>) -> Computed<D, [Tensor<D>; 2]>;
type PairOfThree<D> = fn(&D, &Tensor<D>, &Tensor<D>, &Tensor<D>) -> Computed<D, [Tensor<D>; 2]>;
type Spread<D> = fn(&D, &Tensor<D>, &[usize], DType) -> Computed<D>;

impl<D: Device> Var<D> {
    /// Returns the result of an operation on `self` whose backward pass takes the input or the output.
    pub(super) fn unary(
        &self,
        op: Op,
        backward_takes: Saved,
        forward: OfOne<D>,
        backward: OfTwo<D>,
        call: OpInvocation,
    ) -> Outcome<D> {
        let [x] = self.operands(op, [self])?;
        let output = forward(self.tape().device(), &x.tensor)?;
        let inputs = [&x];
        let (kept, saves) = match backward_takes {
            Saved::Input => (x.tensor.clone(), Saves::Inputs(&inputs)),
            Saved::Output => (output.clone(), Saves::Output),
        };
        let rule = move |device: &D, grad: &D::Tensor| Ok(all([backward(device, grad, &kept)?]));
        Ok(self.push_call(op, &inputs, &saves, output, rule, call))
    }

    /// Returns the result of an operation on `self` and `other` whose backward pass takes both.
    pub(super) fn product(
        &self,
        op: Op,
        other: &Self,
        forward: OfTwo<D>,
        backward: PairOfThree<D>,
        call: OpInvocation,
    ) -> Outcome<D> {
        let [a, b] = self.operands(op, [self, other])?;
        let output = forward(self.tape().device(), &a.tensor, &b.tensor)?;
        let (left, right) = (a.tensor.clone(), b.tensor.clone());
        let rule =
            move |device: &D, grad: &D::Tensor| Ok(all(backward(device, grad, &left, &right)?));
        let inputs = [&a, &b];
        Ok(self.push_call(op, &inputs, &Saves::Inputs(&inputs), output, rule, call))
    }

    /// Returns the result of an operation on `self` and `other` whose backward pass takes the gradient alone.
    pub(super) fn sum_of_two(
        &self,
        op: Op,
        other: &Self,
        forward: OfTwo<D>,
        backward: PairOfOne<D>,
        call: OpInvocation,
    ) -> Outcome<D> {
        let [a, b] = self.operands(op, [self, other])?;
        let output = forward(self.tape().device(), &a.tensor, &b.tensor)?;
        let rule = move |device: &D, grad: &D::Tensor| Ok(all(backward(device, grad)?));
        Ok(self.push_call(op, &[&a, &b], &Saves::Nothing, output, rule, call))
    }

    /// Returns the `f32` scalar of an operation on all elements whose backward pass takes their shape and type.
    pub(super) fn total(
        &self,
        op: Op,
        forward: OfOne<D>,
        backward: Spread<D>,
        call: fn(Vec<usize>, DType) -> OpInvocation,
    ) -> Outcome<D> {
        let operands = self.operands_of_f32(op, &[self])?;
        let x = &operands[0];
        let output = forward(self.tape().device(), &x.tensor)?;
        let (shape, dtype) = (self.shape(), x.dtype());
        let call = call(shape.clone(), dtype);
        let rule = move |device: &D, grad: &D::Tensor| -> Result<_, Failed<D>> {
            Ok(all([backward(device, grad, &shape, dtype)?]))
        };
        Ok(self.push_call(op, &[x], &Saves::Nothing, output, rule, call))
    }
}

/// Method of one operation on a variable, or the operation's module for any other signature.
macro_rules! by_signature {
    ($trait:ident $name:ident {
        $f:ident $forward:ident(input) -> Tensor;
        $b:ident $backward:ident(grad, $saved:ident) -> Tensor;
    }) => {
        by_signature!(@method $trait $name() unary [by_signature!(@saved $saved)] $forward $backward [$b]);
    };
    ($trait:ident $name:ident {
        $f:ident $forward:ident(a, b) -> Tensor;
        $b:ident $backward:ident(grad, a, b) -> Pair;
    }) => {
        by_signature!(@method $trait $name(other) product [other] $forward $backward [$b]);
    };
    ($trait:ident $name:ident {
        $f:ident $forward:ident($a:ident, $other:ident) -> Tensor;
        $b:ident $backward:ident(grad) -> Pair;
    }) => {
        by_signature!(@method $trait $name($other) sum_of_two [$other] $forward $backward [$b]);
    };
    ($trait:ident $name:ident {
        $f:ident $forward:ident(input) -> Tensor;
        $b:ident $backward:ident(grad) { shape: [usize], dtype: DType } -> Tensor;
    }) => {
        by_signature!(@method $trait $name() total [] $forward $backward
            [|shape, dtype| binade_core::ops::OpInvocation::$b { shape, dtype }]);
    };
    ($trait:ident $name:ident $methods:tt) => { mod $name; };
    (@call $variant:ident) => { binade_core::ops::OpInvocation::$variant };
    (@call $($make:tt)+) => { $($make)+ };
    (@saved input) => { signatures::Saved::Input };
    (@saved output) => { signatures::Saved::Output };
    (@method $trait:ident $name:ident($($other:ident)?) $signature:ident [$($argument:expr)?]
        $forward:ident $backward:ident [$($call:tt)+]) => {
        impl<D: Device + binade_core::ops::$trait> Var<D> {
            #[doc = concat!("Returns [`", stringify!($trait), "`](binade_core::ops::", stringify!($trait), ") of `self`",
                $(" and `", stringify!($other), "`",)? ".")]
            ///
            /// # Errors
            ///
            /// If the region's policy refuses, an operand does not fit, or the device fails.
            pub fn $name(&self $(, $other: &Self)?) -> Outcome<D> {
                const OP: Op = Op::named(stringify!($name)).expect("every row has an `Op`");
                self.$signature(
                    OP,
                    $($argument,)?
                    <D as binade_core::ops::$trait>::$forward,
                    <D as binade_core::ops::$trait>::$backward,
                    by_signature!(@call $($call)+),
                )
            }
        }
    };
}
