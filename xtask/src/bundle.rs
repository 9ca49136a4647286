//! `cargo xtask bundle`: one folder for a GPU machine that has no cargo, with tests, benchmarks and the script that runs them.

mod built;
mod check;

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use clap::Args;

use crate::{
    Result,
    shell::{Call, heard, root},
};

/// The most that the folder may hold, in bytes: what is quick to carry. No program in it has the compiler of shaders.
const MOST: u64 = 40 * 1024 * 1024;

/// The script that stands in the folder.
const SCRIPT: &str = include_str!("bundle/run.sh");

/// The scripts for PyTorch's figures, by name: the machine's and the step's first, then those of layers and of an MLP.
const TORCH: [(&str, &str); 2] = [
    ("torch_gpu_baseline.py", include_str!("../../crates/binade-bench/torch_gpu_baseline.py")),
    ("torch_rows.py", include_str!("../../crates/binade-bench/torch_rows.py")),
];

/// The profile, and so the folder that cargo puts programs in.
const PROFILE: &str = "carry";

/// What is built: the tests of the backend, those of training on it as on the CPU, and the programs that stand beside them.
const BUILDS: [&str; 3] = [
    "test --profile carry --no-run --package binade-cuda --features cudnn --message-format json",
    "test --profile carry --no-run --package binade-example-digits --features cuda --test cuda --message-format json",
    "build --profile carry --package binade-bench --no-default-features --bins --message-format json",
];

#[derive(Args)]
pub(crate) struct Bundle {
    /// Runs the script afterwards, with the PTX interpreter in the driver's place.
    #[arg(long)]
    check: bool,
}

impl Bundle {
    pub(crate) fn run(self) -> Result<()> {
        let folder = make()?;
        let bytes = size(&folder)?;
        println!("{} holds {:.1} MiB", folder.display(), mebibytes(bytes));
        if bytes > MOST {
            return Err(format!("at most {:.0} MiB are carried", mebibytes(MOST)).into());
        }
        if self.check { check::run(&folder) } else { Ok(()) }
    }
}

/// Builds everything and puts it in a new folder.
fn make() -> Result<PathBuf> {
    let mut programs = Vec::new();
    for line in BUILDS {
        programs.extend(built::programs(&Call::cargo(line).read()?));
    }
    let folder = folder(&programs)?;
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    for program in &programs {
        fs::copy(&program.path, folder.join(program.name()))?;
    }
    fs::write(folder.join("COMMIT"), commit()? + "\n")?;
    for (name, text) in TORCH {
        fs::write(folder.join(name), text)?;
    }
    let script = folder.join("run.sh");
    fs::write(&script, SCRIPT)?;
    fs::set_permissions(script, fs::Permissions::from_mode(0o755))?;
    Ok(folder)
}

/// `bundle` in the target folder, where the programs lie in one that is called as their profile.
fn folder(programs: &[built::Program]) -> Result<PathBuf> {
    let one = programs.first().ok_or("nothing was built")?;
    let target = one.path.ancestors().find(|folder| folder.ends_with(PROFILE));
    let target = target.and_then(Path::parent).ok_or("the programs lie in no target folder")?;
    Ok(target.join("bundle"))
}

/// The commit that is checked out, marked where the files are not it.
fn commit() -> Result<String> {
    let git = |arguments: &[&str]| heard(Command::new("git").args(arguments).current_dir(root()));
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?.trim().to_owned();
    let is_clean = git(&["status", "--porcelain"])?.trim().is_empty();
    Ok(if is_clean { commit } else { format!("{commit}, changed") })
}

fn size(folder: &Path) -> Result<u64> {
    let files = fs::read_dir(folder)?.map(|file| Ok(file?.metadata()?.len()));
    files.sum::<Result<u64>>()
}

#[expect(clippy::cast_precision_loss, reason = "shown with one digit")]
fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_has_no_path_but_those_of_system_libraries() {
        let allowed =
            ["/usr/bin/env", "/usr/local/cuda/lib64", "/usr/local/nvidia/lib64", "/dev/null"];
        let bare = SCRIPT.replace('"', "");
        let words = bare.split(|c: char| c.is_whitespace() || "'=(),;<>!".contains(c));
        let paths = words.filter(|word| word.starts_with('/') && word.len() > 1);
        let others: Vec<_> = paths.filter(|path| !allowed.contains(path)).collect();
        assert!(others.is_empty(), "{others:?}");
    }

    #[test]
    fn the_script_writes_eight_files_at_most() {
        let mut files: Vec<_> = SCRIPT
            .split(|c: char| !(c.is_alphanumeric() || "._".contains(c)))
            .filter(|word| {
                word.rsplit_once('.').is_some_and(|(_, end)| ["json", "txt"].contains(&end))
            })
            .collect();
        files.sort_unstable();
        files.dedup();
        assert!(files.len() <= 8 && files.contains(&"speed.json"), "{files:?}");
    }

    /// A program that prints its name and its arguments, and writes the last of them if that is a JSON file.
    ///
    /// The one that tells of GPUs says the compute capability of one that has TF32.
    fn fake(name: &str, end: i32) -> String {
        let write = "case \"$last\" in *.json) echo {} >\"$last\" ;; esac";
        let says = match name {
            "nvidia-smi" => "8.0".to_owned(),
            _ => format!("I am {name} \"$@\""),
        };
        format!("#!/bin/sh\necho {says}\nfor last; do :; done\n{write}\nexit {end}\n")
    }

    /// The script among programs that say what they are and end so, started with `part`: how it ended, and what it said.
    fn started(name: &str, programs: &[(&str, i32)], part: &str) -> (bool, String) {
        let folder = std::env::temp_dir().join(format!("binade-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        for (program, end) in programs {
            let path = folder.join(program);
            fs::write(&path, fake(program, *end)).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        fs::write(folder.join("COMMIT"), "c0ffee\n").unwrap();
        fs::write(folder.join("run.sh"), SCRIPT).unwrap();
        let mut bash = Command::new("bash");
        let bash = bash.arg(folder.join("run.sh")).arg(part).env("OUT", folder.join("out"));
        let path = std::env::var("PATH").unwrap();
        let bash = bash.env("PATH", format!("{}:{path}", folder.display()));
        let run = bash.output().unwrap();
        fs::remove_dir_all(&folder).unwrap();
        (run.status.success(), String::from_utf8(run.stdout).unwrap())
    }

    #[test]
    fn the_script_goes_on_after_a_test_that_fails_and_ends_badly() {
        let (ended_well, said) = started("fails", &[("test-a", 3), ("test-b", 0)], "tests");
        assert!(!ended_well, "{said}");
        assert!(said.contains("FAILED  test-a: ended with 3"), "{said}");
        assert!(said.contains("I am test-b") && said.contains("ok      test-b"), "{said}");
    }

    #[test]
    fn operations_are_tested_again_with_own_products() {
        let (ended_well, said) = started("own", &[("test-device", 0)], "tests");
        assert!(ended_well && said.contains("I am test-device --test-threads=1 ops_"), "{said}");
        assert!(said.contains("ok      test-device, own products"), "{said}");
    }

    #[test]
    fn the_kit_is_run_again_by_tf32_where_the_gpu_has_it() {
        let programs = [("conformance", 0), ("nvidia-smi", 0)];
        let (ended_well, said) = started("tf32", &programs, "conformance");
        assert!(ended_well && said.contains("I am conformance --device cuda --tf32"), "{said}");
        assert!(said.contains("ok      conformance, f32 by TF32"), "{said}");
    }

    #[test]
    fn the_script_ends_well_where_all_do() {
        let (ended_well, said) = started("passes", &[("test-a", 0)], "tests");
        assert!(ended_well && said.contains("commit c0ffee"), "{said}");
    }

    #[test]
    fn pytorchs_figures_come_first_and_stand_beside_ours_even_if_a_script_fails() {
        let programs = [("speed", 0), ("torch_gpu_baseline.py", 0), ("python3", 4)];
        let (ended_well, said) = started("torch", &programs, "bench");
        let places = ["torch_gpu_baseline.py --out", "torch_rows.py --out", "I am speed"]
            .map(|name| said.find(name));
        assert!(!ended_well && places.is_sorted() && places[0].is_some(), "{said}");
        assert!(said.contains("torch_gpu.json\nok      speed"), "{said}");
        assert!(said.contains("FAILED  torch, layers and MLP: ended with 4"), "{said}");
    }

    #[test]
    fn a_machine_on_which_pytorch_cannot_run_is_told_apart_from_a_failure() {
        let programs = [("speed", 0), ("torch_gpu_baseline.py", 0), ("python3", 77)];
        let (ended_well, said) = started("no-gpu", &programs, "bench");
        assert!(ended_well && said.contains("skipped torch: speed.txt says why"), "{said}");
        assert!(said.contains("ok      speed"), "{said}");
    }

    /// Without the folders of packages no Python has it.
    #[test]
    fn without_pytorch_its_scripts_say_what_to_install() {
        for (name, text) in TORCH {
            let mut python = Command::new("python3");
            let Ok(run) = python.args(["-I", "-S", "-c", text, "--out", "none.json"]).output()
            else {
                eprintln!("{name} is not run: there is no python3");
                return;
            };
            let said = String::from_utf8_lossy(&run.stderr).into_owned();
            assert_eq!(run.status.code(), Some(77), "{name}: {said}");
            assert!(said.contains("pip install torch"), "{name}: {said}");
        }
    }

    #[test]
    fn benchmarks_run_before_tests_where_all_is_asked_for() {
        let programs = [("speed", 0), ("test-device", 0), ("conformance", 0)];
        let (ended_well, said) = started("order", &programs, "all");
        let places = ["I am speed", "I am test-device", "I am conformance"].map(|it| said.find(it));
        assert!(ended_well && places.is_sorted() && places[0].is_some(), "{said}");
    }

    #[test]
    fn every_script_of_pytorchs_that_is_started_is_carried_along() {
        let started = SCRIPT.split('/').filter_map(|part| part.split_once(".py"));
        for (name, _) in started.filter(|(name, _)| name.starts_with("torch")) {
            let file = format!("{name}.py");
            assert!(TORCH.iter().any(|(carried, _)| *carried == file), "{file}");
        }
        assert_eq!(SCRIPT.matches("python3 \"$here/torch_").count(), TORCH.len());
    }

    #[test]
    fn without_a_script_for_pytorch_ours_are_measured_alone() {
        let (ended_well, said) = started("no-torch", &[("speed", 0)], "bench");
        assert!(ended_well && said.contains("skipped PyTorch's figures"), "{said}");
        assert!(said.contains("I am speed --json") && !said.contains("--torch"), "{said}");
    }

    #[test]
    fn a_part_that_does_not_exist_is_refused_with_those_that_do() {
        let (ended_well, said) = started("tset", &[], "tset");
        assert!(
            !ended_well && said.contains("bench, tests, conformance, sanitizer, all"),
            "{said}"
        );
    }
}
