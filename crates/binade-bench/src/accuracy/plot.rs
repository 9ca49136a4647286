//! Plot of a task: a point for each run, a stroke for each mean, and a band of O0's mean and deviation.

use super::Task;
use super::statistics::Level;
use crate::Result;
use plotters::coord::ranged1d::SegmentValue::{self, CenterOf, Exact};
use plotters::prelude::*;
use std::ops::Range;
use std::path::Path;

/// Colours of runs and of means, told apart by colour-blind people too (Okabe, Ito 2008).
const RUN: RGBColor = RGBColor(0, 114, 178);
const MEAN: RGBColor = RGBColor(213, 94, 0);
const BAND: RGBColor = RGBColor(225, 225, 225);

/// Draws the levels in `file`. Figures that are not finite have no point.
///
/// # Errors
///
/// If the file cannot be written.
pub(super) fn draw(task: Task, levels: &[Level], file: &Path) -> Result<()> {
    drawn(task, levels, file).map_err(|error| format!("{}: {error}", file.display()).into())
}

fn drawn(task: Task, levels: &[Level], file: &Path) -> Result<(), String> {
    let told = |error: &dyn std::error::Error| error.to_string();
    let area = SVGBackend::new(file, (720, 360)).into_drawing_area();
    area.fill(&WHITE).map_err(|error| told(&error))?;
    let (places, range) = ((0..levels.len() - 1).into_segmented(), range(levels));
    let mut chart = ChartBuilder::on(&area);
    chart.caption(task.figure(), ("sans-serif", 16)).margin(12);
    chart.x_label_area_size(28).y_label_area_size(56);
    let mut chart = chart.build_cartesian_2d(places, range).map_err(|error| told(&error))?;
    let name = |place: &SegmentValue<usize>| match place {
        CenterOf(level) => levels.get(*level).map_or(String::new(), |level| level.name.clone()),
        _ => String::new(),
    };
    let mut mesh = chart.configure_mesh();
    mesh.disable_x_mesh()
        .label_style(("sans-serif", 12))
        .x_label_formatter(&name)
        .draw()
        .map_err(|error| told(&error))?;
    let first = levels.iter().find(|level| level.name.starts_with("O0"));
    let band =
        first.map(|first| [first.mean() - first.deviation(), first.mean() + first.deviation()]);
    let band = band.filter(|ends| ends.iter().all(|end| end.is_finite()));
    let band = band.map(|[low, high]| {
        Rectangle::new([(Exact(0), low), (SegmentValue::Last, high)], BAND.filled())
    });
    chart.draw_series(band).map_err(|error| told(&error))?;
    let means = (0..).zip(levels).filter(|(_, level)| level.mean().is_finite());
    let stroke = |(place, level): (usize, &Level)| {
        let end = if place + 1 == levels.len() { SegmentValue::Last } else { Exact(place + 1) };
        PathElement::new([(Exact(place), level.mean()), (end, level.mean())], MEAN.stroke_width(2))
    };
    chart.draw_series(means.map(stroke)).map_err(|error| told(&error))?;
    let runs = points(levels)
        .map(|(place, figure)| Circle::new((CenterOf(place), figure), 4, RUN.filled()));
    chart.draw_series(runs).map_err(|error| told(&error))?;
    area.present().map_err(|error| told(&error))
}

/// Returns the finite figures, each with the place of its level.
fn points(levels: &[Level]) -> impl Iterator<Item = (usize, f64)> {
    let each = (0..)
        .zip(levels)
        .flat_map(|(place, level)| level.figures.iter().map(move |(_, figure)| (place, *figure)));
    each.filter(|(_, figure)| figure.is_finite())
}

/// Returns the range of the figures with a margin.
fn range(levels: &[Level]) -> Range<f64> {
    let figures = || points(levels).map(|(_, figure)| figure);
    let least = figures().reduce(f64::min).unwrap_or(0.0);
    let most = figures().reduce(f64::max).unwrap_or(1.0);
    let margin = 0.1 * (most - least).max(1e-3);
    least - margin..most + margin
}
