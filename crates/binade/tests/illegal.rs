//! Combinations that are refused, each with the whole reason and its nearest neighbour that is legal.

use binade::OptLevel::{self, O0, O1, O2, O3};
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

#[test]
fn a_low_type_that_is_none() {
    for level in [O1, O2, O3] {
        for dtype in [F32, F64, E4M3, I64] {
            let advice = if dtype == F32 { "; to train in f32, take O0" } else { "" };
            let text = format!("{level} with {dtype}: the low type must be bf16 or f16{advice}");
            refused(level.with(dtype), &text);
        }
    }
    legal(&O0.with(I64));
}

#[test]
fn parameters_in_a_type_that_cannot_be_trained() {
    for level in [O0, O2, O3] {
        for dtype in [F64, E4M3, I64] {
            let text = format!(
                "{level} with parameters in {dtype}: they can be stored in bf16, f16 or f32"
            );
            refused(level.with(F16).with_storage(dtype), &text);
        }
        legal(&level.with(F16).with_storage(F32));
    }
}

#[test]
fn low_parameters_at_o1() {
    for dtype in [BF16, F16] {
        let text = format!(
            "O1 casts operands where they are used and leaves parameters in f32; {dtype} parameters are what O2 is for"
        );
        refused(O1.with(dtype).with_storage(dtype), &text);
        legal(&O1.with(dtype).with_storage(F32));
    }
}

#[test]
fn autocast_anywhere_but_at_o1() {
    for level in [O0, O2, O3] {
        let text = format!(
            "{level} casts parameters, not operations; autocast belongs to O1: choose O1, or leave autocast off"
        );
        refused(level.with(F16).with_autocast(true), &text);
        legal(&level.with(F16).with_autocast(false));
    }
    legal(&O1.with(F16).with_autocast(false));
}

#[test]
fn kept_normalisation_at_o1() {
    for keep in [false, true] {
        refused(
            O1.with(F16).with_keep_norm_f32(keep),
            "O1 keeps all parameters in f32, so keep_norm_f32 has nothing to say there; leave it out, or choose O2",
        );
        legal(&O2.with(F16).with_keep_norm_f32(keep));
    }
}

#[test]
fn masters_at_o1() {
    for keep in [false, true] {
        refused(
            O1.with(F16).with_master_weights(keep),
            "O1 keeps all parameters in f32, so they are their own masters; leave master_weights out, or choose O2",
        );
    }
}

/// Rules that never lift a gradient: at 1, below, and held there by the ceiling.
fn never_above_one() -> [LossScale; 3] {
    let held = LossScale::dynamic().with_limits(0.125, 1.0).expect("limits");
    [LossScale::none(), LossScale::fixed(0.125).expect("a power of two"), held]
}

#[test]
fn f16_without_a_scale_unless_asked_for() {
    for (level, rule) in [O1, O2].into_iter().flat_map(|l| never_above_one().map(|r| (l, r))) {
        let text = format!(
            "{level} in f16 without loss scaling: gradients up to 2^-25 become zero without a word. Leave the loss \
             scale dynamic, choose bf16, or ask for it with `allow_unscaled_f16()`"
        );
        let unscaled = level.with(F16).with_loss_scale(rule);
        refused(unscaled.clone(), &text);
        legal(&unscaled.allow_unscaled_f16());
        legal(&level.with(BF16).with_loss_scale(rule));
    }
}

#[test]
fn f16_with_any_scale_above_one_is_enough() {
    let rising = LossScale::dynamic().with_init_scale(1.0).expect("a power of two");
    let predicted = LossScale::preset("log-max").expect("a preset");
    for rule in [LossScale::fixed(2.0).expect("a power of two"), rising, predicted] {
        legal(&O2.with(F16).with_loss_scale(rule));
    }
}

#[test]
fn o3_is_asking_for_f16_without_a_scale() {
    legal(&O3.with(F16));
    legal(&O3.with(F16).with_loss_scale(LossScale::dynamic()));
}

#[test]
fn sixteen_bits_without_masters_but_at_o3() {
    let text = |level: OptLevel, dtype| {
        format!(
            "{level} stores {dtype} parameters without masters: updates below half a unit in the last place are lost. \
             Keep master_weights, or choose O3, which is that choice by name"
        )
    };
    for dtype in [BF16, F16] {
        refused(O2.with(dtype).with_master_weights(false), &text(O2, dtype));
        let scaled = O0.with(dtype).with_storage(dtype).with_loss_scale(LossScale::dynamic());
        refused(scaled.clone(), &text(O0, dtype));
        legal(&scaled.with_master_weights(true));
        legal(&O3.with(dtype));
        legal(&O3.with(dtype).with_master_weights(true));
    }
    legal(&O2.with(F16).with_storage(F32).with_master_weights(false));
}
