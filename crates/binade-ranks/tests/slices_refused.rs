//! Update rules that cannot step slices.

use crate::common::Error;
use crate::slices::{SHAPES, average, grads, of_each, params};
use binade_core::{Error as _, ErrorKind};
use binade_cpu::Cpu;
use binade_master_weights::{MasterOptimizer, OptimizerConfig, UpdateRule};
use binade_ranks::{Alone, Partition::Slices, Ranks};

#[test]
fn a_rule_that_steps_by_norms_of_whole_tensors_is_refused_by_name_even_on_one_rank() {
    let of = |rule| OptimizerConfig::new(rule).unwrap();
    for rule in [UpdateRule::lamb(0.1), UpdateRule::novograd(0.1), UpdateRule::larc(0.1)] {
        for ranks in [1, 2] {
            for outcome in of_each((ranks, Slices), |rank| {
                let refused = |error: Error| {
                    let text = error.to_string();
                    assert!(text.contains(&format!("`{}`", rule.name())), "{text}");
                    assert_eq!(error.kind(), ErrorKind::Unsupported);
                };
                let optimizer = MasterOptimizer::new(rank.clone(), params(&SHAPES), of(rule));
                refused(optimizer.map(drop).unwrap_err());
                let group = of(UpdateRule::sgd(0.1)).with_group(["w"], rule).unwrap();
                let optimizer = MasterOptimizer::new(rank.clone(), params(&SHAPES), group);
                refused(optimizer.map(drop).unwrap_err());
                let sgd = of(UpdateRule::sgd(0.1));
                let mut optimizer = MasterOptimizer::new(rank.clone(), params(&SHAPES), sgd)?;
                refused(optimizer.set_config(of(rule)).unwrap_err());
                // The ranks continue together.
                average(&rank, grads(&params(&SHAPES), 0)).map(drop)
            }) {
                outcome.unwrap();
            }
        }
        MasterOptimizer::new(Ranks::new(Cpu, Alone), params(&SHAPES), of(rule)).unwrap();
    }
}
