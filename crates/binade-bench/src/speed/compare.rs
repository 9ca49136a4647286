//! Comparison of figures: a kernel's rate with the ceiling of its kind, the scaler's time with the whole step's.

use super::row::{Kind, Row};
use serde::Serialize;

/// Scaler's share of the step.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Share {
    pub(super) dtype: String,
    /// Time of check, unscale, clip and update over the time of the whole step.
    pub(super) scaler: f64,
    /// Time of clip and update over the time of the whole step: the rest if the gradients are read for their norm anyway.
    pub(super) clip_and_update: f64,
}

/// Sets each row's share of the ceiling of its kind, and its time in empty launches.
///
/// The ceiling is that of the largest size: output of a smaller copy may still lie in the L2 cache when it ends.
pub(super) fn with_ceilings(rows: &mut [Row]) {
    let ceiling = |kind: Kind| {
        let ceilings = rows.iter().filter(|row| row.what.group == "copy" && row.what.kind == kind);
        ceilings.max_by_key(|row| row.what.elements).map(|row| row.queued.gbs)
    };
    let [copy, read, in_place] = [Kind::Copy, Kind::Read, Kind::InPlace].map(ceiling);
    let empty = rows.iter().find(|row| row.what.group == "launch").map(|row| row.queued.median_s);
    for row in rows {
        let ceiling = match row.what.kind {
            Kind::Copy => copy,
            Kind::Read => read,
            Kind::InPlace => in_place,
            Kind::Nothing | Kind::Computed => None,
        };
        row.share_of_ceiling = ceiling.map(|ceiling| row.queued.gbs / ceiling);
        row.empty_launches = empty.map(|empty| row.queued.median_s / empty);
    }
}

/// Returns the share for each type of gradient that was measured.
pub(super) fn scaler_shares(rows: &[Row]) -> Vec<Share> {
    ["bf16", "f16", "f32"].iter().filter_map(|dtype| share(rows, dtype)).collect()
}

fn share(rows: &[Row], dtype: &str) -> Option<Share> {
    let seconds = |name: &str| {
        let row = rows.iter().find(|row| row.what.dtype == dtype && row.what.name == name)?;
        Some(row.queued.median_s)
    };
    let whole = seconds("unscale, clip, AdamW, update")?;
    Some(Share {
        dtype: dtype.to_owned(),
        scaler: seconds("check, unscale, clip, update")? / whole,
        clip_and_update: seconds("clip and update alone")? / whole,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::speed::{clock::Times, row::What};
    use binade_core::DType;
    use binade_cuda::DeviceCounters;

    fn row(group: &'static str, name: &str, kind: Kind, seconds: f64) -> Row {
        sized(group, name, kind, (500, seconds))
    }

    fn sized(
        group: &'static str,
        name: &str,
        kind: Kind,
        (elements, seconds): (usize, f64),
    ) -> Row {
        let what = What::moving(group, name, kind, (DType::F16, elements, 1), [1000, 0]);
        let all = vec![seconds];
        let (alone, host, counters) = (all.clone(), all.clone(), DeviceCounters::default());
        Row::new(what, &Times { alone, queued: all, host, counters, peak_bytes: 0 })
    }

    #[test]
    fn a_row_is_held_against_the_largest_of_its_kind() {
        let mut rows = [
            row("launch", "nothing", Kind::Nothing, 0.5),
            sized("copy", "read", Kind::Read, (5, 0.1)),
            row("copy", "read", Kind::Read, 1.0),
            row("copy", "copy", Kind::Copy, 0.1),
            row("unscale", "check", Kind::Read, 4.0),
        ];
        with_ceilings(&mut rows);
        let last = &rows[4];
        assert_eq!((last.share_of_ceiling, last.empty_launches), (Some(0.25), Some(8.0)));
        assert_eq!(rows[0].share_of_ceiling, None);
    }

    #[test]
    fn the_scalers_share_is_of_the_whole_step() {
        let whole = row("step", "unscale, clip, AdamW, update", Kind::InPlace, 8.0);
        let scaler = row("scaler", "check, unscale, clip, update", Kind::Read, 2.0);
        let rest = row("scaler", "clip and update alone", Kind::Nothing, 1.0);
        assert!(share(&[whole.clone(), scaler.clone()], "f16").is_none());
        let found = share(&[whole, scaler, rest], "f16").unwrap();
        assert_eq!((found.scaler, found.clip_and_update), (0.25, 0.125));
    }
}
