//! Tables of casts: what every code means, and what boundary patterns round to in torch and in `ml_dtypes`.

use super::bits::{equal, same_bits, show};
use super::dtype;
use super::error::{ReplayError, Wrong, same};
use super::notes::Notes;
use binade_core::DType;
use binade_core::cast::{self, OnOverflow};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Debug, Deserialize)]
pub(super) struct Tables {
    /// Values by code, by format.
    decode: BTreeMap<String, Values>,
    boundary: Boundary,
    /// Two results compared where only one was kept, under names as `boundary_torch_ml_e4m3fn`.
    #[serde(default)]
    agree: BTreeMap<String, Compared>,
}

#[derive(Debug, Deserialize)]
struct Values {
    f32_bits: Vec<u32>,
}

#[derive(Debug, Deserialize)]
struct Boundary {
    /// Bits of the values that were cast.
    f32_bits: Vec<u32>,
    /// Codes by library, by format.
    #[serde(flatten)]
    results: BTreeMap<String, BTreeMap<String, Vec<u32>>>,
}

#[derive(Debug, Deserialize)]
struct Compared {
    n: usize,
    /// Where they differ, unless both are NaN.
    differ_not_nan: usize,
    #[serde(default)]
    examples: Vec<Example>,
    #[serde(default)]
    nan_examples: Vec<Example>,
}

/// `a` is torch's code, `b` the other's; tables of decoding name theirs otherwise.
#[derive(Debug, Deserialize)]
struct Example {
    r#in: u32,
    a: Option<u32>,
    b: Option<u32>,
}

pub(super) fn replay(tables: &Tables, notes: &mut Notes) -> Result<(), ReplayError> {
    for (name, values) in &tables.decode {
        decoded(name, values, notes).map_err(|wrong| wrong.at(format!("decode {name}")))?;
    }
    tables.boundary.replay(notes)?;
    if notes.compared.is_empty() {
        return Err(Wrong::Recording("it has no table".into()).at("casts"));
    }
    for (name, compared) in &tables.agree {
        if let Some((what, format)) = name.split_once("_torch_ml_") {
            let all = (what == "boundary").then_some(&tables.boundary.f32_bits[..]);
            let done = compared.replay(format, all, notes);
            done.map_err(|wrong| wrong.at(format!("agree {name}")))?;
        }
    }
    Ok(())
}

fn decoded(name: &str, values: &Values, notes: &mut Notes) -> Result<(), Wrong> {
    let format = dtype::castable(name)?;
    let codes = (0_u32..).take(values.f32_bits.len()).collect::<Vec<_>>();
    same("the number of codes", &(1 << (8 * format.bytes())), &codes.len())?;
    same_bits("the value of code", &dtype::decoded(format, &codes)?, &values.f32_bits)?;
    notes.compared(format!("codes of {name} decoded"), codes.len());
    Ok(())
}

impl Boundary {
    fn replay(&self, notes: &mut Notes) -> Result<(), ReplayError> {
        for (name, by_library) in &self.results {
            for (library, codes) in by_library {
                self.rounded(name, library, codes, notes)
                    .map_err(|wrong| wrong.at(format!("boundary {name} ({library})")))?;
            }
        }
        Ok(())
    }

    fn rounded(
        &self,
        name: &str,
        library: &str,
        codes: &[u32],
        notes: &mut Notes,
    ) -> Result<(), Wrong> {
        let (format, on_overflow) = (dtype::castable(name)?, rule(name, library)?);
        same("the number of patterns", &self.f32_bits.len(), &codes.len())?;
        for (i, (&bits, &code)) in self.f32_bits.iter().zip(codes).enumerate() {
            rounds(format, bits, on_overflow, code).map_err(|wrong| wrong.within(i))?;
        }
        notes.compared(format!("patterns rounded to {name} as by {library}"), codes.len());
        Ok(())
    }
}

impl Compared {
    fn replay(&self, name: &str, all: Option<&[u32]>, notes: &mut Notes) -> Result<(), Wrong> {
        let format = dtype::castable(name)?;
        if let Some(patterns) = all {
            let differing = patterns.iter().filter(|&&bits| rules_differ(format, bits)).count();
            same("the number of patterns", &patterns.len(), &self.n)?;
            same("the number that the two rules differ on", &differing, &self.differ_not_nan)?;
            notes.compared(format!("patterns rounded to {name} by both rules"), patterns.len());
        }
        let examples = self.examples.iter().chain(&self.nan_examples);
        for (i, example) in examples.enumerate() {
            example.replay(format).map_err(|wrong| wrong.within(i))?;
            notes.compared(format!("examples of {name} by torch and ml_dtypes"), 1);
        }
        Ok(())
    }
}

impl Example {
    fn replay(&self, format: DType) -> Result<(), Wrong> {
        let code = |code: Option<u32>| {
            code.ok_or_else(|| Wrong::Recording("the example lacks a code".into()))
        };
        rounds(format, self.r#in, dtype::torch(format), code(self.a)?)?;
        rounds(format, self.r#in, OnOverflow::NonFinite, code(self.b)?)
    }
}

/// Returns what a library does beyond the largest value.
fn rule(format: &str, library: &str) -> Result<OnOverflow, Wrong> {
    match library {
        "torch" | "torch_scalar" | "torch_vec" => Ok(dtype::torch(dtype::castable(format)?)),
        "ml" | "ml_dtypes" | "numpy" | "numpy_ml" => Ok(OnOverflow::NonFinite),
        _ => Err(Wrong::Recording(format!("the overflow rule of {library} is not known here"))),
    }
}

fn round(format: DType, bits: u32, on_overflow: OnOverflow) -> Result<f32, Wrong> {
    let refused = || Wrong::Result(format!("there is no cast to {format}"));
    cast::round(f32::from_bits(bits), format, on_overflow).ok_or_else(refused)
}

/// Passes where the pattern rounds to the value of `code`. Codes but of NaN have values of their own, zeros too.
fn rounds(format: DType, bits: u32, on_overflow: OnOverflow, code: u32) -> Result<(), Wrong> {
    let (got, was) = (round(format, bits, on_overflow)?, dtype::decode(format, code)?);
    if equal(got, was) {
        return Ok(());
    }
    let what = format!("{bits:#010x} in {format}, by {on_overflow:?},");
    Err(Wrong::Result(format!("{} (code {code:#x})", show(&what, got, was))))
}

fn rules_differ(format: DType, bits: u32) -> bool {
    let by = |on_overflow| cast::round(f32::from_bits(bits), format, on_overflow);
    by(dtype::torch(format)).zip(by(OnOverflow::NonFinite)).is_none_or(|(a, b)| !equal(a, b))
}
