//! The conformance kit over candle's tensors.

mod common;

use binade_conformance::Runner;
use common::{CandleCpu, LACKING};

#[test]
fn candle_keeps_the_contracts_of_what_the_handle_has() {
    let runner = LACKING
        .iter()
        .fold(Runner::from_env(), |runner, (part, reason)| runner.excuse(*part, *reason));
    let report = runner.require("candle").run(&CandleCpu);
    println!("{report}");
    report.assert_success();
}
