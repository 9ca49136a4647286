//! Every input that fuzzing found worth keeping, run as the fuzzer runs it.

use binade_tests::fuzz::TARGETS;
use std::{fs, path::Path};

#[test]
fn every_input_in_the_corpus_is_answered() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    for (name, target) in TARGETS {
        let inputs: Vec<_> = fs::read_dir(corpus.join(name)).unwrap().collect();
        assert!(inputs.len() >= 10, "{name} has {} inputs", inputs.len());
        for input in inputs {
            target(&fs::read(input.unwrap().path()).unwrap());
        }
    }
}
