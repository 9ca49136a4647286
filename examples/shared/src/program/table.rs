//! Tables and remarks of a program's output, no wider than 120 columns.

use crate::five_ways::power;

const WIDTH: usize = 120;

/// Returns the rows, of which the first has the heads, in aligned columns: the first to the left, figures to the right.
pub fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..N).map(|column| width(column).unwrap_or(0)).collect();
    let mut lines: Vec<String> = rows.iter().map(|row| line(row, &widths)).collect();
    lines.insert(1, "─".repeat(lines[0].chars().count()));
    lines.join("\n")
}

fn line(row: &[String], widths: &[usize]) -> String {
    let cell = |(column, (text, &width)): (usize, (&String, &usize))| match column {
        0 => format!("{text:<width$}"),
        _ => format!("{text:>width$}"),
    };
    let cells: Vec<String> = row.iter().zip(widths).enumerate().map(cell).collect();
    cells.join("  ")
}

/// Returns the first and the last of the loss scales, or one where they are equal.
pub fn scales(scales: &[f32]) -> String {
    match *scales {
        [first, .., last] if first != last => {
            format!("{} → {}", power(first.into()), power(last.into()))
        }
        [first, ..] => power(first.into()),
        [] => String::new(),
    }
}

/// Breaks text between words, and indents all lines but the first.
pub fn wrap(text: &str) -> String {
    let (mut wrapped, mut width) = (String::new(), 0);
    for word in text.split(' ') {
        let (gap, letters) = (if width == 0 { "" } else { " " }, word.chars().count());
        let fits = width + gap.len() + letters <= WIDTH;
        let gap = if fits { gap } else { "\n  " };
        width = if fits { width } else { 1 } + gap.len() + letters;
        wrapped.extend([gap, word]);
    }
    wrapped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_is_shown_as_a_power_and_once_if_it_stayed() {
        for (seen, shown) in [
            (&[65536.0, 32768.0][..], "2^16 → 2^15"),
            (&[65536.0, 32768.0, 65536.0], "2^16"),
            (&[1.0], "1"),
            (&[0.5, 3.0], "2^-1 → 3"),
        ] {
            assert_eq!(scales(seen), shown);
        }
    }

    #[test]
    fn lines_break_between_words_at_the_width() {
        let text = wrap(&"word ".repeat(60));
        assert!(text.lines().count() > 2 && text.lines().all(|it| it.chars().count() <= WIDTH));
        assert_eq!(text.replace("\n  ", " "), "word ".repeat(60));
        assert!(text.lines().next().is_some_and(|line| line.chars().count() > WIDTH - 6));
    }
}
