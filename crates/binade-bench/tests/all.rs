//! Tests of the programs and of the script that carries them.

mod accuracy;
mod conformance;
mod cpu_speed;
#[cfg(unix)]
mod run_script;
mod speed;
