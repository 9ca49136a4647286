//! Errors of texts that are no policy.

use binade_core::ErrorKind;

/// Reason why a text is no [`DTypePolicy`](crate::DTypePolicy).
#[non_exhaustive]
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum DTypePolicyError {
    /// A dtype that jmp does not have.
    #[error(
        "unknown dtype `{value}` in `{part}`: did you mean `{nearest}`? jmp has bf16, bfloat16, f16, float16, half, full, \
         f32, float32, f64 and float64, without blanks or capitals"
    )]
    UnknownDType {
        /// Name of the dtype, as it is written.
        value: Box<str>,
        /// Part that it stands in.
        part: Box<str>,
        /// Valid name that it resembles most.
        nearest: &'static str,
    },
    /// A part for none of the three.
    #[error(
        "unknown key `{key}` in `{part}`: did you mean `{nearest}`? jmp has p or params, c or compute, o or output, without \
         blanks or capitals"
    )]
    UnknownKey {
        /// Key: the text before the `=`.
        key: Box<str>,
        /// Part that it stands in.
        part: Box<str>,
        /// Valid name that it resembles most.
        nearest: &'static str,
    },
    /// A part with no `=`, or with several.
    #[error(
        "`{part}` in `{policy}` is not one key, `=` and one dtype: write parts as `c=f16`, with commas between and none at the \
         end"
    )]
    Malformed {
        /// Text between two commas.
        part: Box<str>,
        /// Whole text.
        policy: Box<str>,
    },
    /// A name that is not one of Keras's.
    #[error(
        "Keras has no policy called `{name}` that is known here: did you mean `{nearest}`? There are mixed_bfloat16, \
         mixed_float16, bfloat16, float16, float32 and float64"
    )]
    UnknownName {
        /// Name asked for.
        name: Box<str>,
        /// Valid name that it resembles most.
        nearest: &'static str,
    },
}

impl binade_core::Error for DTypePolicyError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::InvalidArgument
    }
}
