//! Claims of the pages.

use std::collections::BTreeSet;

#[path = "../examples/burn_ranks.rs"]
#[expect(dead_code, reason = "a page has a `main` of its own")]
mod ranks;
#[path = "../examples/burn_sparse.rs"]
#[expect(dead_code, reason = "a page has a `main` of its own")]
mod sparse;

#[test]
fn one_two_and_four_ranks_end_with_the_same_bits_and_name_the_rank_that_overflowed() {
    binade_example_shared::ranks::check(ranks::rank);
}

#[test]
fn steps_of_rows_are_burns_own_but_for_epsilon_and_leave_other_rows_alone() {
    let rows = 5000;
    let [rows_alone, whole] = [true, false].map(|is_sparse| sparse::train(rows, is_sparse));
    let (rows_alone, whole) = (rows_alone.unwrap().table, whole.unwrap().table);
    let off = rows_alone.iter().zip(&whole).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    // A step is 0.01 an element. burn multiplies epsilon by the correction of its second moment, torch's `SparseAdam` does not.
    assert!(off <= 2e-4, "{off}");
    let words: BTreeSet<usize> = sparse::words(rows).collect();
    for (row, elements) in rows_alone.chunks(sparse::WIDTH).enumerate() {
        assert_eq!(elements.iter().any(|x| *x != 1.0), words.contains(&row), "row {row}");
    }
}
