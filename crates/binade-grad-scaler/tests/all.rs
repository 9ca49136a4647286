//! Tests of the public interface in one program, which is linked once.

mod accumulation;
mod aliases;
mod clip_groups;
mod clipping;
mod common;
mod delayed;
mod device;
mod exactness;
mod gradient_penalty;
mod host_loop;
mod in_flight;
mod missing;
mod order;
mod report_text;
mod saved_windows;
mod scale_each;
mod schedule;
mod serde;
mod several_losses;
mod state_machine;
mod static_set;
mod types;
mod unscaling;
mod verify_backward;
