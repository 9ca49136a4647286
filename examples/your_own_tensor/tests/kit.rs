//! Contracts of the tensor. Cases of what none of its methods does are skipped, with the reason: products and layers, stochastic
//! rounding.

use binade_conformance::Runner;
use binade_example_your_own_tensor::subject::Subject;

#[test]
fn the_tensor_keeps_every_contract_of_what_it_has() {
    let report = Runner::from_env().run(&Subject::default());
    println!("{report}");
    report.assert_success();
}
