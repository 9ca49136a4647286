//! The kit over burn's adapter, and its report: `cargo xtask conformance --device burn`.

use binade_example_burn::{Flex, excused};
use binade_example_shared::kit;
use std::io;
use std::process::ExitCode;

fn main() -> io::Result<ExitCode> {
    kit::main(|runner| excused(runner).run(&Flex::default()))
}
