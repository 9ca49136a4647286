//! Starts other programs from the repository's root, and shows the line that starts them.

use std::{
    env, fmt,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::Result;

/// The repository's root. Cargo tells where this package lies now; where it lay at build time is for a start without cargo.
pub(crate) fn root() -> PathBuf {
    let package = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let package = package.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    package.parent().map_or_else(|| package.clone(), Path::to_path_buf)
}

/// One call of a program with its environment. Displays as a line that can be pasted into a shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    program: String,
    args: Vec<String>,
    vars: Vec<(String, String)>,
}

impl Call {
    /// `cargo` with `line` split at white space.
    ///
    /// Under rustup `$CARGO` is one toolchain's own binary, which does not know `+nightly`; the name on PATH does.
    pub(crate) fn cargo(line: &str) -> Self {
        Self::of("cargo").args(line.split_whitespace())
    }

    /// The call that `line` is in a shell: variables, a program, words, and text in single quotes as one word.
    pub(crate) fn line(line: &str) -> Self {
        let mut words = line.split('\'').enumerate().fold(vec![], split).into_iter().peekable();
        let mut vars = Vec::new();
        while let Some((name, value)) = words.peek().and_then(|word| word.split_once('=')) {
            vars.push((name.to_owned(), value.to_owned()));
            words.next();
        }
        let program = words.next().unwrap_or_default();
        Self { program, args: words.collect(), vars }
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
    pub(crate) fn var(mut self, name: &str, value: impl Into<String>) -> Self {
        self.vars.push((name.to_owned(), value.into()));
        self
    }

    /// Replaces the program and each argument by the word that `change` has for it.
    pub(crate) fn map(mut self, change: impl Fn(String) -> Result<String>) -> Result<Self> {
        self.program = change(self.program)?;
        self.args = self.args.into_iter().map(change).collect::<Result<_>>()?;
        Ok(self)
    }

    /// The process, yet to be started: in the current folder, with nothing on its standard input.
    pub(crate) fn process(&self) -> Command {
        let mut process = Command::new(&self.program);
        let vars = self.vars.iter().map(|(name, value)| (name, value));
        process.args(&self.args).envs(vars).stdin(Stdio::null());
        process
    }

    /// Runs it in the repository's root with its output shown.
    pub(crate) fn run(&self) -> Result<()> {
        let status = self.process().current_dir(root()).status()?;
        if status.success() { Ok(()) } else { Err(format!("`{self}` ended with {status}").into()) }
    }

    /// Runs it in the repository's root, shows each line that it prints behind `label`, and returns true if it ended well.
    pub(crate) fn aloud(&self, label: &str, mut hear: impl FnMut(&str)) -> Result<bool> {
        println!("{label}: {self}");
        let child = self.process().current_dir(root()).stdout(Stdio::piped()).spawn();
        let mut child = child.map_err(|error| format!("`{self}` did not start: {error}"))?;
        let output = child.stdout.take().ok_or("it has no standard output")?;
        for line in BufReader::new(output).lines() {
            let line = line?;
            println!("{label}: {line}");
            hear(&line);
        }
        Ok(child.wait()?.success())
    }

    /// Runs it in the repository's root and returns its output; its complaints are shown only when it fails.
    pub(crate) fn read(&self) -> Result<String> {
        let output = self.process().current_dir(root()).output()?;
        if output.status.success() {
            return Ok(String::from_utf8(output.stdout)?);
        }
        let complaint = String::from_utf8_lossy(&output.stderr);
        Err(format!("`{self}` ended with {}:\n{complaint}", output.status).into())
    }
}

/// Adds a piece of a line to its words: one between quotes joins the word that it stands in, another is split at spaces.
fn split(mut words: Vec<String>, (index, piece): (usize, &str)) -> Vec<String> {
    if index % 2 == 1 {
        match words.last_mut().filter(|word| word.ends_with('=')) {
            Some(word) => *word += piece,
            None => words.push(piece.to_owned()),
        }
        return words;
    }
    words.extend(piece.split_whitespace().map(String::from));
    words
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

/// The output of a program other than cargo, on both streams; an error with the same when it fails or does not start.
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

/// `text` as a shell reads it as one word. Single quotes inside are not expected in our own arguments.
fn quoted(text: &str) -> String {
    if text.contains(char::is_whitespace) { format!("'{text}'") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_read_from_a_line_of_the_shell_and_displays_as_it() {
        for line in ["RUSTDOCFLAGS='-D warnings' cargo doc --workspace", "A=1 B=2 sh -c 'a=1; b'"] {
            assert_eq!(Call::line(line).to_string(), line);
        }
        let call = Call::cargo("doc").args(["a b"]).var("A", "-D w");
        assert_eq!(call, Call::line("A='-D w' cargo doc 'a b'"));
    }

    #[test]
    fn a_failing_program_is_an_error_that_names_it() {
        let error = Call::cargo("no-such-subcommand").read().unwrap_err().to_string();
        assert!(error.contains("`cargo no-such-subcommand`"), "{error}");
        let error = heard(Command::new("cargo").arg("no-such-subcommand")).unwrap_err().to_string();
        assert!(error.starts_with("`cargo` ended") && error.contains("no such command"), "{error}");
        let error = heard(&mut Command::new("no-such-program")).unwrap_err().to_string();
        assert!(error.starts_with("`no-such-program` did not start"), "{error}");
    }
}
