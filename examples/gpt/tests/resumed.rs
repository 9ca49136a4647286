//! A resumed run has the bits of one that was not interrupted.

use crate::common::{file, only, small};
use binade_checkpoint::previous;
use binade_example_gpt::args::Args;
use binade_example_gpt::session;
use std::fs;
use std::path::Path;

const LINE: &str = "--steps 12 --every 4 --accumulate 2 --dropout 0.2";

#[test]
fn a_resumed_run_has_the_bits_of_an_uninterrupted_one() {
    for level in ["O0", "O1 --dtype f16 --recompute", "O2 --dtype bf16"] {
        let [whole, end] = ["whole", "end"].map(|it| file(&format!("{it}-{}", &level[..2])));
        let args = small(&format!("--level {level} {LINE}"));
        let uninterrupted = only(&Args { save: Some(whole.clone()), ..args.clone() });
        // The checkpoint before the last: that of step 8.
        let (save, resume) = (Some(end.clone()), Some(previous(&whole)));
        let resumed = only(&Args { save, resume, ..args });
        assert_eq!(resumed.curve, uninterrupted.curve[2..], "{level}");
        assert_eq!(resumed.sample, uninterrupted.sample, "{level}");
        assert_eq!(resumed.outcomes.steps, uninterrupted.outcomes.steps, "{level}");
        assert!(fs::read(end).unwrap() == fs::read(whole).unwrap(), "{level}");
    }
}

#[test]
fn a_checkpoint_of_another_run_is_refused_by_what_differs() {
    let saved = file("other.ckpt");
    only(&Args { save: Some(saved.clone()), ..small(LINE) });
    let refused = |file: &Path, line: &str| {
        let args = Args { resume: Some(file.into()), ..small(&format!("{LINE} {line}")) };
        let refused = session::run(&args, &mut Vec::new()).unwrap_err().to_string();
        let why = refused.strip_prefix(&format!("--resume {}: ", file.display()));
        why.expect(&refused).to_owned()
    };
    let other = refused(&saved, "--seed 1");
    assert!(other.starts_with("it is of a run of `O1 f16 on 900 characters, "), "{other}");
    assert!(other.contains("--seed 0`, and this is one of `"), "{other}");
    assert_eq!(refused(&saved, ""), "it has taken 12 steps; take more than --steps 12");
    refused(Path::new("gone.ckpt"), "");
}
