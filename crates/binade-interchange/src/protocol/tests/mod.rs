//! Tests of torch's rules one by one. `tests/tests/golden.rs` replays recorded calls of torch, including calls out of order.

mod errors;
mod rules;

use super::{ProtocolScaler, StateDict};

const SGD: u64 = 0;
const ADAM: u64 = 7;

/// Scaler that has scaled once.
fn scaler(scale: f64, growth_interval: i64) -> ProtocolScaler {
    let config = StateDict { scale, growth_interval, ..Default::default() };
    let mut scaler = ProtocolScaler::new(config).unwrap();
    scaler.scale(1.0_f32).unwrap();
    scaler
}

/// Runs one iteration of one optimizer.
fn iterate(scaler: &mut ProtocolScaler, grad: f32) -> super::Verdict {
    let verdict = scaler.step(SGD, &mut [Some(&mut [grad][..])]).unwrap();
    scaler.update().unwrap();
    verdict
}
