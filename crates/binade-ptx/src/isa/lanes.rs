//! Values of a whole warp, and macros that apply a function of one lane's values to all lanes.

/// Number of lanes of a warp.
pub(crate) const LANES: usize = 32;

/// Contents of a register by lane: its bits zero-extended; a predicate holds 0 or 1.
pub(crate) type Values = [u64; LANES];

/// Operation of one operand, as `two!`, `three!` and `four!` are of more. It runs over all 32 lanes and drops results of lanes that do not
/// participate: a loop without branches is faster than a test.
macro_rules! one {
    ($f:expr) => {{
        fn all(a: &Values, to: &mut Values) {
            const F: fn(u64) -> u64 = $f;
            for (to, a) in to.iter_mut().zip(a) {
                *to = F(*a);
            }
        }
        Op::One(all)
    }};
}

macro_rules! two {
    ($f:expr) => {{
        fn all(a: &Values, b: &Values, to: &mut Values) {
            const F: fn(u64, u64) -> u64 = $f;
            for ((to, a), b) in to.iter_mut().zip(a).zip(b) {
                *to = F(*a, *b);
            }
        }
        Op::Two(all)
    }};
}

macro_rules! three {
    ($f:expr) => {{
        fn all(a: &Values, b: &Values, c: &Values, to: &mut Values) {
            const F: fn(u64, u64, u64) -> u64 = $f;
            for (((to, a), b), c) in to.iter_mut().zip(a).zip(b).zip(c) {
                *to = F(*a, *b, *c);
            }
        }
        Op::Three(all)
    }};
}

macro_rules! four {
    ($f:expr) => {{
        fn all(from: [&Values; 4], to: &mut Values) {
            const F: fn(u64, u64, u64, u64) -> u64 = $f;
            let [a, b, c, d] = from;
            for (lane, to) in to.iter_mut().enumerate() {
                *to = F(a[lane], b[lane], c[lane], d[lane]);
            }
        }
        Op::Four(all)
    }};
}

pub(super) use {four, one, three, two};
