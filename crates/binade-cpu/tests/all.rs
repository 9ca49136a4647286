//! Tests of the public interface in one program, which is linked once.

mod attention_memory;
mod blocks;
#[path = "../../../tests/device/calls.rs"]
mod calls;
mod errors;
mod forwarded;
mod fp16_optimizer;
mod gradients_values;
mod masters_refusals;
mod masters_skip;
mod masters_step;
mod scaler_clipping;
mod scaler_findings;
mod sets;
mod tensor;
mod torch_values;
