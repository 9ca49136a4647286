//! Tables and overrides, serialised and read back.
#![cfg(feature = "serde")]

use binade_cast_policy::{Attribute, CastRule, Compare, Condition, OpTable, Overrides};
use binade_core::DType;

fn policy() -> Overrides<OpTable> {
    let table = OpTable::apex_o1()
        .register("mine", CastRule::To(DType::BF16))
        .register("worse", CastRule::banned("do not"))
        .strict();
    let long = Condition::always()
        .path("loss.**")
        .attribute(Attribute::ReductionLength, Compare::Above(4096.0));
    Overrides::over(table).op("sum", CastRule::Lower).when(long, CastRule::F32)
}

#[test]
fn a_policy_that_was_saved_reads_back_equal() {
    let text = serde_json::to_string(&policy()).unwrap();
    let back: Overrides<OpTable> = serde_json::from_str(&text).unwrap();
    assert_eq!(back, policy());
}

#[test]
fn a_table_is_saved_by_its_presets_id() {
    let text = serde_json::to_string(&OpTable::torch_cuda()).unwrap();
    assert_eq!(text, r#"{"preset":"torch_cuda","strict":false}"#);
}

#[test]
fn an_unknown_preset_or_field_is_an_error_that_names_it() {
    let error = |text| serde_json::from_str::<OpTable>(text).unwrap_err().to_string();
    let unknown = error(r#"{"preset":"torch_tpu"}"#);
    assert!(
        unknown.starts_with("no preset is called `torch_tpu`; there are empty, torch_cuda"),
        "{unknown}"
    );
    let misspelt = error(r#"{"preset":"torch_cpu","srtict":true}"#);
    assert!(misspelt.contains("unknown field `srtict`"), "{misspelt}");
}
