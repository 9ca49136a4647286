//! Recorded operations return in a region what our casts make them return, by the presets of torch's lists.

use crate::common::{failure, golden};
use binade_tests::replay::{Difference, replay};
use serde_json::{Value, json};

fn autocast() -> Value {
    golden("autocast.json.gz")
}

#[test]
fn every_operation_on_every_mix_of_types_returns_what_torchs_does() {
    let notes = replay(&autocast()).unwrap();
    let compared = |what: &str| notes.compared[what];
    assert_eq!(compared("operations on the same list"), 126 + 121);
    assert_eq!(compared("operations that torch's tests expect on their list"), 176);
    assert_eq!(compared("results of operations in a region"), 7662);
    assert_eq!(compared("operations refused in a region"), 232);
    assert_eq!(compared("promotions outside of a region"), 126);
    assert_eq!(notes.differences[&Difference::PromotionByOrder], 69);
    // More means that a filter swallows rows it should not.
    let skipped: Vec<_> = notes.skipped.values().copied().collect();
    assert_eq!(skipped, [224, 114, 44, 1704, 4528], "{notes}");
}

#[test]
fn another_type_in_any_row_is_named_with_its_region_operation_and_operands() {
    let recorded = autocast();
    let mut tried = 0;
    for place in ["cpu_bf16", "cpu_f16", "cuda_bf16", "cuda_f16"] {
        let off = format!("{}_off", place.split_once('_').unwrap().0);
        for (at, (name, rows)) in
            recorded["behaviour"][place].as_object().unwrap().iter().enumerate()
        {
            if place.starts_with("cpu") && name.ends_with("_cell") {
                continue;
            }
            // One of the first two: both are of types that every operation was compared on.
            let mix = rows.as_object().unwrap().keys().nth(at % 2).unwrap();
            let mut rows = rows.clone();
            rows[mix] = json!("f8");
            let outside = &recorded["behaviour"][&off][name];
            let error = failure(
                &json!({"registry": {}, "behaviour": {place: {name: rows}, &off: {name: outside}}}),
            );
            assert!(error.starts_with(&format!("{place}, {name} of {mix}: ")), "{error}");
            assert!(error.contains("f8"), "{error}");
            tried += 1;
        }
    }
    assert_eq!(tried, 4 * 172 - 2 * 2);
}

#[test]
fn an_operation_on_another_list_or_on_none_is_named() {
    for (change, told) in [
        (json!("fp32"), "the list of mm is Some(\"lower_precision_fp\"), and was Some(\"fp32\")"),
        (Value::Null, "the list of mm is Some(\"lower_precision_fp\"), and was None"),
    ] {
        let mut recorded = autocast();
        let registry = recorded["registry"]["AutocastCPU"].as_object_mut().unwrap();
        if change.is_null() {
            registry.remove("aten::mm");
        } else {
            registry["aten::mm"]["category"] = change;
        }
        let error = failure(&recorded);
        assert!(error.starts_with("registry AutocastCPU: ") && error.ends_with(told), "{error}");
    }
    let mut recorded = autocast();
    recorded["registry"]["AutocastCUDA"]["aten::relu"] = json!({"category": "fp32"});
    let error = failure(&recorded);
    assert!(error.ends_with("the list of relu is None, and was Some(\"fp32\")"), "{error}");
    let mut recorded = autocast();
    recorded["test_lists"]["cpu"]["torch_16"].as_array_mut().unwrap().push(json!(["exp", null]));
    let error = failure(&recorded);
    assert!(error.starts_with("test list torch_16 of cpu: exp is on None, "), "{error}");
}
