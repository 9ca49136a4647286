//! Tables and overrides as text, written and read back.
#![cfg(feature = "serde")]

use binade_cast_policy::{CastRule, Condition, OpTable, Overrides};
use binade_core::DType;
use proptest::{prelude::*, sample::select};

type Policy = Overrides<OpTable>;

fn rules() -> Vec<CastRule> {
    let floats = [DType::BF16, DType::F16, DType::F32, DType::F64, DType::E4M3, DType::E5M2];
    let words = [
        CastRule::Untouched,
        CastRule::Lower,
        CastRule::F32,
        CastRule::F32Output,
        CastRule::Promote,
        CastRule::PromoteStrict,
        CastRule::Unlisted,
    ];
    let banned = ["", "use \"logits\" \\ instead\n\u{7f}", "für alle"]
        .map(|why| CastRule::Banned(why.into()));
    words.into_iter().chain(floats.map(CastRule::To)).chain(banned).collect()
}

fn read(text: &str) -> Result<Policy, String> {
    toml::from_str(text).map_err(|error| error.to_string())
}

#[test]
fn a_policy_is_written_as_one_would_write_it() {
    let table = OpTable::torch_cuda().register("attention", CastRule::Lower).strict();
    let when = Condition {
        path: Some("loss.**".into()),
        reduction_above: Some(16),
        reduction_below: Some(4096),
        ..Condition::default()
    };
    let policy =
        Overrides::over(table).op("sum", CastRule::To(DType::F16)).when(when, CastRule::F32);
    let text = r#"preset = "torch_cuda"
strict = true

[operations]
attention = "lower"

[[overrides]]
op = "sum"

[overrides.rule]
to = "f16"

[[overrides]]
path = "loss.**"
reduction_above = 16
reduction_below = 4096
rule = "f32"
"#;
    assert_eq!(toml::to_string(&policy).unwrap(), text);
    assert_eq!(read(text), Ok(policy));
    let table = OpTable::torch_cuda();
    assert_eq!(serde_json::to_string(&table).unwrap(), r#"{"preset":"torch_cuda"}"#);
}

#[test]
fn an_error_names_the_line_the_value_and_what_there_is() {
    for (text, told) in [
        ("preset = 'empty'\n\nSTRICT = true", &["line 3", "`STRICT`", "`strict`"][..]),
        ("preset = 'empty'\n[[overrides]]\nrule = 'f32'\npaht = 'a'", &["line 4", "`path`"]),
        ("preset = 'empty'\n[operations]\nx = { ban = 'no' }", &["line 3", "`ban`", "`banned`"]),
        ("preset = 'torch_gpu'", &["line 1", "`torch_gpu`", "empty, torch_cuda, torch_cpu"]),
        ("preset = 'empty'\n[operations]\nx = 'lowr'", &["line 3", "`lowr`", "`lower`"]),
        ("preset = 'empty'\n[operations]\nx = { to = 'fp16' }", &["line 3", "`fp16`", "`f16`"]),
        ("preset = 'empty'\n[operations]\nx = { to = 'i64' }", &["line 3", "i64", "floating"]),
        ("preset = 'empty'\nstrict = 'yes'", &["line 2", "\"yes\"", "boolean"]),
        ("preset = 'empty'\noperations.x = 3", &["line 2", "operations.x = 3", "string or table"]),
        (
            "preset = 'empty'\n[[overrides]]\nreduction_above = -1\nrule = 'f32'",
            &["line 3", "`-1`"],
        ),
        ("preset = 'empty'\n\n[[overrides]]\nop = 'x'", &["line 3", "missing field `rule`"]),
        ("strict = true", &["missing field `preset`"]),
        ("preset = 'empty'\nstrict =", &["line 2"]),
    ] {
        let message = read(text).unwrap_err();
        assert!(told.iter().all(|word| message.contains(word)), "{text}: {message}");
    }
}

#[test]
fn a_table_alone_does_not_swallow_overrides() {
    let policy = Overrides::over(OpTable::empty()).op("sum", CastRule::F32);
    let text = toml::to_string(&policy).unwrap();
    let refused = toml::from_str::<OpTable>(&text).unwrap_err().to_string();
    assert!(refused.contains("read them as `Overrides<OpTable>`"), "{refused}");
}

#[test]
fn the_example_in_the_readme_reads() {
    let readme = include_str!("../README.md");
    // The block before it is the manifest of a crate that depends on this one.
    let example = readme.split("```toml\n").nth(2).and_then(|rest| rest.split("```").next());
    let policy = read(example.unwrap()).unwrap();
    assert_eq!(read(&toml::to_string(&policy).unwrap()), Ok(policy));
}

fn exception() -> impl Strategy<Value = (Condition, CastRule)> {
    let text = || proptest::option::of(any::<String>());
    let length = || proptest::option::of(0..1_u64 << 53);
    let parts = (text(), text(), length(), length(), select(rules()));
    parts.prop_map(|(op, path, above, below, rule)| {
        let (op, path) = (op.map(Into::into), path.map(Into::into));
        (Condition { op, path, reduction_above: above, reduction_below: below }, rule)
    })
}

proptest! {
    #[test]
    fn any_policy_reads_back_equal(
        id in select(OpTable::IDS.to_vec()),
        strict in any::<bool>(),
        registered in proptest::collection::btree_map(any::<String>(), select(rules()), 0..4),
        exceptions in proptest::collection::vec(exception(), 0..4),
    ) {
        let table = id.parse::<OpTable>().unwrap();
        let table = registered.into_iter().fold(table, |t, (name, rule)| t.register(name, rule));
        let table = if strict { table.strict() } else { table };
        prop_assert_eq!(&toml::from_str::<OpTable>(&toml::to_string(&table).unwrap()).unwrap(), &table);
        let policy = exceptions.into_iter().fold(Overrides::over(table), |p, (when, rule)| p.when(when, rule));
        prop_assert_eq!(read(&toml::to_string(&policy).unwrap()), Ok(policy.clone()));
        prop_assert_eq!(serde_json::from_str::<Policy>(&serde_json::to_string(&policy).unwrap()).unwrap(), policy);
    }
}
