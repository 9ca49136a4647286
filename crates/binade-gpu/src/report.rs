//! The bytes of a step's report: the scale after it, then the findings of its passes.

use crate::{Driver, Error, Found, FoundBits, Result, ScaleBits};
use binade_core::FoundInf;
use binade_grad_scaler::ScaleState;

/// Returns where a report has the finding of this number, in bytes.
pub const fn finding_offset(number: usize) -> usize {
    size_of::<ScaleBits>() + number * size_of::<FoundBits>()
}

/// Returns the findings and the scale that a report tells of. `places` has the number of each of `found` in the report, `words`
/// the contents of its [`Found::words`].
///
/// # Errors
///
/// [`Error::Length`] for a report that was cut off, which is a defect of the backend.
pub fn parse_report<D: Driver>(
    device: &D,
    report: &[u8],
    found: &[&Found<D>],
    places: &[usize],
    words: &[Vec<u8>],
) -> Result<(Vec<FoundInf>, ScaleState), D> {
    let cut_off = |number: usize| Error::Length {
        what: "bytes of a report",
        found: report.len(),
        shape: vec![number],
        expected: finding_offset(number),
    };
    let (state, findings) =
        report.split_first_chunk::<{ size_of::<ScaleBits>() }>().ok_or_else(|| cut_off(0))?;
    let (findings, _) = findings.as_chunks::<{ size_of::<FoundBits>() }>();
    let finding = |((found, place), words): ((&&Found<D>, &usize), &Vec<u8>)| {
        let bits = findings.get(*place).ok_or_else(|| cut_off(place + 1))?;
        Ok(found.finding(device, &bytemuck::pod_read_unaligned(bits), words))
    };
    let findings = found.iter().zip(places).zip(words).map(finding).collect::<Result<_, D>>()?;
    Ok((findings, bytemuck::pod_read_unaligned::<ScaleBits>(state).into()))
}
