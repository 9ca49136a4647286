//! Changes that make no difference, or that no case can reach, each with its reason: `known.txt`.
//!
//! A line of it holds device, kernel, line, text before, text after and reason, with ` :: ` between them.

use super::{Change, Device};
use crate::Result;

const KNOWN: &str = include_str!("known.txt");

/// A change that need not be noticed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) change: Change,
    pub(super) reason: String,
}

/// The listed changes of one kernel.
pub(super) fn of(device: Device, kernel: &str) -> Result<Vec<Known>> {
    let device = if device == Device::Ptx { "ptx" } else { "wgpu" };
    let mut found = Vec::new();
    for row in KNOWN.lines().filter(|row| !row.starts_with('#')) {
        let (place, known) = parse(row).ok_or_else(|| format!("known.txt: no change: `{row}`"))?;
        if place == [device, kernel] {
            found.push(known);
        }
    }
    Ok(found)
}

fn parse(row: &str) -> Option<([&str; 2], Known)> {
    let parts: Vec<_> = row.split(" :: ").collect();
    let [device, kernel, line, before, after, reason] = parts[..] else { return None };
    let change = Change { line: line.parse().ok()?, before: before.into(), after: after.into() };
    (!reason.is_empty()).then(|| ([device, kernel], Known { change, reason: reason.into() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutate::kernels::named;

    #[test]
    fn every_known_change_is_of_a_line_that_is_committed() {
        for device in [Device::Ptx, Device::Wgpu] {
            for kernel in named(device, &[]).unwrap() {
                for Known { change, .. } in of(device, &kernel.name).unwrap() {
                    let line = kernel.text.lines().nth(change.line - 1).unwrap_or_default();
                    let name = &kernel.name;
                    assert!(line.contains(&change.before), "{name}: {change}: no longer there");
                }
            }
        }
    }

    #[test]
    fn a_row_without_a_reason_is_none() {
        assert!(parse("ptx :: sgd :: 7 :: add :: sub :: why").is_some());
        assert_eq!(parse("ptx :: sgd :: 7 :: add :: sub :: "), None);
        assert_eq!(parse("ptx :: sgd :: seven :: add :: sub :: why"), None);
    }
}
