//! Runner of the conformance kit on a device. It prints a table, writes files on request, and fails if a contract is broken.

mod subject;

use std::process::ExitCode;

use binade_example_shared::kit;
use clap::Args;
use subject::Device;

#[derive(Args)]
struct Chosen {
    /// The device under test.
    #[arg(long, value_enum)]
    device: Device,
    /// Lets cuBLASLt and cuDNN multiply f32 by TF32, and holds products of f32 to what that may lose.
    #[arg(long)]
    tf32: bool,
}

fn main() -> ExitCode {
    kit::main(|Chosen { device, tf32 }, runner| device.run(&runner, tf32))
}
