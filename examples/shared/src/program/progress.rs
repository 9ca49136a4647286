//! Progress bar.

use indicatif::{ProgressBar, ProgressStyle};

/// Returns a progress bar of `count` units, which is drawn on standard error if that is a terminal.
pub fn progress(name: String, count: u64, unit: &str) -> ProgressBar {
    let bar = ProgressBar::new(count);
    let template = format!("{{prefix:18}} {{bar:40}} {{pos:>4}}/{{len}} {unit}  {{msg}}");
    if let Ok(style) = ProgressStyle::with_template(&template) {
        bar.set_style(style);
    }
    bar.set_prefix(name);
    bar
}
