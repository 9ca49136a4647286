//! The lines that newcomers write for Binade's sake, between `// glue: PART` and `// end of glue`, are no more than they were.
//!
//! A line that only closes brackets does not count, so that the figures do not hang on the formatter.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{fs, path::Path};

/// The file, the part, and the most lines that it may have.
const PARTS: [(&str, &str, usize); 6] = [
    ("scaler_alone/src/typed.rs", "join", 22),
    ("scaler_alone/src/typed.rs", "loop", 11),
    ("scaler_alone/src/by_protocol.rs", "loop", 6),
    ("scaler_alone/src/over_foreign.rs", "join", 35),
    ("scaler_alone/src/over_foreign.rs", "optimizer", 13),
    ("scaler_alone/src/over_foreign.rs", "loop", 7),
];

/// Lines of `part` that are no comment and more than closing brackets.
fn glue(text: &str, part: &str) -> usize {
    let begins = format!("// glue: {part}");
    let mut inside = false;
    let mut lines = 0;
    for line in text.lines().map(str::trim) {
        match line {
            "// end of glue" => inside = false,
            _ if line == begins => inside = true,
            _ => {
                let says = !line.starts_with("//") && line.contains(char::is_alphanumeric);
                lines += usize::from(inside && says);
            }
        }
    }
    lines
}

#[test]
fn no_part_has_more_glue_than_it_had() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (file, part, most) in PARTS {
        let lines = glue(&fs::read_to_string(folder.join(file)).unwrap(), part);
        println!("{file}, {part}: {lines} of {most}");
        assert!(
            0 < lines && lines <= most,
            "{file}: {lines} lines of glue for {part}, at most {most}"
        );
    }
}

#[test]
fn lines_between_the_marks_are_counted_and_no_others() {
    let text = "a\n// glue: x\nb\n\n// c\nd {\n})?;\n// end of glue\ne\n// glue: y\nf\n";
    assert_eq!((glue(text, "x"), glue(text, "y"), glue(text, "z")), (2, 1, 0));
}
