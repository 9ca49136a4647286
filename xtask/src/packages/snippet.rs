//! The first Rust program of a README, as whoever pastes it sees it.

use crate::Result;

/// Its text. It has to be a program alone: with a `main`, and with no line that only the documentation's tests see.
pub(super) fn program(readme: &str) -> Result<&str> {
    let begun = readme.split_once("```rust\n").map(|(_, rest)| rest);
    let text = begun.and_then(|rest| rest.split_once("\n```")).map(|(text, _)| text);
    let text = text.ok_or("no snippet begins with ```rust: show in the first one how to begin")?;
    if let Some(line) = text.lines().find(|line| is_hidden(line)) {
        return Err(format!("the first snippet hides `{line}`: show it, or do without it").into());
    }
    if !text.lines().any(|line| line.starts_with("fn main()")) {
        return Err(
            "the first snippet has no `fn main()`: make it a program that runs as it is".into()
        );
    }
    Ok(text)
}

/// Whether documentation leaves the line out and compiles it all the same.
fn is_hidden(line: &str) -> bool {
    let line = line.trim_start();
    line == "#" || line.starts_with("# ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_program_is_taken_whole() {
        let readme = "# a\n\n```toml\nx = 1\n```\n\n```rust\n#[derive(Clone)]\nstruct A;\nfn main() {}\n```\n\n```rust\nfn main() { b }\n```\n";
        assert_eq!(program(readme).unwrap(), "#[derive(Clone)]\nstruct A;\nfn main() {}");
    }

    #[test]
    fn a_snippet_that_is_no_program_alone_is_refused_with_what_to_do() {
        let told = |text: &str| program(text).unwrap_err().to_string();
        assert!(told("# a\n\n```text\nfn main() {}\n```\n").contains("no snippet"));
        assert!(told("```rust\nlet x = 1;\n```\n").contains("no `fn main()`"));
        assert!(
            told("```rust\nfn main() {\n    # let x = 1;\n}\n```\n")
                .contains("hides `    # let x = 1;`")
        );
    }
}
