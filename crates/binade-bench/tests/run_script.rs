//! The script that `.ci/bundle` carries to a GPU machine, among programs that say what they are.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt,
    process::{self, Command},
};

/// The files of the folder are a program's that prints its name and its arguments, and writes the last of them if that is a JSON
/// file. The one that tells of GPUs says the compute capability of one that has TF32.
fn fake(name: &str, end: i32) -> String {
    let write = "case \"$last\" in *.json) echo {} >\"$last\" ;; esac";
    let says = if name == "nvidia-smi" { "8.0".to_owned() } else { format!("I am {name} \"$@\"") };
    format!("#!/bin/sh\necho {says}\nfor last; do :; done\n{write}\nexit {end}\n")
}

/// Starts `part` of the script among programs that end so: how it ended, and what it said.
fn started(name: &str, programs: &[(&str, i32)], part: &str) -> (bool, String) {
    let folder = env::temp_dir().join(format!("binade-{name}-{}", process::id()));
    fs::create_dir_all(&folder).unwrap();
    for (program, end) in programs {
        let path = folder.join(program);
        fs::write(&path, fake(program, *end)).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::write(folder.join("COMMIT"), "c0ffee\n").unwrap();
    fs::write(folder.join("run.sh"), include_str!("../run.sh")).unwrap();
    let path = format!("{}:{}", folder.display(), env::var("PATH").unwrap());
    let mut bash = Command::new("bash");
    bash.arg(folder.join("run.sh")).arg(part).env("OUT", folder.join("out")).env("PATH", path);
    let run = bash.output().unwrap();
    fs::remove_dir_all(&folder).unwrap();
    (run.status.success(), String::from_utf8(run.stdout).unwrap())
}

#[test]
fn the_script_goes_on_after_a_test_that_fails_and_ends_badly() {
    let (ended_well, said) = started("fails", &[("test-a", 3), ("test-b", 0)], "tests");
    assert!(!ended_well && said.contains("commit c0ffee"), "{said}");
    assert!(
        said.contains("FAILED  test-a: ended with 3") && said.contains("ok      test-b"),
        "{said}"
    );
}

#[test]
fn all_parts_run_in_order_with_own_products_and_tf32_where_the_gpu_has_it() {
    let programs = [("speed", 0), ("test-device", 0), ("conformance", 0), ("nvidia-smi", 0)];
    let (ended_well, said) = started("all", &programs, "all");
    let parts = [
        "skipped PyTorch's figures",
        "I am speed --json",
        "I am test-device --test-threads=1",
        "I am test-device --test-threads=1 ops_",
        "I am conformance --device cuda --json",
        "I am conformance --device cuda --tf32",
    ];
    let places = parts.map(|it| said.find(it));
    assert!(ended_well && places.is_sorted() && places[0].is_some(), "{said}");
}

#[test]
fn pytorchs_figures_come_first_and_a_machine_that_cannot_run_it_is_told_from_a_failure() {
    for (end, told) in [
        (4, "FAILED  torch, layers and MLP: ended with 4"),
        (77, "skipped torch: speed.txt says why"),
    ] {
        let programs = [("speed", 0), ("torch_gpu_baseline.py", 0), ("python3", end)];
        let (ended_well, said) = started(&format!("torch-{end}"), &programs, "bench");
        assert!(ended_well == (end == 77) && said.contains(told), "{said}");
        let places = ["torch_gpu_baseline.py --out", "I am speed"].map(|it| said.find(it));
        assert!(places.is_sorted() && said.contains("ok      speed"), "{said}");
    }
}
