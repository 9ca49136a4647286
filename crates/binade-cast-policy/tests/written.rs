//! Policies written as TOML and read back, and the errors of those that cannot be read.
#![cfg(feature = "toml")]

use binade_cast_policy::{Attribute, CastRule, Compare, Condition, OpTable, Overrides, TomlError};
use binade_core::{DType, Error, ErrorKind};
use proptest::{prelude::*, sample::select};

fn rules() -> Vec<CastRule> {
    vec![
        CastRule::Untouched,
        CastRule::Lower,
        CastRule::F32,
        CastRule::F32Output,
        CastRule::Promote,
        CastRule::PromoteStrict,
        CastRule::To(DType::BF16),
        CastRule::To(DType::E5M2),
        CastRule::banned("say \"no\"\n\tin C:\\temp, é, \u{7f} and \u{85}"),
        CastRule::Unlisted,
    ]
}

fn refused(text: &str) -> String {
    let error = Overrides::from_toml(text).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    error.to_string()
}

#[test]
fn every_preset_reads_back_equal_with_every_rule_and_without() {
    for id in OpTable::ids() {
        let table = OpTable::by_id(id).unwrap();
        assert_eq!(OpTable::from_toml(&table.to_toml()).as_ref(), Ok(&table), "{id}");
        let named = rules().into_iter().enumerate();
        let table = named.fold(table, |t, (i, rule)| t.register(format!("my.op {i}"), rule));
        let table = table.strict().register("", CastRule::F32).register("\"", CastRule::Lower);
        assert_eq!(OpTable::from_toml(&table.to_toml()).as_ref(), Ok(&table), "{id}");
        let policy = Overrides::over(table).path("a.**", CastRule::F32);
        assert_eq!(Overrides::from_toml(&policy.to_toml()), Ok(policy), "{id}");
    }
}

#[test]
fn a_policy_is_written_as_one_would_write_it() {
    let table = OpTable::torch_cuda().register("attention", CastRule::Lower).strict();
    let when = Condition::always()
        .path("loss.**")
        .attribute(Attribute::Exponent, Compare::Equal(2.0))
        .attribute(Attribute::ReductionLength, Compare::Above(16.0))
        .attribute(Attribute::ReductionLength, Compare::Below(4096.0));
    let policy =
        Overrides::over(table).op("sum", CastRule::To(DType::F16)).when(when, CastRule::F32);
    let text = r#"preset = "torch_cuda"
strict = true

[operations]
attention = "lower"

[[overrides]]
op = "sum"
rule = { to = "f16" }

[[overrides]]
path = "loss.**"
reduction_length = [{ above = 16.0 }, { below = 4096.0 }]
exponent = { equal = 2.0 }
rule = "f32"
"#;
    assert_eq!(policy.to_toml(), text);
    assert_eq!(Overrides::from_toml(text), Ok(policy));
}

#[test]
fn bounds_may_stand_in_one_table_and_numbers_need_no_point() {
    let text =
        "preset = 'empty'\n[[overrides]]\nexponent = {below = 1_0, above = -inf}\nrule = 'f32'";
    let when = Condition::always()
        .attribute(Attribute::Exponent, Compare::Above(f64::NEG_INFINITY))
        .attribute(Attribute::Exponent, Compare::Below(10.0));
    let policy = Overrides::over(OpTable::empty()).when(when, CastRule::F32);
    assert_eq!(Overrides::from_toml(text), Ok(policy));
}

#[test]
fn what_cannot_be_read_is_told_with_its_line_its_key_and_the_nearest_valid_one() {
    let unknown_keys = [
        (
            "preset = 'empty'\n\nSTRICT = true",
            "line 3: unknown key `STRICT`: did you mean `strict`? There are preset, ",
        ),
        (
            "preset = 'empty'\n[operation]\nx = 'f32'",
            "line 2: unknown key `operation`: did you mean `operations`?",
        ),
        (
            "preset = 'empty'\n[[overrides]]\nrule = 'f32'\n[[overrides]]\nrule = 'f32'\npaht = 'a'",
            "line 6: unknown key `overrides.paht`: did you mean `path`?",
        ),
        (
            "preset = 'empty'\n[[overrides]]\nrule = 'f32'\nexponent = { over = 1 }",
            "line 4: unknown key `overrides.exponent.over`: did you mean `above`?",
        ),
        (
            "preset = 'empty'\n[operations]\nx = { ban = 'no' }",
            "line 3: unknown key `operations.x.ban`: did you mean `banned`?",
        ),
    ];
    let unknown_values = [
        (
            "preset = 'torch_gpu'",
            "line 1: `preset` cannot be `torch_gpu`: did you mean `torch_cpu`? There are empty, ",
        ),
        (
            "preset = 'empty'\n[operations]\nx = 'lowr'",
            "line 3: `operations.x` cannot be `lowr`: did you mean `lower`?",
        ),
        (
            "preset = 'empty'\n[operations]\nx = 'f32 output'",
            "line 3: `operations.x` cannot be `f32 output`: did you mean `f32_output`?",
        ),
        (
            "preset = 'empty'\n[operations]\nx = { to = 'fp16' }",
            "line 3: `operations.x.to` cannot be `fp16`: did you mean `f16`?",
        ),
        (
            "preset = 'empty'\n[operations]\nx = { to = 'i64' }",
            "line 3: `operations.x.to` cannot be `i64`: did you mean `f64`?",
        ),
    ];
    let wrong_types = [
        ("preset = 1", "line 1: `preset` has to be a string, and is of type integer"),
        (
            "preset = 'empty'\nstrict = 'yes'",
            "line 2: `strict` has to be true or false, and is of type string",
        ),
        ("preset = 'empty'\noperations = 'f32'", "line 2: `operations` has to be a table"),
        ("preset = 'empty'\noperations.x = 3", "line 2: `operations.x` has to be a rule"),
        ("preset = 'empty'\noperations.x = {}", "line 2: `operations.x` has to be a rule"),
        (
            "preset = 'empty'\noperations.x = {to = 'f32', banned = ''}",
            "line 2: `operations.x` has to be a rule",
        ),
        (
            "preset = 'empty'\n[overrides]\nrule = 'f32'",
            "line 2: `overrides` has to be an array of tables",
        ),
        ("preset = 'empty'\noverrides = [\n3]", "line 3: `overrides` has to be an array of tables"),
        (
            "preset = 'empty'\n[[overrides]]\nexponent = []\nrule = 'f32'",
            "line 3: `overrides.exponent` has to be bounds",
        ),
        (
            "preset = 'empty'\n[[overrides]]\nexponent = {}\nrule = 'f32'",
            "line 3: `overrides.exponent` has to be bounds",
        ),
        (
            "preset = 'empty'\n[[overrides]]\nexponent = {above = 0x10}\nrule = 'f32'",
            "line 3: `overrides.exponent.above` has to be a decimal number",
        ),
    ];
    let missing_or_no_toml = [
        ("strict = true", "line 1: `preset` is missing: it has to be one of empty, torch"),
        (
            "preset = 'empty'\n[[overrides]]\nrule = 'f32'\n\n[[overrides]]\nop = 'x'",
            "line 5: `overrides.rule` is missing: it has to be",
        ),
        ("preset = 'empty'\nstrict =", "line 2: not TOML: "),
        ("preset = 'empty'\npreset = 'empty'", "line 2: not TOML: "),
    ];
    let rows = unknown_keys.into_iter().chain(unknown_values).chain(wrong_types);
    for (text, told) in rows.chain(missing_or_no_toml) {
        let message = refused(text);
        assert!(message.starts_with(told), "{message}");
    }
}

#[test]
fn nesting_without_end_is_an_error_and_no_overflow_of_the_stack() {
    for open in ["[", "{a=", "a."] {
        let much = open.repeat(100_000);
        for line in [format!("operations.x = {much}"), format!("{much}a = 1")] {
            let message = refused(&format!("preset = 'empty'\n{line}"));
            assert!(message.contains("not TOML: "), "{open}");
        }
    }
}

#[test]
fn no_line_is_made_up_where_the_parser_tells_none() {
    let message = refused(&format!("preset = 'empty'\n{}a = 1", "a.".repeat(1000)));
    assert_eq!(message, "not TOML: recursion limit");
}

#[test]
fn a_table_alone_does_not_swallow_overrides() {
    let policy = Overrides::over(OpTable::empty()).op("sum", CastRule::F32);
    assert_eq!(OpTable::from_toml(&policy.to_toml()), Err(TomlError::Layered { line: 3 }));
}

#[test]
fn a_bound_that_is_nan_is_an_error_with_its_line_and_key() {
    for (bounds, key) in [
        ("reduction_length = { above = nan }", "overrides.reduction_length.above"),
        ("exponent = [{ equal = 2 }, { below = -nan }]", "overrides.exponent.below"),
    ] {
        assert_eq!(
            refused(&format!("preset = 'empty'\n[[overrides]]\n{bounds}\nrule = 'f32'")),
            format!(
                "line 3: `{key}` is NaN, and nothing is above, below or equal to that: give a number"
            )
        );
    }
    let never = Condition::always().attribute(Attribute::ReductionLength, Compare::Above(f64::NAN));
    let written = Overrides::over(OpTable::empty()).when(never, CastRule::F32).to_toml();
    assert!(matches!(Overrides::from_toml(&written), Err(TomlError::NaN { line: 4, .. })));
}

#[test]
fn the_example_in_the_readme_reads() {
    let readme = include_str!("../README.md");
    // The block before it is the manifest of a crate that depends on this one.
    let example = readme.split("```toml\n").nth(2).and_then(|rest| rest.split("```").next());
    let policy = Overrides::from_toml(example.unwrap()).unwrap();
    assert_eq!(Overrides::from_toml(&policy.to_toml()), Ok(policy));
}

fn attribute() -> impl Strategy<Value = (Attribute, Compare)> {
    let attribute = select(&[Attribute::ReductionLength, Attribute::Exponent][..]);
    let is = (0..3, any::<f64>()).prop_map(|(which, bound)| match which {
        0 => Compare::Above(bound),
        1 => Compare::Below(bound),
        _ => Compare::Equal(bound),
    });
    (attribute, is)
}

fn exception() -> impl Strategy<Value = (Condition, CastRule)> {
    let text = || proptest::option::of(any::<String>());
    let attributes = proptest::collection::vec(attribute(), 0..4);
    (text(), text(), attributes, select(rules())).prop_map(|(op, path, attributes, rule)| {
        let when = op.into_iter().fold(Condition::always(), Condition::op);
        let when = path.into_iter().fold(when, Condition::path);
        (attributes.into_iter().fold(when, |when, (a, is)| when.attribute(a, is)), rule)
    })
}

proptest! {
    #[test]
    fn any_policy_reads_back_equal(
        id in select(OpTable::ids().collect::<Vec<_>>()),
        registered in proptest::collection::btree_map(any::<String>(), select(rules()), 0..4),
        exceptions in proptest::collection::vec(exception(), 0..4),
    ) {
        let table = OpTable::by_id(id).unwrap();
        let table = registered.into_iter().fold(table, |t, (name, rule)| t.register(name, rule));
        let policy = exceptions.into_iter().fold(Overrides::over(table), |p, (when, rule)| p.when(when, rule));
        prop_assert_eq!(Overrides::from_toml(&policy.to_toml()), Ok(policy));
    }

    #[test]
    fn no_text_is_a_panic(text in "(preset = 'empty'\n)?[a-z\\[\\]{}=,.'\"\n 0-9#-]{0,60}") {
        let _ = Overrides::from_toml(&text);
    }
}
