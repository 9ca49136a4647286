//! The conformance kit over candle's tensors.

use crate::common::{CandleCpu, listed};
use binade_conformance::Runner;

#[test]
fn candle_keeps_the_contracts_of_what_the_handle_has() {
    let report = listed(Runner::from_env()).require_all().run(&CandleCpu);
    println!("{report}");
    report.assert_success();
}
