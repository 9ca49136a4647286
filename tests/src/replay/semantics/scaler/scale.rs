//! Facts about the scale, its growth, and how it is set.

use super::{FIRST, Run, iterate, ready, scaling};
use crate::replay::semantics::answer::Answer;
use crate::replay::semantics::python::{list, repr};
use binade_core::Element;
use binade_interchange::protocol::{NewScale, ProtocolError, ProtocolScaler, StateDict};
use half::{bf16, f16};
use serde_json::json;

pub(super) fn found(flag: f32) -> Run {
    let mut scaler = scaling(8.0)?;
    scaler.unscale_with(FIRST, |_| Ok(Some(flag)))?;
    scaler.update()?;
    Ok(Answer::Text(format!(
        "({}, {})",
        repr(scaler.get_scale()),
        scaler.state_dict().growth_tracker
    )))
}

pub(super) fn bystander() -> Run {
    let mut scaler = ready(StateDict { growth_interval: 1, ..Default::default() })?;
    iterate(&mut scaler, 1.0)?;
    Ok(Answer::Value(json!(scaler.get_scale())))
}

pub(super) fn growth_arithmetic() -> Run {
    let config =
        StateDict { scale: 0.1, growth_factor: 1.1, growth_interval: 1, ..Default::default() };
    let mut scaler = ready(config)?;
    iterate(&mut scaler, 1.0)?;
    #[expect(clippy::cast_possible_truncation, reason = "rounding is the point")]
    let (wide, narrow) = ((f64::from(0.1_f32) * 1.1) as f32, 0.1_f32 * 1.1_f32);
    let [wide, narrow] = [wide, narrow].map(|x| repr(x.into()));
    let torch = repr(scaler.get_scale());
    Ok(Answer::Text(format!(
        "f32(f64(scale)*f64(growth)) = {wide} vs f32*f32 = {narrow}; torch {torch}"
    )))
}

/// The scale and the tracker after each of so many iterations.
fn course(scaler: &mut ProtocolScaler, iterations: usize) -> Result<String, ProtocolError> {
    let mut states = Vec::new();
    for _ in 0..iterations {
        iterate(scaler, 1.0)?;
        states.push(format!(
            "({}, {})",
            repr(scaler.get_scale()),
            scaler.state_dict().growth_tracker
        ));
    }
    Ok(format!("[{}]", states.join(", ")))
}

pub(super) fn growth_past_f32() -> Run {
    let scale = 2_f64.powi(127);
    let config = StateDict { scale, growth_interval: 1, ..Default::default() };
    Ok(Answer::Text(course(&mut ready(config)?, 3)?))
}

pub(super) fn lowered_interval() -> Run {
    let mut scaler = scaling(1.0)?;
    let before = course(&mut scaler, 4)?;
    scaler.config.growth_interval = 2;
    let after = course(&mut scaler, 5)?;
    Ok(Answer::Text(format!("{}, {}", before.trim_end_matches(']'), after.trim_start_matches('['))))
}

pub(super) fn output_types() -> Run {
    let wide = repr(2.0 * f64::from(scaling(65536.0)?.scale(1.0_f32)?));
    let wide = format!("0-dim -> torch.float64 {wide}; 1-dim -> torch.float64 [{wide}]");
    Ok(Answer::Value(json!({
        "bfloat16": both_shapes::<bf16>("bfloat16")?,
        "float16": both_shapes::<f16>("float16")?,
        "float32": both_shapes::<f32>("float32")?,
        "float64": wide,
        // An integer is made f32 before it meets the scale.
        "int32": both_shapes::<f32>("float32")?,
    })))
}

fn both_shapes<E: Element>(dtype: &str) -> Result<String, ProtocolError> {
    let mut scaler = scaling(65536.0)?;
    let alone = repr(scaler.scale(E::from_f32(2.0))?.into());
    let mut outputs = [E::from_f32(2.0)];
    scaler.scale_slice(&mut outputs)?;
    let outputs = list(&outputs.map(Element::to_f32));
    Ok(format!("0-dim -> torch.float32 {alone}; 1-dim -> torch.{dtype} {outputs}"))
}

pub(super) fn nothing_is_checked() -> Run {
    let mut scaler = scaling(4.0)?;
    let config = &mut scaler.config;
    (config.growth_factor, config.backoff_factor, config.growth_interval) = (0.5, 2.0, 0);
    scaler.load_state_dict(&StateDict {
        scale: -1.0,
        growth_factor: 0.1,
        backoff_factor: 9.0,
        growth_interval: -1,
        growth_tracker: 7,
    })?;
    Ok(Answer::Value(json!(scaler.state_dict())))
}

pub(super) fn tensor_is_rounded() -> Run {
    let mut scaler = scaling(4.0)?;
    #[expect(clippy::cast_possible_truncation, reason = "as a tensor of f32 takes an f64")]
    scaler.set_scale(NewScale::Tensor(0.1_f64 as f32))?;
    Ok(Answer::Value(json!(scaler.get_scale())))
}

pub(super) fn any_new_scale() -> Run {
    let mut scaler = scaling(4.0)?;
    iterate(&mut scaler, 1.0)?;
    let mut told = vec![scaler.state_dict().growth_tracker.to_string()];
    scaler.set_scale(NewScale::Float(77.0))?;
    told.extend([repr(scaler.get_scale()), scaler.state_dict().growth_tracker.to_string()]);
    for scale in [f64::INFINITY, -1.0, 0.0, f64::NAN] {
        scaler.set_scale(NewScale::Float(scale))?;
        told.push(repr(scaler.get_scale()));
    }
    Ok(Answer::Text(format!("[{}]", told.join(", "))))
}
