//! Tests and programs that cargo built together: with one choice of features nothing is compiled twice, and without cargo between
//! them several run side by side.

use std::path::Path;

use serde_json::Value;

use crate::{Result, ptx, shell::Call};

/// The binaries of one build.
pub(crate) struct Binaries(Vec<Binary>);

#[derive(Debug, PartialEq, Eq)]
struct Binary {
    /// The folder's name, which is the package's.
    package: String,
    name: String,
    kind: Kind,
    file: String,
}

/// The kinds of a package's binaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The unit tests of its library.
    Units,
    /// A file or a folder of its `tests`.
    Tests,
    /// A program.
    Program,
}

impl Binaries {
    /// Builds what `cargo test` of the whole workspace builds, and puts the interpreter in its place.
    pub(crate) fn built() -> Result<Self> {
        let build = "test --all-features --no-run --quiet --message-format json-render-diagnostics";
        let messages = Call::cargo(build).read()?;
        ptx::place(&ptx::library(&messages).ok_or("cargo built no PTX interpreter")?)?;
        Ok(Self::among(&messages))
    }

    /// The binaries that a call of cargo builds, from its messages in JSON.
    pub(crate) fn of(call: &Call) -> Result<Self> {
        Ok(Self::among(&call.read()?))
    }

    fn among(messages: &str) -> Self {
        let messages = messages.lines().filter_map(|line| serde_json::from_str(line).ok());
        Self(messages.filter_map(|message: Value| binary(&message)).collect())
    }

    /// The path of one.
    pub(crate) fn file(&self, package: &str, kind: Kind, name: &str) -> Result<&str> {
        let found =
            self.0.iter().find(|it| it.package == package && it.kind == kind && it.name == name);
        Ok(&found.ok_or_else(|| format!("cargo built no {kind:?} `{name}` of {package}"))?.file)
    }

    /// Each with the name that it goes by where tests and programs lie in one folder.
    pub(crate) fn named(&self) -> impl Iterator<Item = (String, &Path)> {
        self.0.iter().map(|binary| {
            let name = binary.name.replace('_', "-");
            let is_test = binary.kind != Kind::Program;
            (if is_test { format!("test-{name}") } else { name }, Path::new(&binary.file))
        })
    }

    /// `call` with the path of a binary for each word such as `@binade-cuda/tests/device`, of `units`, `tests` or `bin`.
    pub(crate) fn named_in(&self, call: Call) -> Result<Call> {
        call.map(|word| {
            let parts: Vec<_> = word.strip_prefix('@').unwrap_or_default().split('/').collect();
            let [package, kind, name] = parts[..] else { return Ok(word) };
            let kind = match kind {
                "units" => Kind::Units,
                "tests" => Kind::Tests,
                _ => Kind::Program,
            };
            self.file(package, kind, name).map(str::to_owned)
        })
    }
}

/// The executable that a message tells of.
fn binary(message: &Value) -> Option<Binary> {
    let package = Path::new(message["manifest_path"].as_str()?).parent()?.file_name()?;
    let target = &message["target"];
    let kind = match (target["kind"][0].as_str()?, message["profile"]["test"].as_bool()?) {
        ("test", true) => Kind::Tests,
        ("bin", false) => Kind::Program,
        ("lib" | "proc-macro", true) => Kind::Units,
        _ => return None,
    };
    let [name, file] = [&target["name"], &message["executable"]].map(Value::as_str);
    let package = package.to_str()?.to_owned();
    Some(Binary { package, name: name?.to_owned(), kind, file: file?.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn equal_names_are_told_apart_by_kind() {
        let message = |kind: &str, is_test: bool, file: &str| {
            let target = json!({ "kind": [kind], "name": "device" });
            let path = "/r/crates/binade-cuda/Cargo.toml";
            json!({ "manifest_path": path, "target": target, "profile": { "test": is_test }, "executable": file })
                .to_string()
        };
        let kinds = [
            ("lib", true, "units"),
            ("bin", false, "program"),
            ("bin", true, "its units"),
            ("test", true, "tests"),
        ];
        let lines = kinds.map(|(kind, is_test, file)| message(kind, is_test, file));
        let built = Binaries::among(&lines.join("\n"));
        let named = |line| built.named_in(Call::line(line)).map(|call| call.to_string());
        assert_eq!(named("A=1 @binade-cuda/tests/device b/c").unwrap(), "A=1 tests b/c");
        assert_eq!(named("sh @binade-cuda/bin/device").unwrap(), "sh program");
        assert_eq!(named("@binade-cuda/units/device").unwrap(), "units");
        let all: Vec<_> = built.named().map(|(name, _)| name).collect();
        assert_eq!(all, ["test-device", "device", "test-device"]);
        let error = named("@binade-cuda/tests/lost").unwrap_err().to_string();
        assert_eq!(error, "cargo built no Tests `lost` of binade-cuda");
    }
}
