//! Claims of the page on policy overrides.

use binade::cast_policy::Explanation;
use binade::prelude::*;
use binade_example_pages::policy_overrides::{explanations, refusal, run};

#[test]
fn each_exception_gives_its_rule_and_says_so() {
    let expected = [
        (CastRule::Lower, "`linear` on its lower precision list"),
        (CastRule::F32, "(path `head.*`)"),
        (CastRule::F32, "(op `tanh`)"),
        (CastRule::Untouched, "`mean` on no list"),
        (CastRule::F32, "(op `mean` and reduction length > 4096)"),
        (CastRule::Lower, "`flash_attention` was registered so"),
        (CastRule::banned("gate with `add` in the encoder"), "(op `mul` and path `encoder.**`)"),
    ];
    let explained = explanations();
    assert_eq!(explained.len(), expected.len());
    for (explanation, (rule, reason)) in explained.iter().zip(expected) {
        assert_eq!(explanation.rule, rule, "{explanation}");
        assert!(explanation.to_string().contains(reason), "{explanation}");
    }
}

#[test]
fn an_explanation_counts_the_bytes_of_its_casts() {
    let bytes: Vec<_> = explanations().iter().map(Explanation::bytes).take(2).collect();
    assert_eq!(bytes, [Some(2 * (512 + 4096)), None]);
}

#[test]
fn a_model_computes_as_was_explained() {
    assert_eq!(run().unwrap(), [DType::F16, DType::F32, DType::F32]);
}

#[test]
fn a_banned_operation_is_refused_with_the_advice() {
    let text = refusal().unwrap();
    assert!(text.contains("`mul` at `encoder.0.gate`"), "{text}");
    assert!(text.contains("gate with `add` in the encoder"), "{text}");
}
