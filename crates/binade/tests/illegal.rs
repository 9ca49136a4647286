//! Combinations that are refused, each with the whole reason and its nearest neighbour that is legal.

use binade::OptLevel::{O0, O1, O2, O3};
use binade::core::DType::{BF16, E4M3, F16, F32, F64, I64};
use binade::core::{Error, ErrorKind};
use binade::grad_scaler::LossScale;
use binade::{Properties, Setup};
use binade_cpu::Cpu;

/// Holds the whole text, and that nothing can be set up with it.
fn refused(properties: Properties, text: &str) {
    let illegal = properties.check().expect_err(text);
    assert_eq!(illegal.to_string(), text);
    assert_eq!(illegal.kind(), ErrorKind::InvalidArgument);
    assert_eq!(Setup::new(Cpu, properties).err(), Some(illegal));
}

fn legal(properties: &Properties) {
    assert_eq!(properties.check(), Ok(()), "{properties}");
}

fn with_autocast(mut properties: Properties, on: bool) -> Properties {
    properties.autocast = on;
    properties
}

#[test]
fn types_that_nothing_can_be_trained_in() {
    for dtype in [F64, E4M3, I64] {
        for level in [O1, O2, O3] {
            let text = format!("{level} with {dtype}: the low type must be bf16 or f16");
            refused(level.with(dtype), &text);
        }
        for level in [O0, O2, O3] {
            let text = format!(
                "{level} with parameters in {dtype}: they can be stored in bf16, f16 or f32"
            );
            refused(Properties { storage: Some(dtype), ..level.with(F16) }, &text);
            legal(&Properties { storage: Some(F32), ..level.with(F16) });
        }
    }
    refused(
        O2.with(F32),
        "O2 with f32: the low type must be bf16 or f16; to train in f32, take O0",
    );
    refused(
        Properties { outputs: Some(I64), ..O2.with(F16) },
        "O2 with outputs in i64: they can be brought to bf16, f16 or f32",
    );
    legal(&O0.with(I64));
}

#[test]
fn choices_about_parameters_at_o1_and_autocast_elsewhere() {
    for dtype in [BF16, F16] {
        let text = format!(
            "O1 casts operands where they are used and leaves parameters in f32; {dtype} parameters are what O2 is for"
        );
        refused(Properties { storage: Some(dtype), ..O1.with(dtype) }, &text);
        legal(&Properties { storage: Some(F32), ..O1.with(dtype) });
    }
    for keep in [false, true] {
        refused(
            Properties { keep_norm_f32: Some(keep), ..O1.with(F16) },
            "O1 keeps all parameters in f32, so keep_norm_f32 has nothing to say there; leave it out, or choose O2",
        );
        refused(
            Properties { master_weights: Some(keep), ..O1.with(F16) },
            "O1 keeps all parameters in f32, so they are their own masters; leave master_weights out, or choose O2",
        );
        legal(&Properties { keep_norm_f32: Some(keep), ..O2.with(F16) });
    }
    for level in [O0, O2, O3] {
        let text = format!(
            "{level} casts parameters, not operations; autocast belongs to O1: choose O1, or leave autocast off"
        );
        refused(with_autocast(level.with(F16), true), &text);
    }
    legal(&with_autocast(O1.with(F16), false));
}

#[test]
fn f16_without_a_scale_above_one_unless_asked_for() {
    let fixed = |scale| LossScale::fixed(scale).expect("a power of two");
    let held = LossScale::dynamic().with_limits(0.125, 1.0).expect("limits");
    for (level, rule) in
        [O1, O2].into_iter().flat_map(|l| [LossScale::none(), fixed(0.125), held].map(|r| (l, r)))
    {
        let text = format!(
            "{level} in f16 without loss scaling: gradients up to 2^-25 become zero without a word. Leave the loss \
             scale dynamic, choose bf16, or ask for it with `unscaled_f16: true`"
        );
        let unscaled = Properties { loss_scale: rule, ..level.with(F16) };
        refused(unscaled.clone(), &text);
        legal(&Properties { unscaled_f16: true, ..unscaled });
        legal(&Properties { loss_scale: rule, ..level.with(BF16) });
    }
    let rising = LossScale::dynamic().with_init_scale(1.0).expect("a power of two");
    let predicted = LossScale::preset("log-max").expect("a preset");
    for rule in [fixed(2.0), rising, predicted] {
        legal(&Properties { loss_scale: rule, ..O2.with(F16) });
    }
    legal(&O3.with(F16));
}

#[test]
fn sixteen_bits_without_masters_but_at_o3() {
    let text = |level, dtype| {
        format!(
            "{level} stores {dtype} parameters without masters: updates below half a unit in the last place are lost. \
             Keep master_weights, or choose O3, which is that choice by name"
        )
    };
    for dtype in [BF16, F16] {
        refused(Properties { master_weights: Some(false), ..O2.with(dtype) }, &text(O2, dtype));
        let scaled =
            Properties { storage: Some(dtype), loss_scale: LossScale::dynamic(), ..O0.with(dtype) };
        refused(scaled.clone(), &text(O0, dtype));
        legal(&Properties { master_weights: Some(true), ..scaled });
        legal(&Properties { master_weights: Some(true), ..O3.with(dtype) });
    }
    legal(&Properties { storage: Some(F32), master_weights: Some(false), ..O2.with(F16) });
}
