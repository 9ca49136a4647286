//! Generator of random words against published answers, and the counters of keys.

use binade_core::stochastic::{Key, bits};
use std::collections::HashSet;

/// The answers are `kat_vectors` of Random123, the library of the paper that defines Philox.
#[test]
fn a_block_holds_the_words_of_four_neighbours() {
    let key = Key { seed: 7, parameter: 1, step: 2 };
    for block in [0, 1, u64::from(u32::MAX), u64::MAX / 4] {
        let one_by_one: Vec<u32> = (0..4).map(|word| bits(key, 4 * block + word)).collect();
        assert_eq!(key.block(block).to_vec(), one_by_one);
    }
}

#[test]
fn every_part_of_a_name_matters() {
    let key = Key { seed: 0, parameter: 0, step: 0 };
    let names = [
        (key, 0),
        (Key { seed: 1, ..key }, 0),
        (Key { seed: 1 << 32, ..key }, 0),
        (Key { parameter: 1, ..key }, 0),
        (Key { step: 1, ..key }, 0),
        (key, 1),
        (key, 4),
        (key, 1 << 34),
    ];
    let words: HashSet<u32> = names.iter().map(|(key, index)| bits(*key, *index)).collect();
    assert_eq!(words.len(), names.len());
}
