//! Devices that forward every operation, such as a wrapper that counts calls.

use crate::OpInvocation;
use binade_core::Handle;

/// Device that carries out calls of operations by other devices.
///
/// [`forward_ops!`](crate::forward_ops) makes every operation's trait of this one method.
///
/// # For implementers
///
/// * `invoke` returns the results of the call in the order of their struct's fields, as many as its method has.
///
/// # Examples
///
/// This device counts the operations of another:
///
/// ```
/// use binade_core::Handle;
/// use binade_ops::{Invoke, OpInvocation, Ops};
/// use std::cell::Cell;
///
/// struct Counting<D> {
///     device: D,
///     calls: Cell<u64>,
/// }
///
/// impl<D: Handle> Handle for Counting<D> {
///     type Tensor = D::Tensor;
///     type Error = D::Error;
/// }
///
/// impl<D: Ops + Handle<Tensor: Clone>> Invoke for Counting<D> {
///     fn invoke(
///         &self,
///         call: &OpInvocation,
///         operands: &[&D::Tensor],
///     ) -> Result<Vec<D::Tensor>, D::Error> {
///         self.calls.set(self.calls.get() + 1);
///         call.run(&self.device, operands).expect("the method's own operands")
///     }
/// }
///
/// binade_ops::forward_ops!([D: Ops + Handle<Tensor: Clone>] Counting<D>);
/// ```
pub trait Invoke: Handle {
    /// Carries out `call`, and returns its results as [`OpInvocation::run`] does.
    ///
    /// # Errors
    ///
    /// The device's.
    fn invoke(
        &self,
        call: &OpInvocation,
        operands: &[&Self::Tensor],
    ) -> Result<Vec<Self::Tensor>, Self::Error>;
}

/// Implements every operation's trait for a device that is [`Invoke`].
///
/// Generic parameters stand in brackets before the type.
///
/// A method panics if [`Invoke::invoke`] returns another number of results than the operation has.
#[macro_export]
macro_rules! forward_ops {
    ([$($generics:tt)*] $device:ty) => {
        $crate::for_each_op!([$crate::__forward] [$($generics)*] $device);
    };
}

/// Rows of [`forward_ops!`](crate::forward_ops), with the code for an operand, a value and a kind of results.
#[doc(hidden)]
#[macro_export]
macro_rules! __forward {
    ({ $generics:tt $device:ty } $($trait:ident $file:ident { $($methods:tt)+ })*) => {
        $($crate::__forward! { @trait $generics ($device) $trait $($methods)+ })*
    };
    (@trait [$($generics:tt)*] ($device:ty) $trait:ident $(
        $variant:ident $method:ident(
            $($operand:tt),*
        ) $({ $($value:ident: $type:tt),+ })? -> $results:ident;
    )+) => {
        impl<$($generics)*> $crate::$trait for $device {$(
            fn $method(
                &self
                $(, $crate::__forward!(@name $operand): $crate::__forward!(@operand $operand))*
                $($(, $value: $crate::__forward!(@value $type))+)?
            ) -> ::core::result::Result<$crate::__forward!(@results $results), Self::Error> {
                let call = $crate::OpInvocation::$variant $({ $($value: $value.to_owned()),+ })?;
                let operands = ::core::iter::empty::<&Self::Tensor>();
                let operands: Vec<_> = operands$(.chain($crate::__forward!(@list $operand)))*.collect();
                let results = $crate::Invoke::invoke(self, &call, &operands)?;
                Ok($crate::__forward!(@take $results, $crate::__private::exactly(&call, results)))
            }
        )+}
    };
    (@name ($running:ident)) => { $running };
    (@name [$optional:ident]) => { $optional };
    (@name $operand:ident) => { $operand };
    (@operand ($running:ident)) => { &$crate::RunningStats<Self::Tensor> };
    (@operand [$optional:ident]) => { Option<&Self::Tensor> };
    (@operand $operand:ident) => { &Self::Tensor };
    (@list ($running:ident)) => { [&$running.mean, &$running.var] };
    (@list [$optional:ident]) => { $optional };
    (@list $operand:ident) => { [$operand] };
    (@value [usize]) => { &[usize] };
    (@value f32) => { f32 };
    (@value bool) => { bool };
    (@value usize) => { usize };
    (@value $type:ident) => { $crate::__private::$type };
    (@results Tensor) => { Self::Tensor };
    (@results Pair) => { [Self::Tensor; 2] };
    (@results $results:ident) => { $crate::$results<Self::Tensor> };
    (@take Tensor, $all:expr) => {{ let [tensor] = $all; tensor }};
    (@take $results:ident, $all:expr) => { $all };
}
