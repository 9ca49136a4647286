//! Loss curves as bars in a line of text, and as a picture.

use super::Result;
use std::fs::{self, File};
use std::io;
use std::path::Path;

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Colours of the runs, one after the other, told apart by colour-blind people too (Okabe, Ito 2008).
const COLOURS: [&str; 4] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"];

/// Losses at one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Steps taken.
    pub step: u32,
    /// Mean training loss of the steps since the point before.
    pub train: f32,
    /// Loss on the validation data.
    pub validation: f32,
}

/// Curve of one run, and the run's name.
pub type Curve<'r> = (&'r str, &'r [Point]);

/// Returns the losses as bars, from the least to the greatest; a blank for one that is not finite.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 7")]
pub fn bars(losses: impl Iterator<Item = f32> + Clone) -> String {
    let [least, most] = extent(losses.clone());
    let height = |loss: f32| (7.0 * (loss - least) / (most - least).max(1e-6)).round() as usize;
    losses.map(|loss| if loss.is_finite() { BARS[height(loss)] } else { ' ' }).collect()
}

/// Checks before any training that the picture of `--svg` can be written, where it is asked for. One that is there is kept.
///
/// # Errors
///
/// If the file cannot be written.
pub fn check(file: Option<&Path>) -> Result<()> {
    with_svg(file, |file| File::options().append(true).create(true).open(file).map(drop))
}

/// Draws the runs' curves in the file of `--svg`, where it is asked for. The `caption` tells the unit of losses.
///
/// # Errors
///
/// If the file cannot be written.
pub fn draw(file: Option<&Path>, runs: &[Curve<'_>], caption: &str) -> Result<()> {
    with_svg(file, |file| fs::write(file, svg(runs, caption)))
}

fn with_svg(file: Option<&Path>, write: impl FnOnce(&Path) -> io::Result<()>) -> Result<()> {
    let Some(file) = file else { return Ok(()) };
    let advice = "name a file that you may write, in a folder that is there";
    write(file).map_err(|error| format!("--svg {}: {error}; {advice}", file.display()).into())
}

/// Returns the runs' curves as a picture in SVG: training dashed, validation solid. The `caption` tells the unit of losses.
fn svg(runs: &[Curve<'_>], caption: &str) -> String {
    let points = || runs.iter().flat_map(|(_, curve)| *curve);
    let [least, most] = extent(points().flat_map(|it| [it.train, it.validation]));
    let steps = points().map(|it| it.step).max().unwrap_or(1);
    let line = |curve: &[Point], of: fn(&Point) -> f32| {
        let place = |it: &Point| {
            let right = 560.0 * f64::from(it.step) / f64::from(steps);
            let down = 340.0 * (most - of(it)) / (most - least).max(1e-6);
            format!("{:.1},{:.1} ", 40.0 + right, 20.0 + down)
        };
        curve.iter().filter(|it| of(it).is_finite()).map(place).collect::<String>()
    };
    let lines = runs.iter().zip(COLOURS).zip(1..).map(|(((name, curve), colour), row)| {
        let [train, validation] = [line(curve, |it| it.train), line(curve, |it| it.validation)];
        let y = 20 + 16 * row;
        format!(
            "<g fill=\"none\" stroke=\"{colour}\"><polyline stroke-dasharray=\"3\" points=\"{train}\"/>\
             <polyline points=\"{validation}\"/></g>\n\
             <text x=\"600\" y=\"{y}\" text-anchor=\"end\" fill=\"{colour}\">{name}</text>\n"
        )
    });
    let lines: String = lines.collect();
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 640 400\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <path d=\"M40 20V360H600\" fill=\"none\" stroke=\"black\"/>\n\
         <text x=\"4\" y=\"24\">{most:.2}</text><text x=\"4\" y=\"364\">{least:.2}</text>\n\
         <text x=\"600\" y=\"380\" text-anchor=\"end\">{steps} steps; {caption}</text>\n{lines}</svg>\n"
    )
}

/// Returns the least and the greatest of the losses that are finite.
fn extent(losses: impl Iterator<Item = f32>) -> [f32; 2] {
    let finite = losses.filter(|loss| loss.is_finite());
    finite.fold([f32::MAX, f32::MIN], |[least, most], it| [least.min(it), most.max(it)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_has_each_loss_but_those_that_are_not_finite() {
        let losses = [3.0, f32::NAN, 2.0, 1.0];
        assert_eq!(bars(losses.into_iter()), "█ ▅▁");
        let point = |(validation, step)| Point { step, train: 2.0, validation };
        let curve: Vec<_> = losses.into_iter().zip(0..).map(point).collect();
        let svg = svg(&[("O1 f16", &curve)], "loss in nats");
        assert!(svg.contains(" points=\"40.0,20.0 413.3,190.0 600.0,360.0 \""), "{svg}");
        assert!(
            svg.contains(">O1 f16<") && svg.contains("; loss in nats<") && !svg.contains("NaN"),
            "{svg}"
        );
    }
}
