//! What cargo says that it built, one JSON object a line.

use std::path::PathBuf;

use serde_json::Value;

/// A program that was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Program {
    pub(super) path: PathBuf,
    target: String,
    is_test: bool,
}

impl Program {
    /// What it goes by in the bundle.
    pub(super) fn name(&self) -> String {
        let target = self.target.replace('_', "-");
        if self.is_test { format!("test-{target}") } else { target }
    }
}

/// The programs among the messages; libraries are none.
pub(super) fn programs(messages: &str) -> Vec<Program> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    messages.filter_map(|message| program(&message)).collect()
}

fn program(message: &Value) -> Option<Program> {
    let path = PathBuf::from(message.get("executable")?.as_str()?);
    let target = message.pointer("/target/name")?.as_str()?.to_owned();
    let is_test = message.pointer("/profile/test")?.as_bool()?;
    Some(Program { path, target, is_test })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_and_tests_are_called_so() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","target":{"name":"half"},"profile":{"test":false},"executable":null}"#,
            "\n",
            r#"{"target":{"name":"binade_cuda"},"profile":{"test":true},"executable":"t/a-1"}"#,
            "\n",
            r#"{"target":{"name":"speed"},"profile":{"test":false},"executable":"t/speed"}"#,
            "\nnot json\n",
        );
        let names: Vec<_> = programs(messages).iter().map(Program::name).collect();
        assert_eq!(names, ["test-binade-cuda", "speed"]);
    }
}
