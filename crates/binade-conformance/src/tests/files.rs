//! Reports as JSON, for programs.

use super::faulty::{Faultless, Faulty};
use super::toy::Stores;
use super::wrong::FLUSHES;
use crate::report::{SCHEMA, json};
use crate::{Arithmetic, Report, Runner, Sentence, cases};
use serde_json::Value;

/// Returns a report of the cases that only store, and of some that need more.
fn stored() -> Report {
    let runner = Runner::new().suite("Storage").suite("Autocast");
    runner.only("every_pattern_").run_on(&Faulty(&Faultless(Stores(1))))
}

fn flushed() -> Report {
    let name = "cast/f32-f16/subnormals_are_kept";
    let runner = Runner::new().only("cast/f32-f16/").known(name, "<flushes>");
    runner.run_on(&Faulty(&FLUSHES))
}

fn read(reports: &[Report]) -> Value {
    serde_json::from_str(&json(reports)).unwrap()
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect()
}

#[test]
fn json_has_what_its_schema_says_and_no_more() {
    let report = stored();
    let json = read(std::slice::from_ref(&report));
    let page = "arithmetic device failed failures known known_failures known_not_run misnamed passed rows schema skipped";
    assert_eq!(keys(&json).join(" "), page);
    assert_eq!((&json["schema"], &json["device"]), (&SCHEMA.into(), &"storage".into()));
    assert_eq!((&json["passed"], &json["failed"]), (&Value::from(4), &Value::from(1)));
    let facts = ["f64", "fma", "keeps_subnormals", "rounded_div_sqrt", "tensor_core", "tf32"];
    assert_eq!(keys(&json["arithmetic"]), facts);
    assert_eq!(keys(&json["skipped"][0]), ["case", "reason"]);
    assert_eq!(json["skipped"].as_array().map(Vec::len), Some(report.skipped().len()));
    let row = &json["rows"][0];
    let columns = "agreement cases dtype failed known operation passed skipped status suite worst";
    assert_eq!(keys(row).join(" "), columns);
    assert_eq!((&row["operation"], &row["suite"]), (&"bits".into(), &"Storage".into()));
    assert_eq!((&row["status"], &row["cases"]), (&"ok".into(), &1.into()));
}

#[test]
fn a_failure_tells_the_first_and_the_worst_element_and_how_to_run_it_alone() {
    let json = read(&[flushed()]);
    let failure = &json["failures"][0];
    let columns = "agreement case first got inputs proves rerun suite wanted worst";
    assert_eq!(keys(failure).join(" "), columns);
    assert_eq!((&failure["suite"], &failure["agreement"]), (&"Autocast".into(), &"bits".into()));
    let case = failure["case"].as_str().unwrap();
    assert_eq!(failure["rerun"], format!("BINADE_CASE='{case}'"));
    let worst = &failure["worst"];
    assert_eq!(keys(worst), ["apart", "got", "index", "wanted"]);
    assert!(failure["first"].as_u64() <= worst["index"].as_u64(), "{failure}");
    assert!(
        worst["got"].as_str().unwrap().starts_with("0x0000 (") || worst["got"] == "0x8000 (-0e0)"
    );
    // Flushed values are below the smallest normal number of f16.
    let apart = worst["apart"].as_f64().unwrap();
    assert!(apart > 0.0 && apart < 2.0_f64.powi(-14), "{failure}");
}

/// Sentence that every case of `cast` proves.
const CAST: &str =
    "`cast` rounds once, to nearest even, and is differentiable where the tensor is.";

#[test]
fn a_failure_names_the_sentences_that_its_case_proves() {
    let report = flushed();
    let json = read(std::slice::from_ref(&report));
    for (list, cases) in [("failures", report.failed().len()), ("known_failures", 1)] {
        let told = json[list].as_array().into_iter().flatten().map(|it| &it["proves"][0]);
        let told: Vec<&Value> = told.collect();
        let wanted = serde_json::json!({ "contract": "Autocast", "sentence": CAST });
        assert_eq!(told, vec![&wanted; cases], "{list}");
    }
    let line = format!("  contract   Autocast: {CAST}\n");
    let cases = report.failed().len() + report.known().len();
    assert_eq!(report.to_string().matches(&line).count(), cases);
}

#[test]
fn a_case_that_proves_several_sentences_names_each() {
    let case = "cast/f32-f16/subnormals_are_kept";
    let of = |proved: &[Sentence]| proved.iter().map(|sentence| sentence.of).collect::<Vec<_>>();
    let others = ["Autocast", "What other libraries' own tests look for"];
    assert_eq!(of(&Sentence::proved_by(case)), [&["AmpTensor"], &others[..]].concat());
    // The toy is no subject by `AmpTensor`.
    let proved = flushed().proved_by(case);
    assert_eq!(of(&proved), others);
    let text = flushed().to_string();
    let (_, text) = text.split_once("known cast").unwrap();
    let told = |sentence: &Sentence| text.contains(&format!("  contract   {sentence}\n"));
    assert!(proved.iter().all(told), "{text}");
}

/// `docs/contracts.md` is compared with the cases of one arithmetic; others may have more cases.
#[test]
fn no_case_of_any_arithmetic_is_without_a_sentence() {
    let ieee = Arithmetic::IEEE;
    let lacks = [
        ieee,
        Arithmetic { fma: false, rounded_div_sqrt: false, ..ieee },
        Arithmetic { keeps_subnormals: false, ..ieee },
        Arithmetic { f64: false, tensor_core: true, ..ieee },
    ];
    for arithmetic in lacks {
        for case in cases::all::<Faulty<'_>>(arithmetic) {
            let case = case.name();
            assert!(!Sentence::proved_by(&case).is_empty(), "{case} of {arithmetic}");
        }
    }
}

#[test]
fn known_failures_stand_apart_with_their_reason() {
    let report = flushed();
    let json = read(std::slice::from_ref(&report));
    assert_eq!(json["known"], 1);
    let known = &json["known_failures"][0];
    assert_eq!(known["reason"], "<flushes>");
    assert_eq!(known["case"], "cast/f32-f16/subnormals_are_kept");
    let listed = json["failures"].as_array().unwrap();
    assert_eq!(listed.len(), report.failed().len());
    assert!(listed.iter().all(|failure| failure["case"] != known["case"]));
}

#[test]
fn what_is_listed_and_was_not_met_stands_in_the_file() {
    let runner = Runner::new().suite("Storage").known("sum/", "<it> is wrong");
    let report = runner.excuse("some/", "a <slip>").run_on(&Faulty(&Faultless(Stores(1))));
    let json = read(std::slice::from_ref(&report));
    let listed = |name, reason| serde_json::json!([{ "name": name, "reason": reason }]);
    assert_eq!(json["known_not_run"], listed("sum/", "<it> is wrong"));
    assert_eq!(json["misnamed"], listed("some/", "a <slip>"));
}

#[test]
fn several_reports_are_a_list() {
    let reports = [stored(), flushed()];
    let json = read(&reports);
    let names: Vec<&Value> = json.as_array().into_iter().flatten().map(|d| &d["device"]).collect();
    assert_eq!(names, ["storage", "wrong"]);
    assert_eq!(read(&[]), serde_json::json!([]));
}
