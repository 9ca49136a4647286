//! Plots of growth: step time and peak memory against parameters and tensors.

use super::page::Page;
use super::row::{Row, median};
use crate::Result;
use plotters::prelude::*;
use std::path::Path;

/// Colours of ours and of PyTorch's, told apart by colour-blind people too (Okabe, Ito 2008).
const COLOURS: [RGBColor; 2] = [RGBColor(0, 114, 178), RGBColor(213, 94, 0)];
const NAMES: [&str; 2] = ["Binade", "PyTorch"];

/// Draws `parameters.svg` and `tensors.svg` in `folder`, for groups that were measured.
///
/// # Errors
///
/// If a file cannot be written.
pub fn draw(page: &Page, folder: &Path) -> Result<()> {
    for group in ["parameters", "tensors"] {
        let rows: Vec<_> = page.rows.iter().filter(|row| row.group == group).collect();
        if !rows.is_empty() {
            draw_group(&rows, group, &folder.join(format!("{group}.svg")))?;
        }
    }
    Ok(())
}

fn draw_group(rows: &[&Row], group: &str, file: &Path) -> Result<()> {
    let area = SVGBackend::new(file, (960, 360)).into_drawing_area();
    area.fill(&WHITE).map_err(|error| error.to_string())?;
    let [left, right] = <[_; 2]>::try_from(area.split_evenly((1, 2))).map_err(|_| "two halves")?;
    let seconds =
        rows.iter().map(|row| (row, [&row.ours, &row.peer].map(|it| median(it.iter().copied()))));
    let seconds = seconds.map(|(row, values)| (row.at, values.map(|it| 1e3 * it)));
    panel(&left, group, "step, ms", &points(seconds))?;
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let mebibytes =
        |bytes: Option<u64>| bytes.map_or(f64::NAN, |it| it as f64 / f64::from(1 << 20));
    panel(
        &right,
        group,
        "peak memory, MiB",
        &points(rows.iter().map(|row| (row.at, row.peaks.map(mebibytes)))),
    )?;
    area.present().map_err(|error| error.to_string().into())
}

/// Points of ours and of PyTorch's line.
type Lines = [Vec<(f64, f64)>; 2];

fn points(values: impl Iterator<Item = (Option<usize>, [f64; 2])>) -> Lines {
    let mut lines = Lines::default();
    for (at, values) in values {
        for (line, value) in lines.iter_mut().zip(values).filter(|(_, value)| *value > 0.0) {
            #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
            line.push((at.unwrap_or(1) as f64, value));
        }
    }
    lines
}

fn panel(
    area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    group: &str,
    name: &str,
    lines: &Lines,
) -> Result<()> {
    let all = || lines.iter().flatten();
    let range = |of: fn(&(f64, f64)) -> f64| {
        let values = || all().map(of);
        values().fold(f64::MAX, f64::min) / 1.5..values().fold(f64::MIN, f64::max) * 1.5
    };
    if all().next().is_none() {
        return Ok(());
    }
    let (x, y) = (range(|it| it.0).log_scale(), range(|it| it.1).log_scale());
    let mut chart = ChartBuilder::on(area);
    chart.caption(name, ("sans-serif", 16)).margin(12).x_label_area_size(36).y_label_area_size(56);
    let mut chart = chart.build_cartesian_2d(x, y).map_err(|error| error.to_string())?;
    chart.configure_mesh().x_desc(group).draw().map_err(|error| error.to_string())?;
    for ((line, colour), name) in lines.iter().zip(COLOURS).zip(NAMES) {
        let drawn = chart.draw_series(LineSeries::new(line.iter().copied(), colour).point_size(3));
        let drawn = drawn.map_err(|error| error.to_string())?;
        drawn.label(name).legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour));
    }
    let mut labels = chart.configure_series_labels();
    labels.position(SeriesLabelPosition::UpperLeft).draw().map_err(|error| error.to_string().into())
}
