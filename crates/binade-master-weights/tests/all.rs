//! Tests of the public interface in one program, which is linked once.

mod bf16_state;
mod common;
mod counted;
mod joins;
mod lost_updates;
mod native_step;
mod optimizer_config;
mod remainder;
mod shapes;
mod skip;
mod snapshots;
mod static_set;
mod storage;
mod stores;
