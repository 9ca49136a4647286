//! Starting other programs: where the repository is, how a command is shown, and what its end means.

use std::{
    env, fmt,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::Result;

/// The repository's root.
///
/// Cargo tells where this package lies now; where it lay at build time is only for a binary that is started without cargo.
pub(crate) fn root() -> PathBuf {
    let package = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let package = package.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    package.parent().map_or_else(|| package.clone(), Path::to_path_buf)
}

/// One call of a program, with what must be in its environment. Displays as a line that can be pasted into a shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    program: String,
    args: Vec<String>,
    vars: Vec<(&'static str, String)>,
}

impl Call {
    /// `cargo` with `line` split at white space.
    ///
    /// Under rustup `$CARGO` is one toolchain's own binary, which does not know `+nightly`; the name on PATH does.
    pub(crate) fn cargo(line: &str) -> Self {
        Self::of("cargo").args(line.split_whitespace())
    }

    /// `program` without arguments.
    pub(crate) fn of(program: impl Into<String>) -> Self {
        Self { program: program.into(), args: Vec::new(), vars: Vec::new() }
    }

    /// Adds arguments that may hold spaces.
    pub(crate) fn args<T: Into<String>>(mut self, args: impl IntoIterator<Item = T>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets an environment variable for this call.
    pub(crate) fn var(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.vars.push((name, value.into()));
        self
    }

    /// The process, yet to be started: in the current folder, with nothing on its standard input.
    pub(crate) fn process(&self) -> Command {
        let mut process = Command::new(&self.program);
        process
            .args(&self.args)
            .envs(self.vars.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null());
        process
    }

    /// Runs it in the repository's root with its output shown.
    pub(crate) fn run(&self) -> Result<()> {
        let status = self.process().current_dir(root()).status()?;
        if status.success() { Ok(()) } else { Err(format!("`{self}` ended with {status}").into()) }
    }

    /// Runs it in the repository's root, shows each line that it prints behind `label`, and tells whether it ended well: for what
    /// runs beside others.
    pub(crate) fn aloud(&self, label: &str, mut hear: impl FnMut(&str)) -> Result<bool> {
        println!("{label}: {self}");
        let mut child = self.process().current_dir(root()).stdout(Stdio::piped()).spawn()?;
        // Always there: it was asked for above.
        let output = child.stdout.take().ok_or("it has no standard output")?;
        for line in BufReader::new(output).lines() {
            let line = line?;
            println!("{label}: {line}");
            hear(&line);
        }
        Ok(child.wait()?.success())
    }

    /// Runs it in the repository's root and returns what it printed; its complaints are shown only when it fails.
    pub(crate) fn read(&self) -> Result<String> {
        let output = self.process().current_dir(root()).output()?;
        if output.status.success() {
            return Ok(String::from_utf8(output.stdout)?);
        }
        let complaint = String::from_utf8_lossy(&output.stderr);
        Err(format!("`{self}` ended with {}:\n{complaint}", output.status).into())
    }

    /// Whether it ends well, with nothing shown.
    pub(crate) fn succeeds(&self) -> bool {
        self.process().current_dir(root()).output().is_ok_and(|output| output.status.success())
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.vars {
            write!(f, "{name}={} ", quoted(value))?;
        }
        f.write_str(&quoted(&self.program))?;
        self.args.iter().try_for_each(|arg| write!(f, " {}", quoted(arg)))
    }
}

/// What a program other than cargo printed, on both streams; an error with the same when it fails or does not start.
pub(crate) fn heard(process: &mut Command) -> Result<String> {
    // The name alone: where it lies is no part of what is wrong.
    let name = Path::new(process.get_program()).file_name().unwrap_or_default().to_os_string();
    let name = name.to_string_lossy();
    let output = process.stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("`{name}` did not start: {error}"))?;
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    let text = format!("{out}{err}");
    if output.status.success() {
        return Ok(text);
    }
    Err(format!("`{name}` ended with {}:\n{}", output.status, text.trim_end()).into())
}

/// The program of this name on PATH, if there is one.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// `text` as a shell reads it as one word. Single quotes inside are not expected in our own arguments.
fn quoted(text: &str) -> String {
    if text.contains(char::is_whitespace) { format!("'{text}'") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_displays_as_a_line_for_the_shell() {
        let call = Call::cargo("doc --workspace").args(["a b"]).var("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(call.to_string(), "RUSTDOCFLAGS='-D warnings' cargo doc --workspace 'a b'");
    }

    #[test]
    fn a_failing_call_is_an_error_that_shows_the_line() {
        let error = Call::cargo("no-such-subcommand").read().unwrap_err();
        assert!(error.to_string().contains("`cargo no-such-subcommand`"), "{error}");
    }

    #[test]
    fn a_program_is_heard_on_both_streams() {
        let cargo = |arg| heard(Command::new("cargo").arg(arg));
        assert!(cargo("--version").unwrap().starts_with("cargo "));
        let error = cargo("no-such-subcommand").unwrap_err().to_string();
        assert!(
            error.starts_with("`cargo` ended with") && error.contains("no such command"),
            "{error}"
        );
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let error = heard(&mut Command::new("no-such-program")).unwrap_err().to_string();
        assert!(error.starts_with("`no-such-program` did not start"), "{error}");
        assert_eq!(on_path("no-such-program"), None);
    }

    #[test]
    fn the_root_holds_the_workspace() {
        assert!(root().join("Cargo.lock").is_file());
    }
}
