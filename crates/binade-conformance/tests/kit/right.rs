//! The kit on a subject that is right: nothing fails, nothing is skipped, and the runner's own rules hold.

use crate::faulty::{Fault, Faulty, TOY};
use binade_conformance::{Outcome, Runner};

#[test]
fn a_right_subject_passes_every_case() {
    let report = Runner::new().require("toy").run(&TOY);
    report.assert_success();
    assert_eq!(report.skipped(), []);
    assert!(report.passed() > 1000, "{report}");
}

#[test]
fn a_filter_picks_cases_by_part_of_their_full_name() {
    let report = Runner::new().only("sum/f16/seventy").run(&TOY);
    let names: Vec<&str> = report.records().iter().map(|record| record.name.as_str()).collect();
    assert_eq!(names, ["sum/f16/seventy_thousand_ones_are_seventy_thousand"]);
    assert!(report.is_success());
}

#[test]
fn a_run_in_which_nothing_ran_fails() {
    let report = Runner::new().only("no such case").run(&TOY);
    assert!(!report.is_success());
    assert!(report.to_string().contains("nothing ran"), "{report}");
}

#[test]
fn nothing_ran_is_said_of_no_run_in_which_something_did() {
    let skipped = Runner::new().only("matmul/").run(&STORAGE).to_string();
    assert!(skipped.ends_with("; every case was skipped, which is no success"), "{skipped}");
    let failed = Runner::new().require("storage").only("matmul/").run(&STORAGE).to_string();
    assert!(failed.ends_with(" failed, 0 skipped"), "{failed}");
}

/// Subject that stores tensors and does nothing else: a stranger's first.
pub(crate) struct Stores;
pub(crate) const STORAGE: Faulty<'_> = Faulty(&Stores);

impl Fault for Stores {
    fn name(&self) -> &'static str {
        "storage"
    }

    fn lacks(&self, method: &str) -> bool {
        !["from_bits", "view", "to_bits"].contains(&method)
    }
}

#[test]
fn what_a_subject_leaves_out_is_skipped_counted_and_named() {
    let report = Runner::new().run(&STORAGE);
    assert!(report.is_success(), "{report}");
    assert_eq!(report.passed(), 5);
    assert_eq!(report.skipped().len(), report.records().len() - 5);
    assert!(report.to_string().contains("skipped mean/f32/"), "{report}");
}

#[test]
fn a_run_of_skips_alone_fails() {
    assert!(!Runner::new().only("matmul/").run(&STORAGE).is_success());
}

#[test]
fn where_a_device_is_required_a_skip_is_a_failure() {
    let runner = Runner::new().only("/f16/");
    let report = runner.clone().require("storage").run(&STORAGE);
    assert_eq!(report.failed().len(), report.records().len() - 1);
    assert!(runner.require("another").run(&STORAGE).is_success());
}

#[test]
fn an_excuse_lets_a_skip_pass_and_nothing_else() {
    let runner = Runner::new().require("storage").only("sum/");
    let excused = runner.clone().excuse("sum/", "it only stores").run(&STORAGE);
    assert_eq!(excused.failed(), []);
    assert!(
        matches!(&excused.records()[0].outcome, Outcome::Skipped(why) if why.contains("it only stores"))
    );
    let stale = Runner::new().excuse("sum/", "it only stores").run(&TOY);
    assert!(stale.failed().iter().all(|(name, _)| name.starts_with("sum/")));
    assert!(!stale.is_success());
}

#[test]
fn the_table_prints_the_arithmetic_and_the_agreement() {
    let text = Runner::new().only("matmul/bf16").run(&TOY).to_string();
    assert!(text.starts_with("toy: fma, keeps_subnormals"), "{text}");
    assert!(text.contains("bound(1)"), "{text}");
}
