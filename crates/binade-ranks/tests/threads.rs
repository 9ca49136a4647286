//! The group of threads: bytes that move, and lengths and calls that do not fit.

use crate::common::each;
use binade_ranks::{Alone, Group, GroupError};

#[test]
fn bytes_come_in_the_order_of_ranks_and_a_part_may_be_empty() {
    for (rank, [all, received, from_two]) in each(3, |group| {
        let rank = u8::try_from(group.rank()).unwrap();
        let mut all = vec![9; 3];
        group.all_gather(&vec![rank; rank.into()], &[0, 1, 2], &mut all).unwrap();
        // Rank r sends s bytes to rank s, and has three parts of r bytes to receive.
        let mut received = vec![9; 3 * group.rank()];
        let send = [rank, 10 + rank, 10 + rank];
        group.exchange(&send, &[0, 1, 2], &mut received, &[group.rank(); 3]).unwrap();
        let mut from_two = vec![rank; 2];
        group.broadcast(2, &mut from_two).unwrap();
        [all, received, from_two]
    })
    .into_iter()
    .enumerate()
    {
        assert_eq!((all, from_two), (vec![1, 2, 2], vec![2, 2]));
        let expected = [vec![], vec![0, 1, 2], vec![10, 10, 11, 11, 12, 12]];
        assert_eq!(received, expected[rank]);
    }
}

#[test]
fn a_group_of_one_is_its_own_neighbour() {
    let mut all = [0; 2];
    Alone.all_gather(&[1, 2], &[2], &mut all).unwrap();
    assert_eq!((all, Alone.rank(), Alone.ranks()), ([1, 2], 0, 1));
    Alone.exchange(&[3, 4], &[2], &mut all, &[2]).unwrap();
    Alone.broadcast(0, &mut all).unwrap();
    assert_eq!(all, [3, 4]);
    assert!(matches!(Alone.all_gather(&[1], &[1], &mut all), Err(GroupError::Failed { .. })));
}

#[test]
fn other_calls_and_other_lengths_end_the_group_for_good() {
    let mixed = each(2, |group| {
        let mut bytes = [0; 2];
        let first = match group.rank() {
            0 => group.broadcast(0, &mut bytes),
            _ => group.all_gather(&[1], &[1, 1], &mut bytes),
        };
        let again = group.broadcast(0, &mut bytes).unwrap_err();
        assert!(matches!(again, GroupError::Failed { .. }), "{again}");
        first.unwrap_err().to_string()
    });
    for told in mixed {
        assert!(told.contains("rank 0 calls `broadcast`, rank 1 `all_gather`"), "{told}");
    }
    for again in each(2, |group| {
        let mut bytes = vec![0; 1 + group.rank()];
        let first = group.broadcast(0, &mut bytes);
        assert_eq!(first.is_ok(), group.rank() == 0);
        group.broadcast(0, &mut bytes).unwrap_err()
    }) {
        assert!(!matches!(again, GroupError::TimedOut { .. }), "{again}");
    }
}
