//! The program of accuracies, at tiny sizes on the embedded digits, and the table that the book has of it.

use binade_bench::Origin;
use binade_bench::accuracy::{Options, measure};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

fn accuracy(out: &Path, args: &[&str]) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_accuracy"));
    program.args(["--dry-run", "--out"]).arg(out).args(args).output().unwrap()
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("accuracy").join(name);
    let _ = fs::remove_dir_all(&folder);
    folder
}

/// Returns the rows of a page's tables, a level each.
fn rows(page: &str) -> Vec<&str> {
    page.lines().filter(|line| line.starts_with("| O")).collect()
}

fn said(output: &[u8]) -> String {
    String::from_utf8_lossy(output).into_owned()
}

#[test]
fn a_second_call_repeats_no_run_and_has_the_same_tables_and_plots() {
    let out = folder("again");
    let first = accuracy(&out, &["--commit", "c0ffee"]);
    assert!(first.status.success(), "{first:?}");
    let (progress, page) = (said(&first.stderr), said(&first.stdout));
    assert_eq!(progress.lines().count(), 42, "{progress}");
    assert!(progress.contains("\n42/42 text, O3 f16, seed 2: "), "{progress}");
    assert_eq!(rows(&page).len(), 14, "{page}");
    assert!(page.contains("| O0 f32 |") && page.contains("commit c0ffee"), "{page}");
    let file = fs::read_to_string(out.join("README.md")).unwrap();
    assert_eq!(rows(&file), rows(&page));

    // One run less: it alone is repeated, and has the same figure.
    let runs = fs::read_to_string(out.join("runs.jsonl")).unwrap();
    let (rest, _) = runs.trim_end().rsplit_once('\n').unwrap();
    fs::write(out.join("runs.jsonl"), format!("{rest}\n")).unwrap();
    let second = accuracy(&out, &["--commit", "c0ffee"]);
    let progress = said(&second.stderr);
    assert!(
        progress.lines().count() == 1 && progress.starts_with("42/42 text, O3 f16"),
        "{progress}"
    );
    assert_eq!(rows(&said(&second.stdout)), rows(&page));

    for (task, figure) in [("images", "test accuracy"), ("text", "validation loss")] {
        let plot = fs::read_to_string(out.join(format!("{task}.svg"))).unwrap();
        assert!(plot.contains(figure) && plot.matches("<circle").count() == 21, "{plot}");
    }
    let other = accuracy(&out, &["--commit", "decaf"]);
    let told = said(&other.stderr);
    assert!(
        !other.status.success() && told.contains("runs of commit c0ffee, and this is decaf"),
        "{told}"
    );
    let whole = Options { out, data: None, only: Vec::new(), dry_run: false };
    let refused = measure(&whole, Origin::new("", None, Some("c0ffee".into()))).unwrap_err();
    assert!(refused.to_string().contains("it has dry runs"), "{refused}");
}

#[test]
fn runs_on_other_pictures_are_refused() {
    let (out, data) = (folder("pictures"), folder("pictures_data"));
    fs::create_dir_all(&out).unwrap();
    fs::create_dir_all(&data).unwrap();
    for (name, count) in [("train", 2_u8), ("t10k", 1)] {
        let images = vec![0, 0, 8, 3, 0, 0, 0, count, 0, 0, 0, 1, 0, 0, 0, 1];
        let labels = vec![0, 0, 8, 1, 0, 0, 0, count];
        for (kind, mut bytes) in [("images-idx3", images), ("labels-idx1", labels)] {
            bytes.resize(bytes.len() + usize::from(count), 1);
            fs::write(data.join(format!("{name}-{kind}-ubyte")), bytes).unwrap();
        }
    }
    let run = serde_json::json!({
        "task": "images", "arguments": "digits", "pictures": "0123", "setting": "O0 f32", "seed": 0,
        "figure": 90.0, "steps": 1, "skipped": 0, "diverged": null, "seconds": 1.0,
    });
    fs::write(out.join("runs.jsonl"), format!("{{\"commit\":\"c0ffee\"}}\n{run}\n")).unwrap();
    let options = Options { out, data: Some(data), only: Vec::new(), dry_run: false };
    let refused = measure(&options, Origin::new("", None, Some("c0ffee".into()))).unwrap_err();
    assert!(refused.to_string().contains("line 2 had other pictures"), "{refused}");
}

#[test]
fn a_line_that_is_no_run_is_named() {
    let out = folder("torn");
    assert!(accuracy(&out, &["--only", "text", "--commit", "c0ffee"]).status.success());
    let path = out.join("runs.jsonl");
    let runs = fs::read_to_string(&path).unwrap();
    fs::write(&path, &runs[..runs.len() - 9]).unwrap();
    let torn = accuracy(&out, &["--only", "text", "--commit", "c0ffee"]);
    let told = said(&torn.stderr);
    assert!(!torn.status.success() && told.contains("runs.jsonl: line 22 is no run"), "{told}");
}

#[cfg(unix)]
#[test]
fn without_a_network_the_script_says_what_to_do() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder("offline");
    fs::create_dir_all(&folder).unwrap();
    let apt = folder.join("apt-get");
    fs::write(&apt, "#!/bin/sh\nexit 100\n").unwrap();
    fs::set_permissions(&apt, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.display(), env::var("PATH").unwrap());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("fashion_mnist.sh");
    let data = folder.join("data");
    let run = Command::new("bash").arg(script).arg(&data).env("PATH", path).output().unwrap();
    if Path::new("/usr/share/datasets/fashion-mnist").exists() {
        // The package is installed: nothing is downloaded.
        return;
    }
    let told = said(&run.stderr);
    assert!(!run.status.success() && told.contains("carry the four files"), "{told}");
    assert!(!data.exists() && !folder.join("data.new").exists());
}

#[test]
fn the_book_has_the_tables_that_its_runs_give() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let book = fs::read_to_string(here.join("../../docs/src/accuracy.md")).unwrap();
    let (_, link) = book.split_once("binade-bench/results/").unwrap();
    let name = link.split(['/', ')']).next().unwrap();
    let (results, out) = (here.join("results").join(name), folder("book"));
    fs::create_dir_all(&out).unwrap();
    fs::copy(results.join("runs.jsonl"), out.join("runs.jsonl")).unwrap();
    let commit = name.rsplit('-').next().map(String::from);
    let options = Options { out, data: None, only: Vec::new(), dry_run: false };
    let page = measure(&options, Origin::new("", None, commit)).unwrap().to_string();
    assert_eq!(rows(&page).len(), 14, "{page}");
    assert_eq!(rows(&book), rows(&page));
    assert_eq!(rows(&fs::read_to_string(results.join("README.md")).unwrap()), rows(&page));
}
