//! Programs and tests that one build made, by what it says in JSON. They are started as they are, so that without cargo between
//! them several run side by side.

use std::{collections::BTreeMap, path::Path};

use regex_lite::Captures;
use serde_json::Value;

use crate::{Result, device, issue::regex, shell::Call};

/// The binaries of one build, each by a name such as `binade-cuda/tests/device`: the package's folder; `units` for the unit tests of its
/// library, `tests` for a file or a folder of its `tests`, or `bin` for a program; and its own name.
pub(crate) struct Binaries(BTreeMap<String, String>);

/// The messages of a call of cargo.
pub(crate) fn messages(call: &str) -> Result<Vec<Value>> {
    let text = Call::line(format!("{call} --message-format json-render-diagnostics")).read()?;
    Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

impl Binaries {
    /// Builds what `cargo test` of the whole workspace builds, and puts the interpreter in its place.
    pub(crate) fn built() -> Result<Self> {
        let messages = messages("cargo test --all-features --no-run --quiet $MEMBERS")?;
        device::place(&messages)?;
        Ok(Self::among(&messages))
    }

    /// The binaries that a call of cargo builds.
    pub(crate) fn of(call: &str) -> Result<Self> {
        Ok(Self::among(&messages(call)?))
    }

    fn among(messages: &[Value]) -> Self {
        Self(messages.iter().filter_map(binary).collect())
    }

    /// The path of one.
    pub(crate) fn file(&self, name: &str) -> Result<&str> {
        Ok(self.0.get(name).ok_or_else(|| format!("cargo built no {name}"))?)
    }

    /// `line` with the path of a binary for each name behind an `@`.
    pub(crate) fn named_in(&self, line: &str) -> Result<String> {
        let name = regex(r"@([\w-]+/(?:units|tests|bin)/\w+)");
        name.captures_iter(line).try_for_each(|it| self.file(&it[1]).map(drop))?;
        let file = |it: &Captures| self.0.get(&it[1]).cloned().unwrap_or_default();
        Ok(name.replace_all(line, file).into_owned())
    }
}

/// The name and the path of the executable that a message tells of.
fn binary(message: &Value) -> Option<(String, String)> {
    let package = Path::new(message["manifest_path"].as_str()?).parent()?.file_name()?.to_str()?;
    let target = &message["target"];
    let kind = match (target["kind"][0].as_str()?, message["profile"]["test"].as_bool()?) {
        ("test", true) => "tests",
        ("bin", false) => "bin",
        ("lib" | "proc-macro", true) => "units",
        _ => return None,
    };
    let [name, file] = [&target["name"], &message["executable"]].map(Value::as_str);
    Some((format!("{package}/{kind}/{}", name?), file?.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn equal_names_are_told_apart_by_kind() {
        let message = |(kind, is_test, file): (&str, bool, &str)| {
            let target = json!({ "kind": [kind], "name": "device" });
            let path = "/r/crates/binade-cuda/Cargo.toml";
            json!({ "manifest_path": path, "target": target, "profile": { "test": is_test }, "executable": file })
        };
        let kinds =
            [("lib", true, "a"), ("bin", false, "b"), ("bin", true, "c"), ("test", true, "d")];
        let built = Binaries::among(&kinds.map(message));
        let named = |line| built.named_in(line).map_err(|error| error.to_string());
        let line = "A=1 @binade-cuda/tests/device b/c @binade-cuda/bin/device";
        assert_eq!(named(line).unwrap(), "A=1 d b/c b");
        assert_eq!(named("@binade-cuda/units/device").unwrap(), "a");
        assert_eq!(
            named("@binade-cuda/tests/lost").unwrap_err(),
            "cargo built no binade-cuda/tests/lost"
        );
    }
}
