//! Random numbers that are the same on every machine (Steele, Lea, Flood: `SplitMix64`).

/// A stream of numbers of its own for each seed and kernel.
pub(super) struct Draw(u64);

impl Draw {
    pub(super) fn new(seed: u64, name: &str) -> Self {
        let hash = name
            .bytes()
            .fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
        Self(hash)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }

    /// Any of `items`; nothing of none.
    pub(super) fn one<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        let count = u64::try_from(items.len()).ok().filter(|count| *count > 0)?;
        items.get(usize::try_from(self.next() % count).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_and_a_name_draw_the_same_each_time_and_others_differ() {
        let drawn = |seed, name| {
            let (mut draw, items) = (Draw::new(seed, name), (0..1000).collect::<Vec<u32>>());
            (0..8).filter_map(|_| draw.one(&items).copied()).collect::<Vec<_>>()
        };
        assert_eq!(drawn(1, "sgd"), drawn(1, "sgd"));
        assert!(drawn(1, "sgd") != drawn(2, "sgd") && drawn(1, "sgd") != drawn(1, "clip"));
        assert_eq!(Draw::new(1, "sgd").one::<u32>(&[]), None);
    }
}
