//! Table of a state's fields, from which it is read and written.

use super::Value;

/// Implements [`Saved`](super::Saved) by a row for each field: its kind, its name, and its key where that is another. A state of a
/// scaler that may be static has a flag that must be true; keys that stand beside the scaler's are ignored.
macro_rules! saved {
    (
        $state:ident of $library:literal: $($kind:ident $field:ident $(as $key:literal)?),+;
        $(where $dynamic:literal is $expected:literal;)? $(beside $others:expr;)?
    ) => {
        impl $crate::state::Saved for $state {
            const LIBRARY: &'static str = $library;

            fn read(
                dictionary: &$crate::state::Dictionary,
            ) -> Result<Self, $crate::state::InterchangeError> {
                let keys = [$(saved!(@$field $($key)?),)+ $($dynamic,)?];
                let known = [&keys[..] $(, &$others[..])?].concat();
                let fields = $crate::state::dictionary::Fields::of($library, dictionary, &known)?;
                $(fields.is_set($dynamic, $expected)?;)?
                Ok(Self { $($field: fields.$kind(saved!(@$field $($key)?))?,)+ })
            }

            fn write(&self) -> $crate::state::Dictionary {
                [
                    $((saved!(@$field $($key)?), $crate::state::fields::$kind(self.$field)),)+
                    $(($dynamic, $crate::state::Value::Bool(true)),)?
                ]
                .into()
            }
        }
    };
    (@$field:ident) => { stringify!($field) };
    (@$field:ident $key:literal) => { $key };
}

pub(super) use saved;

pub(super) fn number(value: f64) -> Value {
    Value::Number(value)
}

pub(super) fn integer(value: i64) -> Value {
    Value::Integer(value)
}

pub(super) fn flag(value: bool) -> Value {
    Value::Bool(value)
}

/// Returns an array of one number.
pub(super) fn single(value: f64) -> Value {
    Value::List(vec![Value::Number(value)])
}
