//! A process that is killed while it trains here and saves leaves a whole checkpoint, from which the run goes on to the same bits.

use super::whole::whole_rules;
use crate::support::{KILLED_RULES, Result, gpu};
use binade_master_weights::UpdateRule;
use kills::Kills;
use std::path::Path;

#[path = "../killed/mod.rs"]
mod kills;

crate::tests![a_run_killed_while_it_saves_goes_on_to_the_same_bits];

/// LAMB, `NovoGrad`, Adagrad, Lion and LARC: what they keep is what other rules keep, and running norms.
fn a_run_killed_while_it_saves_goes_on_to_the_same_bits() -> Result {
    let [lamb, _, novograd, _, larc, ..] = whole_rules();
    let rules = [lamb, novograd, UpdateRule::adagrad(0.1), UpdateRule::lion(0.01), larc];
    // Programs of several devices may run at a time.
    let folder = format!("killed{}", std::process::id());
    let kills = Kills {
        test: "killed::a_run_killed_while_it_saves_goes_on_to_the_same_bits",
        folder: Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder),
        each: 1,
        from: "saved",
    };
    let rules = &rules[..KILLED_RULES];
    let [_, written] = kills.run(&gpu(), rules);
    assert!(written >= rules.len() as u64, "{written} checkpoints");
    Ok(())
}
