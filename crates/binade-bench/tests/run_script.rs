//! The script that `.ci/bundle` carries to a GPU machine, among programs that say what they are.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{self, Command},
};

/// The files of the folder are a program's that prints its name and its arguments, and writes the last of them if that is a JSON
/// file. The one that tells of GPUs says the compute capability of one that has TF32.
fn fake(name: &str, end: i32) -> String {
    let write = "case \"$last\" in *.json) echo {} >\"$last\" ;; esac";
    let says = if name == "nvidia-smi" { "8.0".to_owned() } else { format!("I am {name} \"$@\"") };
    format!("#!/bin/sh\necho {says}\nfor last; do :; done\n{write}\nexit {end}\n")
}

/// Folder of the script and of programs, removed at its end.
struct Bundle(PathBuf);

impl Bundle {
    fn new(name: &str, programs: &[(&str, i32)]) -> Self {
        let folder = env::temp_dir().join(format!("binade-{name}-{}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("COMMIT"), "c0ffee\n").unwrap();
        fs::write(folder.join("run.sh"), include_str!("../run.sh")).unwrap();
        let bundle = Self(folder);
        for (program, end) in programs {
            bundle.put(program, &fake(program, *end));
        }
        bundle
    }

    fn put(&self, program: &str, text: &str) {
        let path = self.0.join(program);
        fs::write(&path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs a part of the script: its exit status and its output.
    fn run(&self, part: &str, seconds: u32) -> (Option<i32>, String) {
        let path = format!("{}:{}", self.0.display(), env::var("PATH").unwrap());
        let mut bash = Command::new("bash");
        bash.arg(self.0.join("run.sh")).arg(part).env("OUT", self.0.join("out")).env("PATH", path);
        let run = bash.env("BINADE_SECONDS", seconds.to_string()).output().unwrap();
        (run.status.code(), String::from_utf8(run.stdout).unwrap())
    }
}

impl Drop for Bundle {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

#[test]
fn the_script_goes_on_after_a_test_that_fails_and_ends_badly() {
    let bundle = Bundle::new("fails", &[("test-a", 3), ("test-b", 0)]);
    let (end, said) = bundle.run("tests", 60);
    assert!(end == Some(1) && said.contains("commit c0ffee"), "{said}");
    assert!(said.contains("FAILED  test-a: ended with 3"), "{said}");
    assert!(said.contains("ok      test-b: "), "{said}");
}

#[test]
fn a_second_call_keeps_what_has_ended_and_runs_what_has_not() {
    let bundle = Bundle::new("again", &[("test-a", 0), ("test-b", 0), ("test-c", 0)]);
    bundle.put("test-b", "#!/bin/sh\necho slow\nexec sleep 60\n");
    let (end, said) = bundle.run("tests", 4);
    assert!(end == Some(75) && said.contains("ok      test-a"), "{said}");
    assert!(said.contains("missing test-b: cut off after"), "{said}");
    assert!(said.contains("missing test-c: not begun"), "{said}");
    bundle.put("test-b", &fake("test-b", 0));
    let (end, said) = bundle.run("tests", 60);
    assert!(end == Some(0) && !said.contains("missing") && !said.contains("I am test-a"), "{said}");
    let all = ["I am test-b", "I am test-c", "ok      test-a", "ok      test-b", "ok      test-c"];
    assert!(all.iter().all(|it| said.contains(it)), "{said}");
    assert!(bundle.0.join("out/results.tar.gz").exists());
    fs::write(bundle.0.join("COMMIT"), "decaf\n").unwrap();
    assert_eq!(bundle.run("tests", 60), (Some(1), String::new()));
}

#[test]
fn all_parts_run_in_order_with_own_products_and_tf32_where_the_gpu_has_it() {
    let programs =
        [("speed", 0), ("test-device", 0), ("conformance", 0), ("nvidia-smi", 0), ("ncu", 0)];
    let bundle = Bundle::new("all", &[&programs[..], &[("python3", 77)]].concat());
    let (end, said) = bundle.run("all", 60);
    let parts = [
        "I am speed --json",
        "I am ncu --clock-control none",
        "I am test-device --test-threads=1",
        "I am test-device --test-threads=1 ops_",
        "I am conformance --device cuda --json",
        "== conformance, own products",
        "I am conformance --device cuda --tf32",
        "I am python3",
        "skipped compute-sanitizer initcheck",
    ];
    let places = parts.map(|it| said.find(it));
    assert!(end == Some(0) && places.is_sorted() && places[0].is_some(), "{said}");
}

#[test]
fn pytorchs_figures_come_first_and_a_machine_that_cannot_run_it_is_told_from_a_failure() {
    for (end, told) in [
        (4, "FAILED  torch, layers and MLP: ended with 4"),
        (77, "skipped torch: bench.txt says why"),
    ] {
        let programs = [("speed", 0), ("torch_gpu_baseline.py", 0), ("python3", end)];
        let (status, said) = Bundle::new(&format!("torch-{end}"), &programs).run("bench", 60);
        assert!(status == Some(i32::from(end != 77)) && said.contains(told), "{said}");
        let places = ["torch_gpu_baseline.py --out", "I am speed"].map(|it| said.find(it));
        assert!(places.is_sorted() && said.contains("ok      speed"), "{said}");
    }
}
