//! The conformance kit over burn's tensors.

#[path = "common/flex.rs"]
mod flex;

use binade_conformance::Runner;
use flex::{Flex, excused};

#[test]
fn burn_keeps_every_contract_that_it_has() {
    let report = excused(Runner::from_env()).require("burn-flex").run(&Flex::default());
    println!("{report}");
    report.assert_success();
}
