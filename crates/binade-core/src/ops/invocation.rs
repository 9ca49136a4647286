//! Calls of operations as values.

use crate::ops::{
    AttentionConfig, AvgPool2dConfig, BatchNormConfig, Conv2dConfig, MaxPool2dConfig, Ops, Results,
    RunningStats,
};
use crate::{DType, Handle};

/// Type of a value inside an [`OpInvocation`].
macro_rules! owned {
    ([usize]) => { Vec<usize> };
    ([usize; 2]) => { [usize; 2] };
    ($type:ident) => { $type };
}

/// Value of an [`OpInvocation`], as an argument of its method.
macro_rules! value {
    ($value:ident [usize]) => {
        $value
    };
    ($value:ident $type:tt) => {
        *$value
    };
}

/// Removal of an operand from the front of a list.
macro_rules! take {
    ($rest:ident ($running:ident)) => {
        let $running = RunningStats { mean: $rest.next()?.clone(), var: $rest.next()?.clone() };
    };
    ($rest:ident [$optional:ident]) => {
        let $optional = $rest.next();
    };
    ($rest:ident {$several:ident}) => {
        let $several: Vec<_> = $rest.by_ref().collect();
        if $several.is_empty() {
            return None;
        }
    };
    ($rest:ident $operand:ident) => {
        let $operand = $rest.next()?;
    };
}

/// Operand from the list, as a method's argument.
macro_rules! operand {
    (($running:ident)) => {
        &$running
    };
    ([$optional:ident]) => {
        $optional
    };
    ({$several:ident}) => {
        &$several
    };
    ($operand:ident) => {
        $operand
    };
}

/// Results of a method as a list.
macro_rules! listed {
    ($results:ident Tensor) => {
        vec![$results]
    };
    ($results:ident $type:ident) => {
        $results.into_vec()
    };
}

macro_rules! invocation {
    ({} $($trait:ident $file:ident {
        $($variant:ident $method:ident(
            $($operand:tt),*
        ) $({ $($value:ident: $type:tt),+ })? -> $results:ident;)+
    })*) => {
        /// Call of one method of this crate's traits, with its arguments other than tensors.
        ///
        /// # Examples
        ///
        /// ```
        /// use binade_core::ops::OpInvocation;
        ///
        /// let call = OpInvocation::Dropout { p: 0.5 };
        /// assert_eq!(call.method(), "dropout");
        /// ```
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum OpInvocation {
            $($(
                #[doc = concat!("[`", stringify!($method), "`](crate::ops::", stringify!($trait), "::", stringify!($method), ").")]
                $variant $({ $(
                    #[doc = concat!("The method's `", stringify!($value), "`.")]
                    $value: owned!($type),
                )+ })?,
            )+)*
        }

        impl OpInvocation {
            /// Returns the method's name.
            pub const fn method(&self) -> &'static str {
                match self {
                    $($(Self::$variant { .. } => stringify!($method),)+)*
                }
            }

            /// Calls the method on `device`, and returns its results in the order of their struct's fields.
            ///
            /// Operands are in the order of the method's arguments. A missing optional one is left out; of running statistics the
            /// mean comes first.
            ///
            /// Returns `None` if the number of operands is wrong.
            pub fn run<D: Ops + Handle<Tensor: Clone>>(
                &self,
                device: &D,
                operands: &[&D::Tensor],
            ) -> Option<Result<Vec<D::Tensor>, D::Error>> {
                let mut rest = operands.iter().copied();
                match self {
                    $($(Self::$variant $({ $($value),+ })? => {
                        $(take!(rest $operand);)*
                        if rest.next().is_some() {
                            return None;
                        }
                        let results = device.$method(
                            $(operand!($operand),)*
                            $($(value!($value $type)),+)?
                        );
                        Some(results.map(|results| listed!(results $results)))
                    })+)*
                }
            }
        }
    };
}

for_each_op!([invocation]);
