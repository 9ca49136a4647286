//! Philox4x32-10, a counter-based generator of random words.
//!
//! J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC'11, section 4.3;
//! the constants and known answers are those of its library, Random123. cuRAND has the
//! same function as `Philox4_32_10`.

const ROUNDS: u32 = 10;
const MULTIPLIERS: [u32; 2] = [0xd251_1f53, 0xcd9e_8d57];
/// Increment of the key each round: the golden ratio and √3 - 1, as 32-bit fractions.
const WEYL: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];

/// Returns four random words for a counter and a key.
#[inline]
pub(super) const fn philox4x32(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    let mut round = 0;
    while round < ROUNDS {
        counter = mix(counter, key);
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
        round += 1;
    }
    counter
}

#[inline(always)]
const fn mix(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let [low_0, high_0] = super::halves(MULTIPLIERS[0] as u64 * counter[0] as u64);
    let [low_1, high_1] = super::halves(MULTIPLIERS[1] as u64 * counter[2] as u64);
    [high_1 ^ counter[1] ^ key[0], low_1, high_0 ^ counter[3] ^ key[1], low_0]
}

#[cfg(test)]
mod tests {
    use super::super::{Key, bits};
    use super::*;

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
}
