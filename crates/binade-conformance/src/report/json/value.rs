//! JSON as RFC 8259 has it, written and never read: a dependency would be more than the kit itself.

use std::fmt::{self, Write};

/// A value of JSON.
pub(super) enum Json {
    Null,
    Bool(bool),
    Count(usize),
    /// Null where JSON has no such number.
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(&'static str, Json)>),
}

impl From<usize> for Json {
    fn from(count: usize) -> Self {
        Self::Count(count)
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl Json {
    /// Writes it with what is inside of it indented by `depth` steps and one.
    fn write(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        match self {
            Self::Bool(holds) => write!(f, "{holds}"),
            Self::Count(count) => write!(f, "{count}"),
            // The shortest digits that read back as the same number.
            Self::Number(number) if number.is_finite() => write!(f, "{number:?}"),
            Self::Null | Self::Number(_) => f.write_str("null"),
            Self::Text(text) => quoted(f, text),
            Self::List(items) => {
                between(f, ['[', ']'], depth, items, |f, item| item.write(f, depth + 1))
            }
            Self::Object(keys) => between(f, ['{', '}'], depth, keys, |f, (key, value)| {
                quoted(f, key)?;
                f.write_str(": ")?;
                value.write(f, depth + 1)
            }),
        }
    }
}

/// Each item on a line of its own.
fn between<T>(
    f: &mut fmt::Formatter<'_>,
    [open, close]: [char; 2],
    depth: usize,
    items: &[T],
    mut one: impl FnMut(&mut fmt::Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    f.write_char(open)?;
    for (index, item) in items.iter().enumerate() {
        f.write_str(if index == 0 { "\n" } else { ",\n" })?;
        write!(f, "{:1$}", "", 2 * (depth + 1))?;
        one(f, item)?;
    }
    if !items.is_empty() {
        write!(f, "\n{:1$}", "", 2 * depth)?;
    }
    f.write_char(close)
}

/// RFC 8259, section 7: quotation marks, backslashes and control characters are escaped.
fn quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' | '\\' => write!(f, "\\{c}")?,
            '\n' => f.write_str("\\n")?,
            c if c < ' ' => write!(f, "\\u{:04x}", u32::from(c))?,
            c => f.write_char(c)?,
        }
    }
    f.write_char('"')
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_json_that_others_read() {
        let value = Json::Object(vec![
            ("text", "a \"b\" \\ \n \u{1} é".into()),
            ("numbers", Json::List(vec![1.into(), Json::Number(0.1), Json::Number(1e300)])),
            ("none", Json::List(vec![Json::Number(f64::NAN), Json::Null, Json::Bool(true)])),
            ("empty", Json::List(Vec::new())),
        ]);
        let read: serde_json::Value = serde_json::from_str(&value.to_string()).unwrap();
        let wanted = serde_json::json!({
            "text": "a \"b\" \\ \n \u{1} é",
            "numbers": [1, 0.1, 1e300],
            "none": [null, null, true],
            "empty": [],
        });
        assert_eq!(read, wanted);
    }
}
