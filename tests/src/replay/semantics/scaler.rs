//! Facts about the scaler, run by the torch-compatible protocol.

use super::answer::Answer;
use super::python::{list, repr};
use binade_core::Element;
use binade_grad_scaler::protocol::{
    NewScale, OptimizerId, ProtocolConfig, ProtocolError, ProtocolScaler, StateDict, Verdict,
};
use half::{bf16, f16};
use serde_json::json;

const FIRST: OptimizerId = OptimizerId(0);
const SECOND: OptimizerId = OptimizerId(1);

type Run = Result<Answer, ProtocolError>;

/// A fact's name, and what to do for it.
const RUNS: &[(&str, fn() -> Run)] = &[
    ("_amp_foreach empty tensor in the list", empty_beside_infinite),
    ("_amp_update_scale_ with found_inf -1", || found(-1.0)),
    ("_amp_update_scale_ with found_inf NaN", || found(f32::NAN)),
    ("an optimizer that is neither unscaled nor stepped is of no concern to update()", bystander),
    ("bf16 gradient 3.3e38 (near max) * 0.5", bf16_near_its_largest),
    ("growth arithmetic", growth_arithmetic),
    ("growth past f32's range: scale kept, tracker reset", growth_past_f32),
    ("lowering growth_interval below the tracker", lowered_interval),
    (
        "one optimizer whose parameters have no gradients: unscale_, step, update, (grads appear) unscale_, step, update, \
         update(8.0), step, update",
        wedged,
    ),
    ("one parameter in two optimizers is unscaled twice (16, scale 4)", unscaled_twice),
    ("ordinary Adam with an inf gradient", skipped),
    ("scale backs off to 0: the next step is taken with inf/NaN gradients", backs_off_to_zero),
    ("scale below 2^-128: reciprocal overflows to inf", infinite_reciprocal),
    ("scale(): output dtype by input dtype (scale 65536)", output_types),
    ("scale([]) then update()", || refused(fresh(4.0)?.update())),
    ("setters and load_state_dict validate nothing", nothing_is_checked),
    ("state_dict before scale()", || Ok(Answer::Value(written(&fresh(8.0)?.state_dict())))),
    ("step() of f16 gradients, ordinary SGD", f16_step),
    ("two optimizers, one with inf", one_of_two),
    ("unscale_ before scale()", || refused(fresh(4.0)?.unscale::<f32>(FIRST, &mut []))),
    ("unscaling itself overflows", overflows_unscaled),
    ("update() with no inf checks", || refused(scaling(4.0)?.update())),
    ("update(1.0) before scale()", || refused(fresh(4.0)?.set_scale(NewScale::Float(1.0)))),
    ("update(3) (an int)", || refused(scaling(4.0)?.set_scale(NewScale::Int(3)))),
    ("update(f64 tensor)", tensor_is_rounded),
    ("update(new_scale)", any_new_scale),
];

/// What comes of a fact, by its name.
pub(super) fn run(name: &str) -> Option<Run> {
    let known = RUNS.iter().find(|(known, _)| *known == name).map(|(_, run)| run());
    known
        .or_else(|| {
            let argument =
                name.strip_prefix("GradScaler('cpu', ").and_then(|rest| rest.strip_suffix(')'));
            let (argument, value) = argument?.split_once('=')?;
            constructor(argument, value.parse().ok()?)
        })
        .or_else(|| {
            unscaled(
                name.strip_prefix("unscale_ of ")?
                    .strip_suffix(" gradients [3, 1] with scale 3")?,
            )
        })
}

/// `GradScaler('cpu', NAME=VALUE)`.
fn constructor(argument: &str, value: f64) -> Option<Run> {
    let mut config = ProtocolConfig::default();
    match argument {
        "init_scale" => config.init_scale = value,
        "growth_factor" => config.growth_factor = value,
        "backoff_factor" => config.backoff_factor = value,
        #[expect(clippy::cast_possible_truncation, reason = "an integer as written")]
        "growth_interval" => config.growth_interval = value as i64,
        _ => return None,
    }
    let scaled = ProtocolScaler::new(config).and_then(|mut scaler| scaler.scale(1.0_f32));
    Some(Ok(scaled.map_or_else(Answer::Raised, |scale| {
        Answer::Text(format!("accepted, scale(1) = {}", repr(scale.into())))
    })))
}

/// `unscale_ of DTYPE gradients [3, 1] with scale 3`.
fn unscaled(dtype: &str) -> Option<Run> {
    Some(match dtype {
        "bfloat16" => thirds::<bf16>(", dtype=torch.bfloat16"),
        "float16" => thirds::<f16>(", dtype=torch.float16"),
        "float32" => thirds::<f32>(""),
        _ => return None,
    })
}

fn thirds<E: Element>(suffix: &str) -> Run {
    let mut grads = [3.0, 1.0].map(E::from_f32);
    if let Err(error) = scaling(3.0)?.unscale(FIRST, &mut [Some(&mut grads)]) {
        return Ok(Answer::Raised(error));
    }
    let [a, b] = grads.map(Element::to_f32);
    Ok(Answer::Text(format!("tensor([{a:.4}, {b:.4}]{suffix})")))
}

fn fresh(init_scale: f64) -> Result<ProtocolScaler, ProtocolError> {
    with(ProtocolConfig { init_scale, ..ProtocolConfig::default() })
}

fn with(config: ProtocolConfig) -> Result<ProtocolScaler, ProtocolError> {
    ProtocolScaler::new(config)
}

/// One that has scaled a loss.
fn scaling(init_scale: f64) -> Result<ProtocolScaler, ProtocolError> {
    ready(fresh(init_scale)?)
}

fn ready(mut scaler: ProtocolScaler) -> Result<ProtocolScaler, ProtocolError> {
    scaler.scale(1.0_f32)?;
    Ok(scaler)
}

fn refused<T>(outcome: Result<T, ProtocolError>) -> Run {
    Ok(outcome.map_or_else(Answer::Raised, |_| Answer::Text("it was not refused".into())))
}

/// Looks at gradients and, where none was found wrong, steps parameters of 0 by SGD with a learning rate of 1.
fn step<const N: usize>(
    scaler: &mut ProtocolScaler,
    optimizer: OptimizerId,
    grads: &mut [f32; N],
) -> Result<(Verdict, [f32; N]), ProtocolError> {
    let verdict = scaler.step(optimizer, &mut [Some(&mut grads[..])])?;
    let params = match verdict {
        Verdict::Apply => grads.map(|grad| 0.0 - grad),
        Verdict::Skip => [0.0; N],
    };
    Ok((verdict, params))
}

/// One iteration with one gradient.
fn iterate(scaler: &mut ProtocolScaler, grad: f32) -> Result<(), ProtocolError> {
    let _ = step(scaler, FIRST, &mut [grad])?;
    scaler.update()
}

fn written(state: &StateDict) -> serde_json::Value {
    json!({
        "scale": state.scale,
        "growth_factor": state.growth_factor,
        "backoff_factor": state.backoff_factor,
        "growth_interval": state.growth_interval,
        "_growth_tracker": state.growth_tracker,
    })
}

fn empty_beside_infinite() -> Run {
    let mut scaler = scaling(2.0)?;
    scaler.unscale(FIRST, &mut [Some(&mut [][..]), Some(&mut [f32::INFINITY][..])])?;
    Ok(Answer::Value(json!(scaler.found(FIRST))))
}

fn found(flag: f32) -> Run {
    let mut scaler = scaling(8.0)?;
    scaler.unscale_with(FIRST, |_| Ok(Some(flag)))?;
    scaler.update()?;
    Ok(Answer::Text(format!("({}, {})", repr(scaler.get_scale()), scaler.growth_tracker())))
}

fn bystander() -> Run {
    let mut scaler = ready(with(ProtocolConfig { growth_interval: 1, ..Default::default() })?)?;
    iterate(&mut scaler, 1.0)?;
    Ok(Answer::Value(json!(scaler.get_scale())))
}

fn bf16_near_its_largest() -> Run {
    let mut scaler = scaling(2.0)?;
    let mut grads = [bf16::from_f32(3.3e38)];
    scaler.unscale(FIRST, &mut [Some(&mut grads)])?;
    let found = scaler.found(FIRST).map_or(f64::NAN, f64::from);
    Ok(Answer::Text(format!("({}, {})", list(&grads.map(bf16::to_f32)), repr(found))))
}

fn growth_arithmetic() -> Run {
    let config = ProtocolConfig {
        init_scale: 0.1,
        growth_factor: 1.1,
        growth_interval: 1,
        ..Default::default()
    };
    let mut scaler = ready(with(config)?)?;
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
        states.push(format!("({}, {})", repr(scaler.get_scale()), scaler.growth_tracker()));
    }
    Ok(format!("[{}]", states.join(", ")))
}

fn growth_past_f32() -> Run {
    let init_scale = 2_f64.powi(127);
    let config = ProtocolConfig { init_scale, growth_interval: 1, ..Default::default() };
    Ok(Answer::Text(course(&mut ready(with(config)?)?, 3)?))
}

fn lowered_interval() -> Run {
    let mut scaler = scaling(1.0)?;
    let before = course(&mut scaler, 4)?;
    scaler.config_mut().growth_interval = 2;
    let after = course(&mut scaler, 5)?;
    Ok(Answer::Text(format!("{}, {}", before.trim_end_matches(']'), after.trim_start_matches('['))))
}

fn wedged() -> Run {
    let mut scaler = scaling(4.0)?;
    let mut none: [Option<&mut [f32]>; 1] = [None];
    let mut calls = vec![scaler.unscale(FIRST, &mut none).map(drop)];
    calls.push(scaler.step(FIRST, &mut none).map(drop));
    calls.push(scaler.update());
    let mut grad = [1.0_f32];
    let mut some = [Some(&mut grad[..])];
    // Backward, which gives gradients.
    calls.push(scaler.scale(1.0_f32).map(drop));
    calls.push(scaler.unscale(FIRST, &mut some).map(drop));
    calls.push(scaler.step(FIRST, &mut some).map(drop));
    calls.push(scaler.update());
    calls.push(scaler.set_scale(NewScale::Float(8.0)));
    calls.push(scaler.step(FIRST, &mut some).map(drop));
    calls.push(scaler.update());
    Ok(Answer::Calls(calls))
}

fn unscaled_twice() -> Run {
    let mut scaler = scaling(4.0)?;
    let mut grad = [16.0_f32];
    for optimizer in [FIRST, SECOND] {
        scaler.unscale(optimizer, &mut [Some(&mut grad[..])])?;
    }
    Ok(Answer::Value(json!(grad[0])))
}

fn skipped() -> Run {
    let mut grads = [4.0, f32::INFINITY];
    let (verdict, _) = step(&mut scaling(4.0)?, FIRST, &mut grads)?;
    let times = usize::from(verdict == Verdict::Apply);
    Ok(Answer::Text(format!(
        "step returned None, optimizer.step called {times} times, state {{}}, grads {}",
        list(&grads)
    )))
}

fn backs_off_to_zero() -> Run {
    let config = ProtocolConfig { init_scale: 1.0, backoff_factor: 1e-30, ..Default::default() };
    let mut scaler = ready(with(config)?)?;
    iterate(&mut scaler, f32::INFINITY)?;
    iterate(&mut scaler, f32::INFINITY)?;
    let scale = repr(scaler.get_scale());
    let mut grads = [1.0, 0.0];
    let (_, params) = step(&mut scaler, FIRST, &mut grads)?;
    scaler.update()?;
    Ok(Answer::Text(format!(
        "scale {scale}; then grads [1,0] -> {}, params {}, tracker {}",
        list(&grads),
        list(&params),
        scaler.growth_tracker()
    )))
}

fn infinite_reciprocal() -> Run {
    let mut scaler = scaling(1e-40)?;
    let mut grads = [1e-30];
    let (_, params) = step(&mut scaler, FIRST, &mut grads)?;
    let scale = repr(scaler.get_scale());
    Ok(Answer::Text(format!(
        "scale {scale}: grad 1e-30 -> {} params {}",
        list(&grads),
        list(&params)
    )))
}

fn output_types() -> Run {
    let wide = repr(scaling(65536.0)?.scale_f64(2.0)?);
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

fn nothing_is_checked() -> Run {
    let mut scaler = scaling(4.0)?;
    let config = scaler.config_mut();
    (config.growth_factor, config.backoff_factor, config.growth_interval) = (0.5, 2.0, 0);
    scaler.load_state_dict(&StateDict {
        scale: -1.0,
        growth_factor: 0.1,
        backoff_factor: 9.0,
        growth_interval: -1,
        growth_tracker: 7,
    })?;
    Ok(Answer::Value(written(&scaler.state_dict())))
}

fn f16_step() -> Run {
    let mut grads = [f16::ONE];
    refused(scaling(4.0)?.step(FIRST, &mut [Some(&mut grads[..])]))
}

fn one_of_two() -> Run {
    let mut scaler = scaling(4.0)?;
    let (_, clean) = step(&mut scaler, FIRST, &mut [4.0])?;
    let (_, other) = step(&mut scaler, SECOND, &mut [f32::INFINITY])?;
    scaler.update()?;
    let [clean, other] = [clean, other].map(|params| list(&params));
    let scale = repr(scaler.get_scale());
    Ok(Answer::Text(format!("clean one {clean}, other {other}, scale {scale}")))
}

fn overflows_unscaled() -> Run {
    let mut scaler = scaling(0.25)?;
    let mut grads = [3e38];
    let (_, params) = step(&mut scaler, FIRST, &mut grads)?;
    let found = list(scaler.found(FIRST).as_slice());
    Ok(Answer::Text(format!(
        "scale 0.25, grad 3e38: unscaled {}, found_inf {found}, params {}",
        list(&grads),
        list(&params)
    )))
}

fn tensor_is_rounded() -> Run {
    let mut scaler = scaling(4.0)?;
    #[expect(clippy::cast_possible_truncation, reason = "as a tensor of f32 takes an f64")]
    scaler.set_scale(NewScale::Tensor(0.1_f64 as f32))?;
    Ok(Answer::Value(json!(scaler.get_scale())))
}

fn any_new_scale() -> Run {
    let mut scaler = scaling(4.0)?;
    iterate(&mut scaler, 1.0)?;
    let mut told = vec![scaler.growth_tracker().to_string()];
    scaler.set_scale(NewScale::Float(77.0))?;
    told.extend([repr(scaler.get_scale()), scaler.growth_tracker().to_string()]);
    for scale in [f64::INFINITY, -1.0, 0.0, f64::NAN] {
        scaler.set_scale(NewScale::Float(scale))?;
        told.push(repr(scaler.get_scale()));
    }
    Ok(Answer::Text(format!("[{}]", told.join(", "))))
}
