//! Starts other programs from the repository's root, and shows the line that starts them.

use std::{
    env, fmt,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};

use crate::{
    Result,
    house::{ADAPTERS, ENGINES, portable, small_crates},
};

/// The repository's root. Cargo tells where this package lies now; where it lay at build time is for a start without cargo.
pub(crate) fn root() -> PathBuf {
    let package = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let package = package.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    package.parent().map_or_else(|| package.clone(), Path::to_path_buf)
}

/// One line of a shell, in which `$ROOT` is the repository, `$MEMBERS` are cargo's arguments that choose what one build is of, and `$SMALL_CRATES`,
/// `$PORTABLE`, `$ADAPTERS` and `$ENGINES` are lists of crates. Displays as it can be pasted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call(String);

impl Call {
    pub(crate) fn line(line: impl Into<String>) -> Self {
        Self(line.into())
    }

    /// Adds arguments that may hold spaces.
    pub(crate) fn args<T: AsRef<str>>(self, args: impl IntoIterator<Item = T>) -> Self {
        Self(args.into_iter().fold(self.0, |line, arg| line + " " + &quoted(arg.as_ref())))
    }

    /// Sets an environment variable for this call.
    pub(crate) fn var(self, name: &str, value: impl AsRef<str>) -> Self {
        Self(format!("{name}={} {}", quoted(value.as_ref()), self.0))
    }

    /// The process, yet to be started: in the current folder, with nothing on its standard input.
    pub(crate) fn process(&self) -> Command {
        let mut process = Command::new("sh");
        process.args(["-c", &self.0]).stdin(Stdio::null());
        process
            .env("ROOT", root())
            .env("ADAPTERS", ADAPTERS.join(" "))
            .env("ENGINES", ENGINES.join(" "))
            .env("MEMBERS", members());
        process.env("SMALL_CRATES", small_crates().collect::<Vec<_>>().join(" "));
        process.env("PORTABLE", portable().collect::<Vec<_>>().join(" "));
        process
    }

    /// Runs it in the current folder with its output shown.
    pub(crate) fn run(&self) -> Result<()> {
        let status = self.process().status()?;
        if status.success() { Ok(()) } else { Err(format!("`{self}` ended with {status}").into()) }
    }

    /// Runs it in the repository's root, shows each line that it prints behind `label`, and returns true if it ended well.
    pub(crate) fn aloud(&self, label: &str, mut hear: impl FnMut(&str)) -> Result<bool> {
        println!("{label}: {self}");
        let mut child = self.process().current_dir(root()).stdout(Stdio::piped()).spawn()?;
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
        let [out, _] = outputs(self.process().current_dir(root()), &self.0)?;
        Ok(out)
    }
}

/// Returns arguments of cargo that choose the default members, and those that build with MPI where it is installed. Every call that
/// builds them has one choice of packages, and so of features: nothing is built twice.
fn members() -> &'static str {
    static MEMBERS: OnceLock<String> = OnceLock::new();
    MEMBERS.get_or_init(|| {
        let starts = |program: &str| Command::new(program).arg("--version").output().is_ok();
        let engines = if starts("mpicc") && starts("mpirun") { &[][..] } else { &ENGINES };
        let left_out = ADAPTERS.iter().chain(engines).map(|name| format!(" --exclude {name}"));
        left_out.fold("--workspace".into(), |line, it| line + &it)
    })
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The output of a program on both streams; an error with the same when it fails or does not start.
pub(crate) fn heard(process: &mut Command) -> Result<String> {
    // The name alone: where it lies is no part of what is wrong.
    let name = Path::new(process.get_program()).file_name().unwrap_or_default().to_os_string();
    Ok(outputs(process.stdin(Stdio::null()), &name.to_string_lossy())?.concat())
}

/// Standard output and standard error of a program that ends well.
fn outputs(process: &mut Command, name: &str) -> Result<[String; 2]> {
    let output = process.output();
    let output = output.map_err(|error| format!("`{name}` did not start: {error}"))?;
    let both = [output.stdout, output.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
    if output.status.success() {
        return Ok(both);
    }
    Err(format!("`{name}` ended with {}:\n{}", output.status, both.concat().trim_end()).into())
}

/// `text` as a shell reads it as one word.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-+./,:=@%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_spaces_stay_whole_and_lists_of_crates_are_there() {
        let call = Call::line(r#"printf '%s|' "$A""#).args(["b c", "it's"]).var("A", "-D w");
        assert_eq!(call.to_string(), r#"A='-D w' printf '%s|' "$A" 'b c' 'it'\''s'"#);
        let read = |line| Call::line(line).args(["b c", "it's"]).read().unwrap();
        assert_eq!(read(r"printf '%s|' $SMALL_CRATES").split('|').next(), Some("binade-core"));
        assert!(read("echo $ADAPTERS").ends_with(" b c it's\n"));
    }

    #[test]
    fn a_failing_program_is_an_error_that_names_it() {
        let error = Call::line("cargo no-such-subcommand").read().unwrap_err().to_string();
        assert!(error.contains("`cargo no-such-subcommand`"), "{error}");
        let error = heard(Command::new("cargo").arg("no-such-subcommand")).unwrap_err().to_string();
        assert!(error.starts_with("`cargo` ended") && error.contains("no such command"), "{error}");
        let error = heard(&mut Command::new("no-such-program")).unwrap_err().to_string();
        assert!(error.starts_with("`no-such-program` did not start"), "{error}");
    }
}
