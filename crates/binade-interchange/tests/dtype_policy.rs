//! Policies of a whole model: jmp's strings and Keras's names.

use binade_core::{DType, Error, ErrorKind};
use binade_interchange::{DTypePolicy, DTypePolicyError};
use proptest::{prelude::*, sample::select};

const TYPES: [DType; 4] = [DType::BF16, DType::F16, DType::F32, DType::F64];

fn refused(text: &str) -> String {
    let error = text.parse::<DTypePolicy>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    error.to_string()
}

#[test]
fn a_string_sets_parameters_arithmetic_and_results() {
    for (text, whole) in [
        ("f16", "p=f16,c=f16,o=f16"),
        ("float16", "p=f16,c=f16,o=f16"),
        // On a TPU jmp uses bf16 here.
        ("half", "p=f16,c=f16,o=f16"),
        ("full", "p=full,c=full,o=full"),
        ("c=half", "p=full,c=f16,o=f16"),
        ("p=bf16", "p=bf16,c=bf16,o=bf16"),
        ("o=f16", "p=full,c=full,o=f16"),
        ("output=f64,params=f16", "p=f16,c=f16,o=f64"),
        ("params=float32,compute=bfloat16,output=float32", "p=full,c=bf16,o=full"),
        // The last of several wins, in its short or long form.
        ("c=f16,compute=bf16", "p=full,c=bf16,o=bf16"),
    ] {
        assert_eq!(text.parse::<DTypePolicy>().unwrap().to_string(), whole, "{text}");
    }
}

#[test]
fn an_error_names_the_part_the_value_and_the_nearest_valid_one() {
    for (text, names) in [
        ("p=f32,c=fp16", "unknown dtype `fp16` in `c=fp16`: did you mean `f16`?"),
        ("bloat16", "unknown dtype `bloat16` in `bloat16`: did you mean `bfloat16`?"),
        ("c=F32", "unknown dtype `F32` in `c=F32`: did you mean `f32`?"),
        ("c= f64", "unknown dtype ` f64` in `c= f64`: did you mean `f64`?"),
        ("param=f32,c=f16", "unknown key `param` in `param=f32`: did you mean `params`?"),
        ("p=f32, c=f16", "unknown key ` c` in ` c=f16`: did you mean `c`?"),
        ("c=f16,", "`` in `c=f16,` is not one key"),
        ("c=f16=f32", "`c=f16=f32` in `c=f16=f32` is not one key"),
    ] {
        let message = refused(text);
        assert!(message.starts_with(names), "{text}: {message}");
    }
}

#[test]
fn keras_names_mean_their_compute_and_variable_types() {
    for (name, params, compute) in [
        ("mixed_bfloat16", DType::F32, DType::BF16),
        ("mixed_float16", DType::F32, DType::F16),
        ("bfloat16", DType::BF16, DType::BF16),
        ("float16", DType::F16, DType::F16),
        ("float32", DType::F32, DType::F32),
        ("float64", DType::F64, DType::F64),
    ] {
        let wanted = DTypePolicy { params, compute, output: compute };
        assert_eq!(DTypePolicy::keras(name), Ok(wanted), "{name}");
    }
}

#[test]
fn an_unknown_keras_name_is_told_with_the_nearest_and_all_there_are() {
    let error = DTypePolicy::keras("mixed_fp16").unwrap_err();
    assert!(matches!(error, DTypePolicyError::UnknownName { nearest: "mixed_float16", .. }));
    let message = error.to_string();
    for name in ["mixed_bfloat16", "mixed_float16", "bfloat16", "float16", "float32", "float64"] {
        assert!(message.contains(name), "{name} {message}");
    }
}

#[test]
fn a_type_that_jmp_has_no_name_for_is_written_and_does_not_read_back() {
    let (params, compute, output) = (DType::F32, DType::E4M3, DType::F32);
    let text = DTypePolicy { params, compute, output }.to_string();
    assert_eq!(text, "p=full,c=e4m3,o=full");
    assert!(refused(&text).contains("unknown dtype `e4m3`"));
}

proptest! {
    #[test]
    fn what_is_written_reads_back(
        params in select(&TYPES[..]), compute in select(&TYPES[..]), output in select(&TYPES[..]),
    ) {
        let whole = DTypePolicy { params, compute, output };
        prop_assert_eq!(whole.to_string().parse(), Ok(whole));
    }

    #[test]
    fn any_text_is_a_policy_or_an_error_that_quotes_it(text in "[pcoPCO=,f16 2b]{0,12}") {
        if let Err(error) = text.parse::<DTypePolicy>() {
            prop_assert!(error.to_string().contains('`'), "{}", error);
        }
    }
}
