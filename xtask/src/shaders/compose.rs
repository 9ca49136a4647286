//! One text of a shader and the files it uses, which a line `//!use lib/NAME.wgsl` names, from the folder `shaders`.

use crate::{files::Files, shaders::SOURCES};

/// The text of `shaders/NAME.wgsl`: each file that is used, once and before who uses it, then the shader. The error names a file that is
/// not there.
pub(super) fn compose(files: &Files, name: &str) -> Result<String, String> {
    let body = Composing { files, seen: Vec::new() }.add(&format!("{name}.wgsl"))?;
    Ok(format!("// Composed by `cargo xtask shaders`: change the sources, in `{SOURCES}`.\n{body}"))
}

struct Composing<'a> {
    files: &'a Files,
    /// Also those that are being composed, so that files that use each other come to an end.
    seen: Vec<String>,
}

impl Composing<'_> {
    fn add(&mut self, name: &str) -> Result<String, String> {
        let path = format!("{SOURCES}/{name}");
        if self.seen.contains(&path) {
            return Ok(String::new());
        }
        self.seen.push(path.clone());
        let text =
            self.files.text(&path).ok_or_else(|| format!("it uses {path}, which is not there"))?;
        let (mut before, mut own) = (String::new(), String::new());
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("//!use ") {
                before += &self.add(name.trim())?;
            } else {
                own += line;
                own += "\n";
            }
        }
        Ok(format!("{before}\n// {path}\n{own}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_comes_first_and_once_and_a_file_that_is_not_there_is_named() {
        let shader = "// K.\n//!use lib/a.wgsl\n//!use lib/b.wgsl\nconst k = 1;\n";
        let mut files = Files::of(&[
            ("shaders/k.wgsl", shader),
            ("shaders/lib/b.wgsl", "//!use lib/a.wgsl\nconst b = 1;\n"),
        ]);
        assert!(compose(&files, "k").unwrap_err().contains("shaders/lib/a.wgsl"));
        files.put("shaders/lib/a.wgsl".into(), "//!use lib/b.wgsl\nconst a = 1;\n".into());
        let text = compose(&files, "k").unwrap();
        let is_code = |line: &&str| !line.is_empty() && !line.starts_with("//");
        let code: Vec<_> = text.lines().filter(is_code).collect();
        assert_eq!(code, ["const b = 1;", "const a = 1;", "const k = 1;"]);
    }
}
