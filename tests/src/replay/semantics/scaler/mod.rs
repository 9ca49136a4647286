//! Facts about the scaler, run by the torch-compatible protocol.

mod scale;
mod steps;

use crate::replay::semantics::answer::Answer;
use crate::replay::semantics::python::repr;
use binade_core::Element;
use binade_interchange::protocol::{NewScale, ProtocolError, ProtocolScaler, StateDict};
use half::{bf16, f16};
use serde_json::json;

const FIRST: u64 = 0;
const SECOND: u64 = 1;

type Run = Result<Answer, ProtocolError>;
type Named = (&'static str, fn() -> Run);

/// A fact's name, and what to do for it.
const RUNS: &[Named] = &[
    ("_amp_foreach empty tensor in the list", steps::empty_beside_infinite),
    ("_amp_update_scale_ with found_inf -1", || scale::found(-1.0)),
    ("_amp_update_scale_ with found_inf NaN", || scale::found(f32::NAN)),
    (
        "an optimizer that is neither unscaled nor stepped is of no concern to update()",
        scale::bystander,
    ),
    ("bf16 gradient 3.3e38 (near max) * 0.5", steps::bf16_near_its_largest),
    ("growth arithmetic", scale::growth_arithmetic),
    ("growth past f32's range: scale kept, tracker reset", scale::growth_past_f32),
    ("lowering growth_interval below the tracker", scale::lowered_interval),
    (
        "one optimizer whose parameters have no gradients: unscale_, step, update, (grads appear) unscale_, step, update, \
         update(8.0), step, update",
        steps::wedged,
    ),
    ("one parameter in two optimizers is unscaled twice (16, scale 4)", steps::unscaled_twice),
    ("ordinary Adam with an inf gradient", steps::skipped),
    (
        "scale backs off to 0: the next step is taken with inf/NaN gradients",
        steps::backs_off_to_zero,
    ),
    ("scale below 2^-128: reciprocal overflows to inf", steps::infinite_reciprocal),
    ("scale(): output dtype by input dtype (scale 65536)", scale::output_types),
    ("scale([]) then update()", || Ok(refused(fresh(4.0)?.update()))),
    ("setters and load_state_dict validate nothing", scale::nothing_is_checked),
    ("state_dict before scale()", || Ok(Answer::Value(json!(fresh(8.0)?.state_dict())))),
    ("step() of f16 gradients, ordinary SGD", steps::f16_step),
    ("two optimizers, one with inf", steps::one_of_two),
    ("unscale_ before scale()", || Ok(refused(fresh(4.0)?.unscale::<f32>(FIRST, &mut [])))),
    ("unscaling itself overflows", steps::overflows_unscaled),
    ("update() with no inf checks", || Ok(refused(scaling(4.0)?.update()))),
    ("update(1.0) before scale()", || Ok(refused(fresh(4.0)?.set_scale(NewScale::Float(1.0))))),
    ("update(3) (an int)", || Ok(refused(scaling(4.0)?.set_scale(NewScale::Int(3))))),
    ("update(f64 tensor)", scale::tensor_is_rounded),
    ("update(new_scale)", scale::any_new_scale),
];

/// Runs a fact by its name.
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
    let mut config = StateDict::default();
    match argument {
        "init_scale" => config.scale = value,
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

fn fresh(scale: f64) -> Result<ProtocolScaler, ProtocolError> {
    ProtocolScaler::new(StateDict { scale, ..StateDict::default() })
}

/// Returns a scaler that has scaled a loss.
fn scaling(scale: f64) -> Result<ProtocolScaler, ProtocolError> {
    ready(StateDict { scale, ..StateDict::default() })
}

fn ready(config: StateDict) -> Result<ProtocolScaler, ProtocolError> {
    let mut scaler = ProtocolScaler::new(config)?;
    scaler.scale(1.0_f32)?;
    Ok(scaler)
}

fn refused<T>(outcome: Result<T, ProtocolError>) -> Answer {
    outcome.map_or_else(Answer::Raised, |_| Answer::Text("it was not refused".into()))
}

/// One iteration with one gradient.
fn iterate(scaler: &mut ProtocolScaler, grad: f32) -> Result<(), ProtocolError> {
    let _ = steps::step(scaler, FIRST, &mut [grad])?;
    scaler.update()
}
