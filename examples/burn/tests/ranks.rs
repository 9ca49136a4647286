//! Claims of the page of ranks.

#[path = "../examples/burn_ranks.rs"]
#[expect(dead_code, reason = "a page has a `main` of its own")]
mod page;

#[test]
fn one_two_and_four_ranks_end_with_the_same_bits_and_name_the_rank_that_overflowed() {
    binade_example_shared::ranks::check(page::rank);
}
