//! Planted mistakes: each is found, and nothing is found in what is right.

use super::*;
use crate::{
    kernels::{manifest::Entry, set::BACKEND},
    shell::root,
};

const SOURCE: &str = "// Casts.\n#include \"lib/a.cuh\"\n";
const PTX: &str = ".version 7.0\n.target sm_75\n.visible .entry cast()\n{\n\tret;\n}\n";

/// A repository with one kernel, `source` compiled to `ptx` by `compiler`.
fn repository(source: &str, ptx: &str, compiler: &str) -> Files {
    let mut files = Files::of(&[("kernels/cast.cu", source), ("kernels/lib/a.cuh", "int a;\n")]);
    let entry = Entry {
        sources: sources::hash(&files, "kernels/cast.cu").unwrap(),
        compiler: compiler.into(),
        ptx: digest::hex(ptx),
    };
    files.put(BACKEND.compiled("cast"), ptx.into());
    files.put(BACKEND.manifest(), Manifest([("cast".into(), entry)].into()).to_string());
    files
}

fn good() -> Files {
    repository(SOURCE, PTX, PINNED)
}

/// The one issue, as a person reads it.
fn only(files: &Files) -> String {
    let found = issues(files);
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].to_string()
}

#[test]
fn the_committed_ptx_is_what_its_manifest_says() {
    let found = issues(&crate::kernels::files(&root()).unwrap());
    let lines: Vec<_> = found.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "\n{}\n", lines.join("\n"));
}

#[test]
fn no_kernels_and_no_manifest_are_fine() {
    assert_eq!(issues(&Files::default()), []);
}

#[test]
fn what_was_compiled_and_left_alone_passes() {
    assert_eq!(issues(&good()), []);
}

#[test]
fn a_source_or_a_header_that_changed_is_stale() {
    for path in ["kernels/cast.cu", "kernels/lib/a.cuh"] {
        let mut files = good();
        files.put(path.into(), format!("{}int more;\n", files.text(path).unwrap()));
        let issue = only(&files);
        assert!(
            issue.starts_with("kernels/cast.cu: changed since") && issue.contains(COMPILE),
            "{issue}"
        );
    }
}

#[test]
fn ptx_that_was_edited_by_hand_is_found() {
    let mut files = good();
    files.put(BACKEND.compiled("cast"), PTX.replace("ret", "exit"));
    assert!(
        only(&files).starts_with("crates/binade-cuda/ptx/cast.ptx: not as the compiler wrote it")
    );
}

#[test]
fn a_compiler_that_is_not_the_pinned_one_is_named() {
    let issue = only(&repository(SOURCE, PTX, "12.4.131"));
    assert!(issue.contains("12.4.131") && issue.contains(PINNED), "{issue}");
}

#[test]
fn a_kernel_that_was_never_compiled_is_found() {
    let mut files = good();
    files.put("kernels/clip.cu".into(), "// Clips.\n".into());
    assert!(only(&files).starts_with("kernels/clip.cu: not compiled"));
}

#[test]
fn ptx_and_manifest_lines_without_a_source_are_found() {
    let mut files = good();
    files.put(BACKEND.compiled("gone"), PTX.into());
    assert!(only(&files).contains("no kernels/gone.cu makes it"));
    let mut lines = good().text(&BACKEND.manifest()).unwrap().to_owned();
    lines += "gone 1 13.0.88 2\n";
    let mut files = good();
    files.put(BACKEND.manifest(), lines);
    assert!(only(&files).contains("there is no kernels/gone.cu"));
}

#[test]
fn a_damaged_manifest_is_told_by_its_line() {
    let mut files = good();
    files.put(BACKEND.manifest(), "# By hand.\n<<<<<<< HEAD\n".into());
    assert!(only(&files).starts_with("crates/binade-cuda/ptx/MANIFEST:2: not a line"));
}

#[test]
fn a_header_that_asks_for_what_cannot_be_is_told_once() {
    assert!(
        only(&repository(&format!("// requires: sm_80\n{SOURCE}"), PTX, PINNED))
            .contains("compute_NN")
    );
}

#[test]
fn an_unrounded_product_is_refused_unless_the_header_lowers_the_class() {
    let ptx = PTX.replace("ret;", "mul.f32 %f1, %f1, %f1;");
    assert!(only(&repository(SOURCE, &ptx, PINNED)).contains("`__fmul_rn`"));
    let lowered = format!("// lowers: contraction is wanted\n{SOURCE}");
    assert_eq!(issues(&repository(&lowered, &ptx, PINNED)), []);
}

#[test]
fn planted_bugs_may_hold_what_the_backend_may_not() {
    let ptx = PTX.replace("ret;", "mul.f32 %f1, %f1, %f1;");
    let moved = |path: &str| {
        path.replace("kernels/cast", "kernels/faults/cast").replace(BACKEND.ptx, SETS[1].ptx)
    };
    let mut files = Files::of(&[("kernels/faults/cast.cu", "// Casts.\n")]);
    let entry = Entry {
        sources: sources::hash(&files, "kernels/faults/cast.cu").unwrap(),
        compiler: PINNED.into(),
        ptx: digest::hex(&ptx),
    };
    files.put(moved(&BACKEND.compiled("cast")), ptx);
    files.put(SETS[1].manifest(), Manifest([("cast".into(), entry)].into()).to_string());
    assert_eq!(issues(&files), []);
}
