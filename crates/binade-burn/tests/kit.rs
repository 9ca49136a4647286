//! The conformance kit over burn's tensors.

use crate::flex::{Flex, excused};
use binade_conformance::Runner;

#[test]
fn burn_keeps_every_contract_that_it_has() {
    let report = excused(Runner::from_env()).require_all().run(&Flex::default());
    println!("{report}");
    report.assert_success();
}
