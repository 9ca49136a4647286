//! The levels are Apex's, part by part, and overrides change the part they name and no other.

use binade::OptLevel::{self, O0, O1, O2, O3};
use binade::Properties;
use binade::core::DType::{BF16, F16, F32};
use binade::grad_scaler::LossScale;
use binade::interchange::DTypePolicy;

/// The table in `apex/amp/frontend.py` (commit e13873de), in f16.
#[test]
fn the_levels_in_f16_are_apexs() {
    let (one, dynamic) = (LossScale::none(), LossScale::dynamic());
    for (level, cast_model_type, patch_torch_functions, keep_batchnorm_fp32, masters, scale) in [
        (O0, Some(F32), false, None, Some(false), one),
        (O1, None, true, None, None, dynamic),
        (O2, Some(F16), false, Some(true), Some(true), dynamic),
        (O3, Some(F16), false, Some(false), Some(false), one),
    ] {
        let ours = level.with(F16);
        assert_eq!((ours.level, ours.dtype), (level, F16));
        assert_eq!((ours.storage, ours.autocast), (cast_model_type, patch_torch_functions));
        assert_eq!((ours.keep_norm_f32, ours.master_weights), (keep_batchnorm_fp32, masters));
        assert_eq!(ours.loss_scale, scale, "{level}");
    }
}

#[test]
fn bf16_differs_from_f16_in_the_type_and_the_scale_alone() {
    for level in OptLevel::ALL {
        let (bf16, f16) = (level.with(BF16), level.with(F16));
        assert_eq!(bf16.loss_scale, LossScale::none(), "{level}");
        let low = |p: &Properties| p.storage.map(|dtype| dtype == p.dtype);
        assert_eq!(low(&bf16), low(&f16), "{level}");
        let rest = |p: &Properties| (p.autocast, p.keep_norm_f32, p.master_weights);
        assert_eq!(rest(&bf16), rest(&f16), "{level}");
    }
}

#[test]
fn every_level_is_legal_in_both_low_types() {
    for level in OptLevel::ALL {
        for dtype in [BF16, F16] {
            assert_eq!(level.with(dtype).check(), Ok(()), "{level} {dtype}");
        }
    }
    assert_eq!(O0.with(F32).check(), Ok(()), "O0 has no use for a low type");
}

#[test]
fn properties_say_what_they_give_up() {
    for (properties, text) in [
        (O0.with(F16), "O0: parameters in f32; operations as given; no loss scale"),
        (
            O1.with(F16),
            "O1 f16: parameters as they are; operations cast to f16 by policy; loss scale from 2^16, dynamic",
        ),
        (
            O1.with(BF16),
            "O1 bf16: parameters as they are; operations cast to bf16 by policy; no loss scale",
        ),
        (
            O2.with(F16),
            "O2 f16: parameters in f16, normalisation in f32, f32 masters; operations as given; \
             loss scale from 2^16, dynamic",
        ),
        (
            O3.with(F16),
            "O3 f16: parameters in f16, normalisation too, no masters, so that small updates are lost; \
             operations as given; no loss scale, so that gradients up to 2^-25 become zero",
        ),
        (
            Properties { loss_scale: LossScale::preset("log-max").unwrap(), ..O1.with(F16) },
            "O1 f16: parameters as they are; operations cast to f16 by policy; loss scale from 2^0, predicted",
        ),
    ] {
        assert_eq!(properties.to_string(), text);
    }
}

#[test]
fn a_level_is_read_as_it_is_printed() {
    for level in OptLevel::ALL {
        assert_eq!(level.to_string().parse(), Ok(level));
        assert_eq!(level.to_string().to_lowercase().parse(), Ok(level));
    }
}

#[test]
fn a_word_that_is_no_level_is_refused_with_the_words_that_are() {
    for word in ["02", "O4", "", "amp"] {
        let refused = word.parse::<OptLevel>();
        let text = refused.err().map(|error| error.to_string());
        let expected = format!(
            "`{word}` is no opt level; take O0, O1, O2 or O3, with the letter O and not a zero"
        );
        assert_eq!(text, Some(expected));
    }
}

#[test]
fn a_policy_of_a_whole_model_is_a_level() {
    let read = |text: &str| Properties::try_from(text.parse::<DTypePolicy>().unwrap());
    for (text, wanted) in [
        ("full", Properties { outputs: Some(F32), ..O0.with(F32) }),
        ("p=f32,c=f16,o=f32", Properties { outputs: Some(F32), ..O1.with(F16) }),
        ("c=bf16", Properties { outputs: Some(BF16), ..O1.with(BF16) }),
        ("f16", Properties { outputs: Some(F16), ..O2.with(F16) }),
        ("p=bf16,o=f32", O2.with(BF16)),
    ] {
        assert_eq!(read(text).unwrap(), wanted, "{text}");
        assert!(wanted.check().is_ok(), "{text}");
    }
    for text in ["p=f16,c=f32", "p=f16,c=bf16", "f64", "c=f64"] {
        let refused = read(text).unwrap_err();
        assert!(refused.to_string().contains("take `p=full,c=f16`, which is O1"), "{refused}");
    }
    assert!(read("c=f16,o=f64").unwrap().check().is_err());
}
