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
pub const fn philox4x32(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
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
