//! Claims of the program on several ranks.

#[path = "../ranks.rs"]
#[expect(dead_code, reason = "the program has a `main` of its own")]
mod program;

#[test]
fn one_two_and_four_ranks_end_with_the_same_bits_and_name_the_rank_that_overflowed() {
    binade_example_shared::ranks::check(program::rank);
}
