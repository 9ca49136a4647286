//! Facts about unscaling and stepping.

use super::{FIRST, Run, SECOND, iterate, ready, refused, scaling};
use crate::replay::semantics::answer::Answer;
use crate::replay::semantics::python::{list, repr};
use binade_interchange::protocol::{NewScale, ProtocolError, ProtocolScaler, StateDict, Verdict};
use half::{bf16, f16};
use serde_json::json;

/// Looks at gradients and, where none was found wrong, steps parameters of 0 by SGD with a learning rate of 1.
pub(super) fn step<const N: usize>(
    scaler: &mut ProtocolScaler,
    optimizer: u64,
    grads: &mut [f32; N],
) -> Result<(Verdict, [f32; N]), ProtocolError> {
    let verdict = scaler.step(optimizer, &mut [Some(&mut grads[..])])?;
    let params = match verdict {
        Verdict::Apply => grads.map(|grad| 0.0 - grad),
        Verdict::Skip => [0.0; N],
    };
    Ok((verdict, params))
}

pub(super) fn empty_beside_infinite() -> Run {
    let mut scaler = scaling(2.0)?;
    scaler.unscale(FIRST, &mut [Some(&mut [][..]), Some(&mut [f32::INFINITY][..])])?;
    Ok(Answer::Value(json!(scaler.found(FIRST))))
}

pub(super) fn bf16_near_its_largest() -> Run {
    let mut scaler = scaling(2.0)?;
    let mut grads = [bf16::from_f32(3.3e38)];
    scaler.unscale(FIRST, &mut [Some(&mut grads)])?;
    let found = scaler.found(FIRST).map_or(f64::NAN, f64::from);
    Ok(Answer::Text(format!("({}, {})", list(&grads.map(bf16::to_f32)), repr(found))))
}

pub(super) fn wedged() -> Run {
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

pub(super) fn unscaled_twice() -> Run {
    let mut scaler = scaling(4.0)?;
    let mut grad = [16.0_f32];
    for optimizer in [FIRST, SECOND] {
        scaler.unscale(optimizer, &mut [Some(&mut grad[..])])?;
    }
    Ok(Answer::Value(json!(grad[0])))
}

pub(super) fn skipped() -> Run {
    let mut grads = [4.0, f32::INFINITY];
    let (verdict, _) = step(&mut scaling(4.0)?, FIRST, &mut grads)?;
    let times = usize::from(verdict == Verdict::Apply);
    Ok(Answer::Text(format!(
        "step returned None, optimizer.step called {times} times, state {{}}, grads {}",
        list(&grads)
    )))
}

pub(super) fn backs_off_to_zero() -> Run {
    let config = StateDict { scale: 1.0, backoff_factor: 1e-30, ..Default::default() };
    let mut scaler = ready(config)?;
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
        scaler.state_dict().growth_tracker
    )))
}

pub(super) fn infinite_reciprocal() -> Run {
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

pub(super) fn f16_step() -> Run {
    let mut grads = [f16::ONE];
    Ok(refused(scaling(4.0)?.step(FIRST, &mut [Some(&mut grads[..])])))
}

pub(super) fn one_of_two() -> Run {
    let mut scaler = scaling(4.0)?;
    let (_, clean) = step(&mut scaler, FIRST, &mut [4.0])?;
    let (_, other) = step(&mut scaler, SECOND, &mut [f32::INFINITY])?;
    scaler.update()?;
    let [clean, other] = [clean, other].map(|params| list(&params));
    let scale = repr(scaler.get_scale());
    Ok(Answer::Text(format!("clean one {clean}, other {other}, scale {scale}")))
}

pub(super) fn overflows_unscaled() -> Run {
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
