//! `cargo xtask test`: the tests that need a device, on the device that the command line names.

use std::{env, path::Path};

use clap::{Args, ValueEnum};

use crate::{Result, coverage, ptx, shell::Call};

/// The crates whose tests need a CUDA driver.
const PACKAGES: [&str; 1] = ["binade-cuda"];

#[derive(Clone, Copy, ValueEnum)]
enum Device {
    /// The PTX interpreter in place of the CUDA driver.
    Ptx,
}

#[derive(Args)]
pub(crate) struct Test {
    /// What the tests run on; they must run on it, and a skip fails.
    #[arg(long)]
    device: Device,
    /// Tells how much of each kernel ran, by PTX line; where all tests ran, less than 95 % without a reason fails.
    #[arg(long)]
    coverage: bool,
    /// With stand-ins for cuBLASLt and cuDNN beside the driver's, so that they multiply and not the kernels, and convolve
    /// where `-- --features cudnn` follows.
    #[arg(long)]
    libraries: bool,
    /// Arguments of `cargo test`; a package among them takes the place of those that need the device.
    #[arg(last = true, value_name = "ARGUMENT")]
    arguments: Vec<String>,
}

impl Test {
    pub(crate) fn run(self) -> Result<()> {
        match self.device {
            Device::Ptx => self.on_ptx(),
        }
    }

    fn on_ptx(&self) -> Result<()> {
        let folder = ptx::folder(self.libraries)?;
        let covered = folder.join("coverage");
        let call = Call::cargo("test").args(arguments(&self.arguments));
        let with = if self.libraries { with_libraries } else { with };
        let mut call = with(&folder, call);
        if self.coverage {
            coverage::empty(&covered)?;
            call = call.var("BINADE_PTX_COVERAGE", covered.display().to_string());
        }
        println!("{call}");
        let outcome = call.run();
        if self.coverage {
            let table = coverage::merged(&[covered])?;
            print!("{table}");
            // Arguments may leave tests out, and a library leaves the products' kernels out.
            if outcome.is_ok() && self.arguments.is_empty() && !self.libraries {
                table.verdict()?;
            }
        }
        outcome
    }
}

/// The same as [`with`], where `folder` has the libraries too: they must be found.
pub(crate) fn with_libraries(folder: &Path, call: Call) -> Call {
    with(folder, call)
        .var("BINADE_REQUIRE", before(Path::new("ptx,cublaslt,cudnn"), "BINADE_REQUIRE", ','))
}

/// `call` with the stand-in for the driver, which lies in `folder`, in the driver's place.
pub(crate) fn with(folder: &Path, call: Call) -> Call {
    let call = call.var("LD_LIBRARY_PATH", before(folder, "LD_LIBRARY_PATH", ':'));
    // Replicas want two devices.
    let call = call.var("BINADE_PTX_DEVICES", "2");
    call.var("BINADE_REQUIRE", before(Path::new("ptx"), "BINADE_REQUIRE", ','))
}

/// The tests' own packages, unless others are named.
fn arguments(given: &[String]) -> Vec<String> {
    let is_package = |argument: &String| {
        let (name, _) = argument.split_once('=').unwrap_or((argument, ""));
        ["--package", "--workspace", "--all"].contains(&name) || is_short_package(name)
    };
    let ours = PACKAGES.iter().flat_map(|name| ["--package".to_owned(), (*name).to_owned()]);
    let ours = ours.filter(|_| !given.iter().any(is_package));
    ours.chain(given.iter().cloned()).collect()
}

/// `-p NAME` or `-pNAME`.
fn is_short_package(argument: &str) -> bool {
    argument.starts_with("-p") && !argument.starts_with("--")
}

/// `first` and behind it what the variable holds already.
pub(crate) fn before(first: &Path, variable: &str, mark: char) -> String {
    let first = first.display();
    match env::var(variable) {
        Ok(rest) if !rest.is_empty() => format!("{first}{mark}{rest}"),
        _ => first.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(String::from).collect()
    }

    #[test]
    fn a_named_package_takes_the_place_of_ours() {
        assert_eq!(arguments(&[]), words("--package binade-cuda"));
        assert_eq!(arguments(&words("--release")), words("--package binade-cuda --release"));
        for named in ["-p digits", "-pdigits", "--package=digits", "--package digits", "--all"] {
            assert_eq!(arguments(&words(named)), words(named));
        }
        let flags = "--all-features --all-targets";
        assert_eq!(arguments(&words(flags)), words(&format!("--package binade-cuda {flags}")));
    }

    #[test]
    fn a_variable_is_extended_in_front() {
        assert_eq!(before(Path::new("ptx"), "BINADE_NO_SUCH_VARIABLE", ','), "ptx");
        let held = env::var("CARGO_MANIFEST_DIR").unwrap();
        let extended = before(Path::new("ptx"), "CARGO_MANIFEST_DIR", ',');
        assert_eq!(extended, format!("ptx,{held}"));
    }
}
