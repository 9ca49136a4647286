//! Recorded casts replay to the bit under both rules of overflow, and a table with one code changed does not.

use crate::common::{failure, golden};
use binade_tests::replay::replay;
use serde_json::{Value, json};

fn casts() -> Value {
    golden("casts.json.gz")
}

/// Of three patterns: 1, 480, which is beyond E4M3's largest, and infinity.
fn three(codes: &Value) -> Value {
    let bits = [1.0, 480.0, f32::INFINITY].map(f32::to_bits);
    json!({"decode": {}, "boundary": {"f32_bits": bits, "e4m3fn": codes}})
}

#[test]
fn every_boundary_pattern_casts_as_torch_and_as_ml_dtypes_do() {
    let notes = replay(&casts()).unwrap();
    for format in ["bf16", "f16", "e4m3fn", "e5m2"] {
        for how in ["as by torch", "by both rules"] {
            let compared = notes.compared[&format!("patterns rounded to {format} {how}")];
            assert_eq!(compared, 47_446, "{format} {how}");
        }
    }
    for (format, codes) in [("f16", 1 << 16), ("e4m3fn", 1 << 8), ("e5m2", 1 << 8)] {
        assert_eq!(notes.compared[&format!("codes of {format} decoded")], codes);
    }
    assert!(notes.differences.is_empty() && notes.skipped.is_empty(), "{notes}");
}

#[test]
fn beyond_the_largest_e4m3_each_library_is_held_to_its_own_rule() {
    let (saturated, nan) = (json!([0x38, 0x7E, 0x7E]), json!([0x38, 0x7F, 0xFF]));
    replay(&three(&json!({"torch": saturated, "ml_dtypes": nan}))).unwrap();
    let torch = failure(&three(&json!({"torch": nan})));
    let expected = "boundary e4m3fn (torch): [1]: 0x43f00000 in e4m3, by Saturate, is 4.48e2 (0x43e00000), and was NaN";
    assert!(torch.starts_with(expected), "{torch}");
    let ml = failure(&three(&json!({"ml_dtypes": saturated})));
    let expected = "boundary e4m3fn (ml_dtypes): [1]: 0x43f00000 in e4m3, by NonFinite, is NaN";
    assert!(ml.starts_with(expected), "{ml}");
    let unknown = failure(&three(&json!({"jax": nan})));
    assert!(unknown.contains("the overflow rule of jax is not known here"), "{unknown}");
}

#[test]
fn what_the_two_rules_differ_on_is_counted_and_exemplified() {
    let mut tables = casts();
    let compared = &mut tables["agree"]["boundary_torch_ml_e4m3fn"];
    let differing = compared["differ_not_nan"].take();
    compared["differ_not_nan"] = json!(0);
    let error = failure(&tables);
    let expected = "agree boundary_torch_ml_e4m3fn: the number that the two rules differ on is 19082, and was 0";
    assert_eq!(error, expected);
    let compared = &mut tables["agree"]["boundary_torch_ml_e4m3fn"];
    compared["differ_not_nan"] = differing;
    compared["examples"][3]["b"] = json!(0x7E);
    let error = failure(&tables);
    assert!(error.starts_with("agree boundary_torch_ml_e4m3fn: [3]: "), "{error}");
}

#[test]
fn a_table_cut_short_fails_and_so_does_one_without_any_table() {
    let short = failure(&three(&json!({"torch": [0x38, 0x7E]})));
    assert_eq!(short, "boundary e4m3fn (torch): the number of patterns is 3, and was 2");
    let mut tables = casts();
    tables["decode"]["e5m2"]["f32_bits"].as_array_mut().unwrap().pop();
    assert_eq!(failure(&tables), "decode e5m2: the number of codes is 256, and was 255");
    let none = failure(&json!({"decode": {}, "boundary": {"f32_bits": []}}));
    assert!(none.ends_with("it has no table"), "{none}");
    let wide = failure(&three(&json!({"torch": [0x138, 0x7E, 0x7E]})));
    assert!(wide.contains("0x138 is too wide for e4m3"), "{wide}");
}
