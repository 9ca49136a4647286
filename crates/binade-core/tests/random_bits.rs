//! Generator of random words against published answers, and the counters of keys.

use binade_core::stochastic::{Key, bits, philox4x32};
use std::{collections::HashSet, thread};

/// The answers are `kat_vectors` of Random123, the library of the paper that defines Philox.
#[test]
fn philox_gives_the_published_answers() {
    let cases = [
        ([0; 4], [0; 2], [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]),
        ([u32::MAX; 4], [u32::MAX; 2], [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]),
        (
            [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344],
            [0xa4093822, 0x299f31d0],
            [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1],
        ),
    ];
    for (counter, key, expected) in cases {
        assert_eq!(philox4x32(counter, key), expected);
    }
}

#[test]
fn a_name_becomes_counter_and_key_as_documented() {
    let key = Key { seed: 0x1111_2222_3333_4444, parameter: 0x5555_6666, step: 0x7777_8888 };
    let index = (0x0000_0002_0000_0003_u64 << 2) | 1;
    let expected = philox4x32([3, 2, 0x7777_8888, 0x5555_6666], [0x3333_4444, 0x1111_2222]);
    assert_eq!(bits(key, index), expected[1]);
}

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

#[test]
fn words_do_not_depend_on_who_asks_or_when() {
    let key = Key { seed: 42, parameter: 3, step: 1000 };
    let forwards: Vec<u32> = (0..64).map(|index| bits(key, index)).collect();
    let mut backwards: Vec<u32> = (0..64).rev().map(|index| bits(key, index)).collect();
    backwards.reverse();
    let elsewhere =
        thread::spawn(move || (0..64).map(|index| bits(key, index)).collect::<Vec<_>>());
    assert_eq!(forwards, backwards);
    assert_eq!(forwards, elsewhere.join().unwrap());
}
