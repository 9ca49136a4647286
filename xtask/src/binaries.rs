//! The workspace's tests and programs, built together: with one choice of features nothing is compiled twice, and without cargo
//! between them several run side by side.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{Result, ptx, shell::Call};

/// What cargo built of the workspace.
pub(crate) struct Binaries {
    all: Vec<Binary>,
    interpreter: Option<PathBuf>,
}

#[derive(Debug, PartialEq, Eq)]
struct Binary {
    /// The folder's name, which is the package's.
    package: String,
    name: String,
    kind: Kind,
    file: String,
}

/// Which of a package's binaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The unit tests of its library.
    Units,
    /// A file or a folder of its `tests`.
    Tests,
    /// A program.
    Program,
    /// A program among the examples.
    Example,
}

impl Binaries {
    /// Builds what `cargo test` of the whole workspace builds, which is done already where those tests have run.
    pub(crate) fn built() -> Result<Self> {
        let build = "test --all-features --no-run --quiet --message-format json-render-diagnostics";
        Self::of(&Call::cargo(build))
    }

    /// The binaries that a call of cargo builds, from its messages in JSON.
    pub(crate) fn of(call: &Call) -> Result<Self> {
        Ok(Self::among(&call.read()?))
    }

    /// Cargo's messages, one JSON object a line.
    fn among(messages: &str) -> Self {
        let all = messages.lines().filter_map(|line| serde_json::from_str(line).ok());
        let all = all.filter_map(|message: Value| binary(&message)).collect();
        Self { all, interpreter: ptx::library(messages) }
    }

    /// The shared library that stands in for the driver.
    pub(crate) fn interpreter(&self) -> Result<&Path> {
        self.interpreter.as_deref().ok_or_else(|| "cargo built no PTX interpreter".into())
    }

    /// The call of one, without arguments.
    pub(crate) fn call(&self, package: &str, kind: Kind, name: &str) -> Result<Call> {
        Ok(Call::of(self.file(package, kind, name)?))
    }

    /// Where one lies.
    pub(crate) fn file(&self, package: &str, kind: Kind, name: &str) -> Result<&str> {
        let mut all = self.all.iter();
        let found = all.find(|it| it.package == package && it.kind == kind && it.name == name);
        let found =
            found.ok_or_else(|| format!("cargo built no {kind:?} `{name}` of {package}"))?;
        Ok(&found.file)
    }
}

/// What a message tells of, if it is an executable.
fn binary(message: &Value) -> Option<Binary> {
    let package = Path::new(message["manifest_path"].as_str()?).parent()?.file_name()?;
    let target = &message["target"];
    let kind = match (target["kind"][0].as_str()?, message["profile"]["test"].as_bool()?) {
        ("test", true) => Kind::Tests,
        ("bin", false) => Kind::Program,
        ("example", false) => Kind::Example,
        (_, true) => Kind::Units,
        _ => return None,
    };
    Some(Binary {
        package: package.to_str()?.to_owned(),
        name: target["name"].as_str()?.to_owned(),
        kind,
        file: message["executable"].as_str()?.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(kind: &str, name: &str, is_test: bool, file: Option<&str>) -> String {
        let target = json!({ "kind": [kind], "name": name });
        let profile = json!({ "test": is_test });
        let path = "/r/crates/binade-cuda/Cargo.toml";
        json!({ "manifest_path": path, "target": target, "profile": profile, "executable": file })
            .to_string()
    }

    #[test]
    fn what_has_the_same_name_is_told_apart_by_its_kind() {
        let lines = [
            message("lib", "binade_cuda", false, None),
            message("lib", "binade_cuda", true, Some("t/units")),
            message("bin", "device", false, Some("t/device")),
            message("bin", "device", true, Some("t/device-units")),
            message("test", "device", true, Some("t/device-tests")),
            message("example", "device", false, Some("t/examples/device")),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
        ];
        let built = Binaries::among(&lines.join("\n"));
        let call = |kind, name| built.call("binade-cuda", kind, name).map(|call| call.to_string());
        assert_eq!(call(Kind::Units, "binade_cuda").unwrap(), "t/units");
        assert_eq!(call(Kind::Program, "device").unwrap(), "t/device");
        assert_eq!(call(Kind::Tests, "device").unwrap(), "t/device-tests");
        assert_eq!(call(Kind::Example, "device").unwrap(), "t/examples/device");
        let error = call(Kind::Tests, "lost").unwrap_err().to_string();
        assert_eq!(error, "cargo built no Tests `lost` of binade-cuda");
    }
}
