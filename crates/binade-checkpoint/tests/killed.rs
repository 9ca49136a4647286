//! A process that is killed at any moment while it trains and saves leaves a whole checkpoint, with any rule.

use crate::common::all_rules;
use binade_cpu::Cpu;
use kills::Kills;
use std::path::Path;

#[path = "../../../tests/killed/mod.rs"]
mod kills;

const KILLS: u32 = 50;

#[test]
fn a_process_killed_at_fifty_moments_of_saving_leaves_a_whole_checkpoint() {
    let rules = all_rules();
    let kills = Kills {
        test: "killed::a_process_killed_at_fifty_moments_of_saving_leaves_a_whole_checkpoint",
        folder: Path::new(env!("CARGO_TARGET_TMPDIR")).join("checkpoint").join("killed"),
        each: KILLS.div_ceil(u32::try_from(rules.len()).unwrap()),
        from: "saving",
    };
    let [within, written] = kills.run(&Cpu, &rules);
    println!("{within} kills left a file behind; {written} checkpoints were written");
    assert!(within > 0 && written > 0, "no kill fell within a save");
}
