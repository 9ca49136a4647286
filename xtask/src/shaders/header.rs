//! What a shader's header comment must be, and what it tells the build: the values of overrides.

/// What the comment lines at the top of a shader say.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Header {
    /// `// overrides: TILE=16 ROWS=4`: what the host passes.
    pub(super) overrides: Vec<(String, f64)>,
}

/// Paragraphs: what is computed, the oracle and the agreement, the entries, how it departs from the plain loop.
const PARAGRAPHS: usize = 4;

impl Header {
    /// Reads `source`; the error says what is wrong with its header.
    pub(super) fn read(source: &str) -> Result<Self, String> {
        let lines: Vec<_> = source
            .lines()
            .take_while(|line| line.starts_with("//") && !line.starts_with("//!"))
            .map(|line| line.trim_start_matches('/').trim())
            .collect();
        let paragraphs = lines.split(|line| line.is_empty()).filter(|lines| !lines.is_empty());
        let count = paragraphs.count();
        if count != PARAGRAPHS {
            return Err(format!(
                "its header has {count} paragraphs of {PARAGRAPHS}: what it computes; oracle and agreement; entries and how \
                 they are dispatched; how it departs from the plain loop"
            ));
        }
        let told = lines.iter().find_map(|line| line.strip_prefix("overrides:"));
        let overrides = told.unwrap_or_default().split_whitespace().map(one);
        Ok(Self { overrides: overrides.collect::<Result<_, _>>()? })
    }
}

fn one(told: &str) -> Result<(String, f64), String> {
    let pair = told.split_once('=').and_then(|(name, value)| Some((name, value.parse().ok()?)));
    pair.map(|(name, value)| (name.to_owned(), value))
        .ok_or_else(|| format!("`// overrides: {told}`: write `NAME=VALUE`, a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overrides_are_read_from_the_header() {
        let text = "// A.\n//\n// B.\n//\n// C.\n// overrides: TILE=16 EPSILON=0.5\n//\n// D.\nconst x = 1;\n";
        let overrides = Header::read(text).unwrap().overrides;
        assert_eq!(overrides, [("TILE".to_owned(), 16.0), ("EPSILON".to_owned(), 0.5)]);
    }

    #[test]
    fn a_header_that_lacks_a_paragraph_or_an_override_without_a_number_is_refused() {
        assert!(
            Header::read("// A.\n//\n// B.\n//\n// C.\n").unwrap_err().contains("3 paragraphs")
        );
        let text = "// A.\n//\n// B.\n//\n// overrides: TILE\n//\n// D.\n";
        assert!(Header::read(text).unwrap_err().contains("NAME=VALUE"));
    }
}
