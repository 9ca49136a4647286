//! Presets against torch's registries. The results of its operations are replayed in `tests/tests/golden_autocast.rs`.

use crate::common::golden;
use binade_cast_policy::{CastPolicy, CastRule, Category, OpCall, OpTable};
use binade_core::{DType, Op, OpClass};
use serde_json::Value;

fn tables() -> [(&'static str, OpTable); 2] {
    [("cpu", OpTable::torch_cpu()), ("cuda", OpTable::torch_cuda())]
}

/// Returns torch's name of a list.
fn torch_name(category: Category) -> Option<&'static str> {
    Some(match category {
        Category::Lower => "lower_precision_fp",
        Category::F32 => "fp32",
        Category::F32Output => "fp32_set_opt_dtype",
        Category::F32Append => "fp32_append_dtype",
        Category::Promote => "promote",
        Category::Banned => "banned",
        _ => return None,
    })
}

#[test]
fn the_lists_equal_torchs_registry_on_both_devices() {
    let golden = golden();
    for (device, table) in tables() {
        let registry = golden["registry"][device].as_object().unwrap();
        let (mut lists, mut names) = (0, 0);
        for category in Category::ALL {
            let Some(torch) = torch_name(category) else { continue };
            let listed: Vec<_> = table.listed(category).collect();
            let Some(registered) = registry.get(torch) else {
                assert!(listed.is_empty(), "{device} {torch}");
                continue;
            };
            let mut registered: Vec<_> =
                registered.as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect();
            registered.sort_unstable();
            assert_eq!(listed, registered, "{device} {torch}");
            (lists, names) = (lists + 1, names + registered.len());
        }
        assert_eq!(lists, registry.len(), "{device}: a list that no category stands for");
        assert_eq!(names, if device == "cpu" { 126 } else { 121 });
    }
}

#[test]
fn apex_lists_have_the_published_lengths_and_banned_operation() {
    let table = OpTable::apex_o1();
    let count = |category| table.listed(category).count();
    let counts = [Category::Lower, Category::F32, Category::Promote].map(count);
    // Lower: 8 functional, 10 more of torch, `__matmul__`. F32: 29 functional, 23 of torch, 4 of tensors.
    // Promote: 16 of torch, 2 on sequences, 21 operators.
    assert_eq!(counts, [8 + 10 + 1, 29 + 23 + 4, 16 + 2 + 21]);
    assert_eq!(table.listed(Category::Banned).collect::<Vec<_>>(), ["binary_cross_entropy"]);
}

#[test]
fn the_readme_says_what_binades_operations_resolve_to() {
    let readme = include_str!("../README.md");
    let presets = [OpTable::torch_cuda(), OpTable::torch_cpu(), OpTable::apex_o1()];
    let listed = |op: &&Op| presets.iter().any(|table| table.find(op.name()).is_some());
    for op in Op::ALL.iter().filter(listed) {
        let cell = |table: &OpTable| match table.find(op.name()) {
            Some((_, listed)) => format!("{} (`{listed}`)", table.rule(&OpCall::new(*op, &[]))),
            None => "untouched".to_owned(),
        };
        let cells = presets.each_ref().map(cell).join(" | ");
        let row = format!("| `{}` | {cells} |\n", op.name());
        assert!(readme.contains(&row), "the README lacks\n{row}");
    }
    for op in Op::ALL.iter().filter(|op| !listed(op)) {
        assert!(!readme.contains(&format!("| `{}` |", op.name())), "{op:?} is in no list");
    }
}

#[test]
fn a_lookup_ignores_overloads_on_both_sides() {
    let table = OpTable::torch_cuda();
    for (asked, listed) in
        [("softmax", "softmax.int"), ("pow", "pow.Scalar"), ("sum.dim_IntList", "sum")]
    {
        assert_eq!(table.find(asked).unwrap().1, listed);
    }
    assert_eq!(table.find("soft"), None);
    assert_eq!(table.find(""), None);
}

#[test]
fn a_registered_operation_wins_over_the_lists_and_the_latest_word_counts() {
    let call = OpCall::new(Op::MATMUL, &[DType::F32]);
    let table = OpTable::torch_cuda().register("matmul", CastRule::F32);
    assert_eq!(table.rule(&call), CastRule::F32);
    assert_eq!(table.register("matmul", CastRule::Untouched).rule(&call), CastRule::Untouched);
}

#[test]
fn a_strict_table_refuses_what_is_on_no_list_and_says_how_to_register_it() {
    let mine = Op::custom("my_op", OpClass::Other);
    let mine = OpCall { path: "head", ..OpCall::new(mine, &[DType::F32]) };
    assert_eq!(OpTable::torch_cuda().rule(&mine), CastRule::Untouched);
    let strict = OpTable::torch_cuda().strict();
    let refusal = strict.rule(&mine).decide(&mine, DType::F16).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "`my_op` at `head` is on no list and the policy is strict: say what it needs, \
         as in `table.register(\"my_op\", CastRule::Untouched)`"
    );
    assert_eq!(strict.register("my_op", CastRule::Lower).rule(&mine), CastRule::Lower);
}

#[test]
fn a_banned_operation_is_refused_with_advice() {
    let bce = OpCall::new(Op::custom("binary_cross_entropy", OpClass::Loss), &[DType::F16]);
    for table in [OpTable::torch_cuda(), OpTable::apex_o1()] {
        let refusal = table.rule(&bce).decide(&bce, DType::F16).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "`binary_cross_entropy` is banned in an autocast region: 16 bits round a sigmoid to exactly 0 or 1, \
             whose logarithms are infinite; use `binary_cross_entropy_with_logits`, which takes the logits, \
             or run this with autocast off on f32 operands"
        );
    }
    assert_eq!(OpTable::torch_cpu().rule(&bce), CastRule::F32);
}

/// The shared helpers read the file that the tests were written against.
#[test]
fn the_golden_file_is_of_torch_2_15() {
    assert!(matches!(&golden()["torch"], Value::String(version) if version.starts_with("2.15.")));
}

#[test]
fn a_table_is_found_by_its_own_id_and_differs_from_every_other() {
    let made = [OpTable::empty(), OpTable::torch_cuda(), OpTable::torch_cpu(), OpTable::apex_o1()];
    for (i, (id, own)) in OpTable::IDS.into_iter().zip(&made).enumerate() {
        assert_eq!(id.parse().as_ref(), Ok(own), "{id}");
        for (j, other) in made.iter().enumerate() {
            assert_eq!(own == other, i == j, "{own:?} {other:?}");
        }
    }
    assert_eq!(
        "torch".parse::<OpTable>().unwrap_err().to_string(),
        "no preset is called `torch`; there are empty, torch_cuda, torch_cpu, apex_o1"
    );
    let table = OpTable::torch_cuda;
    assert_ne!(table(), table().strict());
    assert_ne!(table(), table().register("mine", CastRule::F32));
    assert_ne!(table().register("mine", CastRule::Lower), table().register("mine", CastRule::F32));
}
