//! Counts of the casts that a program causes.

use binade_core::DType;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// Counts of casts for one operation.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct OpCasts {
    /// Number of operands cast.
    pub casts: u64,
    /// Number of operands whose cast was kept from an earlier use.
    pub reused: u64,
    /// Bytes of the copies made, as far as the device knows sizes.
    pub bytes: u64,
    /// Number of casts whose size the device did not know.
    pub unsized_casts: u64,
    /// Number of casts to a wider type because another operand was wider: often a bias or a mask left in `f32`.
    pub widened: u64,
    /// Number of matrix products that are slower than they would be padded: see [`Uneven`](binade_cast_policy::Uneven).
    pub uneven: u64,
}

impl OpCasts {
    fn add(&mut self, other: &Self) {
        self.casts += other.casts;
        self.reused += other.reused;
        self.bytes += other.bytes;
        self.unsized_casts += other.unsized_casts;
        self.widened += other.widened;
        self.uneven += other.uneven;
    }
}

/// Counts casts and uneven products by operation, from any number of scopes and threads. Prints as a table.
#[derive(Debug, Default)]
pub struct CastStats(Mutex<BTreeMap<&'static str, OpCasts>>);

/// Operand that a scope brought to another type.
pub(crate) struct Posting {
    pub(crate) op: &'static str,
    pub(crate) to: DType,
    pub(crate) promoted: bool,
    pub(crate) made: bool,
    pub(crate) elements: Option<u64>,
}

impl CastStats {
    /// Returns an account for every operation that needed a cast or was an uneven product, by name.
    pub fn accounts(&self) -> BTreeMap<&'static str, OpCasts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the sum of all accounts.
    pub fn total(&self) -> OpCasts {
        let mut total = OpCasts::default();
        self.accounts().values().for_each(|account| total.add(account));
        total
    }

    pub(crate) fn post(&self, posting: &Posting) {
        let Posting { op, to, promoted, made, elements } = *posting;
        let account = if made {
            OpCasts {
                casts: 1,
                bytes: elements.unwrap_or(0) * to.bytes() as u64,
                unsized_casts: u64::from(elements.is_none()),
                // An operand is promoted to a type that holds all of its values, so that another type is a wider one.
                widened: u64::from(promoted),
                ..OpCasts::default()
            }
        } else {
            OpCasts { reused: 1, ..OpCasts::default() }
        };
        self.add(op, &account);
    }

    /// Counts an uneven product.
    pub(crate) fn post_uneven(&self, op: &'static str) {
        self.add(op, &OpCasts { uneven: 1, ..OpCasts::default() });
    }

    fn add(&self, op: &'static str, account: &OpCasts) {
        let mut accounts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        accounts.entry(op).or_default().add(account);
    }
}

impl fmt::Display for CastStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:24} {:>8} {:>8} {:>14} {:>8} {:>8}",
            "operation", "casts", "reused", "bytes", "widened", "uneven"
        )?;
        let accounts = self.accounts();
        accounts.iter().try_for_each(|(op, account)| row(f, op, account))?;
        row(f, "total", &self.total())
    }
}

/// Writes one row. A `+` marks bytes that leave out casts of unknown size.
fn row(f: &mut fmt::Formatter<'_>, name: &str, account: &OpCasts) -> fmt::Result {
    let OpCasts { casts, reused, bytes, unsized_casts, widened, uneven } = account;
    let bytes = format!("{bytes}{}", if *unsized_casts > 0 { "+" } else { "" });
    writeln!(f, "{name:24} {casts:>8} {reused:>8} {bytes:>14} {widened:>8} {uneven:>8}")
}
