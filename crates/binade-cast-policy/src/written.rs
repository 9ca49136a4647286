//! Policies as TOML, for people to write and read.
//!
//! The text is read by hand and not through serde, so that every error knows its line and the nearest valid word.

mod error;
mod fields;
mod read;
mod rule;
mod write;

pub use error::TomlError;

use crate::{OpTable, Overrides};

impl OpTable {
    /// Reads a table from TOML: `preset`, one of [`ids`](Self::ids); `strict`, false unless said; and in `[operations]` a rule
    /// for each operation that is registered.
    ///
    /// A rule is `"untouched"`, `"lower"`, `"f32"`, `"f32_output"`, `"promote"`, `"promote_strict"`, `"unlisted"`, or
    /// `{ to = "bf16" }`, `{ banned = "what to do instead" }`. Operations may have any name, since they are yours.
    ///
    /// ```
    /// use binade_cast_policy::{CastRule, OpTable};
    ///
    /// let table = OpTable::from_toml("preset = 'torch_cuda'\noperations.my_attention = 'lower'")?;
    /// assert_eq!(table, OpTable::torch_cuda().register("my_attention", CastRule::Lower));
    ///
    /// let error = OpTable::from_toml("preset = 'torch_cuda'\nsrtict = true").unwrap_err();
    /// assert!(error.to_string().starts_with("line 2: unknown key `srtict`: did you mean `strict`?"));
    /// # Ok::<_, binade_cast_policy::TomlError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// For what is not TOML, is not a table, or has overrides, which [`Overrides::from_toml`] reads.
    pub fn from_toml(text: &str) -> Result<Self, TomlError> {
        read::table(text)
    }

    /// Writes the table so that [`from_toml`](Self::from_toml) reads it back equal. A rule that casts to no floating-point
    /// type, which refuses every call, is written and does not read back.
    pub fn to_toml(&self) -> String {
        write::table(self)
    }
}

impl Overrides<OpTable> {
    /// Reads a table, as [`OpTable::from_toml`] does, and the layer of overrides over it: any number of `[[overrides]]`, each
    /// with a `rule` and, all as you like, an `op`, a `path` and bounds of attributes. The last that applies wins.
    ///
    /// ```
    /// use binade_cast_policy::{Attribute, CastRule, Compare, OpTable, Overrides, Condition};
    ///
    /// let policy = Overrides::from_toml(r#"
    ///     preset = "torch_cuda"
    ///
    ///     [[overrides]]
    ///     path = "loss.**"
    ///     op = "sum"
    ///     reduction_length = { above = 4096 }
    ///     rule = "f32"
    /// "#)?;
    /// let long = Condition::always().op("sum").path("loss.**").attribute(Attribute::ReductionLength, Compare::Above(4096.0));
    /// assert_eq!(policy, Overrides::over(OpTable::torch_cuda()).when(long, CastRule::F32));
    /// # Ok::<_, binade_cast_policy::TomlError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// For what is not TOML, or is no policy.
    pub fn from_toml(text: &str) -> Result<Self, TomlError> {
        read::overrides(text)
    }

    /// Writes the policy so that [`from_toml`](Self::from_toml) reads it back equal, except as [`OpTable::to_toml`] says; nor
    /// does a bound that is NaN read back.
    pub fn to_toml(&self) -> String {
        write::overrides(self)
    }
}
