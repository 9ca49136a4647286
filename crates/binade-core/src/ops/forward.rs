//! Devices that forward every operation, such as a wrapper that records calls.

use crate::Handle;
use crate::ops::OpInvocation;

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
/// This device records the operations of another:
///
/// ```
/// use binade_core::Handle;
/// use binade_core::ops::{Invoke, OpInvocation, Ops};
/// use std::cell::RefCell;
///
/// struct Recording<D> {
///     device: D,
///     calls: RefCell<Vec<OpInvocation>>,
/// }
///
/// impl<D: Handle> Handle for Recording<D> {
///     type Tensor = D::Tensor;
///     type Error = D::Error;
/// }
///
/// impl<D: Ops + Handle<Tensor: Clone>> Invoke for Recording<D> {
///     fn invoke(
///         &self,
///         call: &OpInvocation,
///         operands: &[&D::Tensor],
///     ) -> Result<Vec<D::Tensor>, D::Error> {
///         self.calls.borrow_mut().push(call.clone());
///         call.run(&self.device, operands).expect("the method's own operands")
///     }
/// }
///
/// binade_core::ops::forward_ops!([D: Ops + Handle<Tensor: Clone>] Recording<D>);
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

/// Implements the operations' traits for a device that passes each call on to another device.
///
/// Generic parameters stand in brackets before the type. There are three forms:
///
/// * `forward_ops!([D] Wrapper<D>)` is for a device that is [`Invoke`], and implements every operation. A method panics if
///   [`Invoke::invoke`] returns another number of results than the operation has.
/// * `forward_ops!([D] Wrapper<D> => D, forward)` is for a wrapper of one device, and implements the operations that the device
///   has. The wrapper's method `forward` takes the operation's name and its call.
/// * `forward_ops!([] Device => forward)` is for a device without parameters, whose method `forward` passes such a call to another
///   device that has every operation.
///
/// # Examples
///
/// This wrapper prints the name of each call:
///
/// ```
/// use binade_core::Handle;
///
/// struct Printing<D>(D);
///
/// impl<D: Handle> Handle for Printing<D> {
///     type Tensor = D::Tensor;
///     type Error = D::Error;
/// }
///
/// impl<D: Handle> Printing<D> {
///     fn print<T>(
///         &self,
///         method: &'static str,
///         call: impl FnOnce(&D) -> Result<T, D::Error>,
///     ) -> Result<T, D::Error> {
///         println!("{method}");
///         call(&self.0)
///     }
/// }
///
/// binade_core::ops::forward_ops!([D] Printing<D> => D, print);
/// ```
#[macro_export]
macro_rules! forward_ops {
    ([$($generics:tt)*] $device:ty $(=> $inner:ident, $forward:ident)?) => {
        $crate::for_each_op!([$crate::__forward] [$($generics)*] ($device) [$($forward for $inner)?]);
    };
    ([] $device:ty => $forward:ident) => {
        $crate::for_each_op!([$crate::__forward] [] ($device) [$forward]);
    };
}

/// Rows of [`forward_ops!`](crate::forward_ops), with the code for a call, an operand, a value and a kind of results.
#[doc(hidden)]
#[macro_export]
macro_rules! __forward {
    ({ $generics:tt $device:tt $by:tt } $($trait:ident $file:ident { $($methods:tt)+ })*) => {
        $($crate::__forward! { @trait $generics $device $by $by $trait $($methods)+ })*
    };
    (@trait [$($generics:tt)*] ($device:ty) [$($forward:ident $(for $inner:ident)?)?] $by:tt $trait:ident $(
        $variant:ident $method:ident(
            $($operand:tt),*
        ) $({ $($value:ident: $type:tt),+ })? -> $results:ident;
    )+) => {
        impl<$($generics)*> $crate::ops::$trait for $device where $($($inner: $crate::ops::$trait)?)? {$(
            fn $method(
                &self
                $(, $crate::__forward!(@name $operand): $crate::__forward!(@operand $operand))*
                $($(, $value: $crate::__forward!(@value $type))+)?
            ) -> ::core::result::Result<$crate::__forward!(@results $results), Self::Error> {
                $crate::__forward!(@call $by self $trait $variant $method ($($operand),*) ($($($value),+)?) $results)
            }
        )+}
    };
    (@call [] $self:tt $trait:ident $variant:ident $method:ident ($($operand:tt),*) ($($value:ident),*) $results:ident) => {{
        let call = $crate::ops::OpInvocation::$variant { $($value: $value.to_owned()),* };
        let operands = ::core::iter::empty::<&Self::Tensor>();
        let operands: Vec<_> = operands$(.chain($crate::__forward!(@list $operand)))*.collect();
        let results = $crate::ops::Invoke::invoke($self, &call, &operands)?;
        Ok($crate::__forward!(@take $results, $crate::ops::__private::exactly(&call, results)))
    }};
    (@call [$forward:ident $(for $inner:ident)?] $self:tt $trait:ident $variant:ident $method:ident ($($operand:tt),*) ($($value:ident),*) $results:ident) => {
        $self.$forward(::core::stringify!($method), |device| {
            $crate::ops::$trait::$method(device $(, $crate::__forward!(@name $operand))* $(, $value)*)
        })
    };
    (@name ($running:ident)) => { $running };
    (@name [$optional:ident]) => { $optional };
    (@name {$several:ident}) => { $several };
    (@name $operand:ident) => { $operand };
    (@operand ($running:ident)) => { &$crate::ops::RunningStats<Self::Tensor> };
    (@operand [$optional:ident]) => { Option<&Self::Tensor> };
    (@operand {$several:ident}) => { &[&Self::Tensor] };
    (@operand $operand:ident) => { &Self::Tensor };
    (@list ($running:ident)) => { [&$running.mean, &$running.var] };
    (@list [$optional:ident]) => { $optional };
    (@list {$several:ident}) => { $several.iter().copied() };
    (@list $operand:ident) => { [$operand] };
    (@value [usize]) => { &[usize] };
    (@value [usize; 2]) => { [usize; 2] };
    (@value f32) => { f32 };
    (@value bool) => { bool };
    (@value usize) => { usize };
    (@value $type:ident) => { $crate::ops::__private::$type };
    (@results Tensor) => { Self::Tensor };
    (@results Pair) => { [Self::Tensor; 2] };
    (@results $results:ident) => { $crate::ops::$results<Self::Tensor> };
    (@take Tensor, $all:expr) => {{ let [tensor] = $all; tensor }};
    (@take $results:ident, $all:expr) => { $all };
}
