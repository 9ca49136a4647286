//! Runner of the kit over burn's adapter, with its report: `cargo xtask conformance --device burn`.

#[path = "../../../../crates/binade-burn/tests/common/flex.rs"]
mod flex;

use binade_example_shared::kit;
use flex::{Flex, excused};
use std::io;
use std::process::ExitCode;

fn main() -> io::Result<ExitCode> {
    kit::main(|runner| excused(runner).run(&Flex::default()))
}
