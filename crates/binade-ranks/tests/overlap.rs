//! Gradients that are sent during backward: averages and found-inf results equal those without overlap, and errors come in the same step.

use crate::common::{Averaged, Error, PATIENCE, Rank, each, each_of_two, set, tensor, unscaled};
use binade_core::{DType, Error as _, ErrorKind, Named, NamedGrads};
use binade_cpu::{Cpu, Tensor};
use binade_grad_scaler::{GradScaler, ScaleState};
use binade_ranks::{Desync, Group, GroupError, RankGrads, Ranks, RanksError, Threads};
use fastrand::Rng;
use std::{
    sync::{
        Arc, Barrier,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

/// Patience of a group of which a rank does not come.
const SHORT: Duration = Duration::from_secs(4);

type Params = Vec<Named<Tensor>>;

fn params(names: &[&str], dtype: DType) -> Params {
    names.iter().map(|name| Named::new(*name, tensor(&[0.0; 2], dtype))).collect()
}

/// Runs each of `ranks`, with gradients sent in buckets of this many bytes.
fn overlapping<T: Send>(ranks: usize, bytes: usize, run: impl Fn(&Rank) -> T + Sync) -> Vec<T> {
    each_of_two(PATIENCE, ranks, |groups| run(&Ranks::overlapping(Cpu, groups, bytes).unwrap()))
}

/// Reports the gradients of sets as a tape does, from the last to the first.
fn told(
    rank: &Rank,
    params: &Params,
    sets: &[NamedGrads<Tensor>],
) -> Result<RankGrads<Cpu>, Error> {
    rank.backward(params, sets, |set, tell| set.iter().rev().cloned().try_for_each(tell))
}

/// Parameters of random forms, and the shards of each rank, with gradients of which some are missing or not finite.
fn random_shards(random: &mut Rng, ranks: usize) -> (Params, Vec<Vec<NamedGrads<Tensor>>>) {
    let mut params = Params::new();
    for place in 0..random.usize(1..8) {
        let shape = [random.usize(0..4), random.usize(1..40)];
        let dtype = [DType::BF16, DType::F16, DType::F32][random.usize(0..3)];
        let zeros = Tensor::from_f32(vec![0.0; shape.iter().product()], &shape, dtype);
        params.push(Named::new(format!("w{place}"), zeros.unwrap()));
    }
    // Half of the models are finite, so that their averages are sent.
    let is_finite = random.bool();
    let mut gradient = |Named { name, value }: &Named<Tensor>| {
        let element = |_| match random.usize(0..200) {
            0 if !is_finite => [f32::NAN, f32::INFINITY][random.usize(0..2)],
            1..20 => -0.0,
            place => (random.f32() - 0.5) * [1.0, 1e4][place % 2],
        };
        let elements = (0..value.shape().iter().product()).map(element).collect();
        let tensor = Tensor::from_f32(elements, value.shape(), value.dtype()).unwrap();
        Named { name: name.clone(), value: (random.usize(0..6) > 0).then_some(tensor) }
    };
    let mut counts = Rng::with_seed(ranks as u64 + params.len() as u64);
    let mut shard = |_| params.iter().map(&mut gradient).collect();
    let shards = (0..ranks).map(|_| (0..counts.usize(1..4)).map(&mut shard).collect()).collect();
    (params, shards)
}

/// Returns bits of averages, and the printed found-inf result.
fn bits((values, found): Averaged) -> (Vec<Option<Vec<u32>>>, String) {
    let bits = |values: Vec<f32>| {
        // The sign and payload of a NaN are free.
        let bit = |x: &f32| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() };
        values.iter().map(bit).collect()
    };
    (values.into_iter().map(|values| values.map(bits)).collect(), format!("{found:?}"))
}

#[test]
fn averages_and_findings_are_those_of_gradients_that_are_sent_by_unscale() {
    let mut random = Rng::with_seed(5);
    let mut averaged = 0;
    for round in 0..60 {
        let (ranks, bytes) = (random.usize(1..6), random.usize(0..300));
        let (params, shards) = random_shards(&mut random, ranks);
        let scale = match round % 3 {
            0 => ScaleState::from_exponent(10),
            1 => ScaleState { significand: 1.3, ..ScaleState::from_exponent(7) },
            // Finite gradients may overflow once they are unscaled.
            _ => ScaleState::from_exponent(-120),
        };
        let after = each(ranks, |group| {
            let rank = Ranks::new(Cpu, group);
            let own = shards[rank.group().rank()].clone();
            bits(unscaled(&rank, RankGrads::from_iter(own), &scale).unwrap())
        });
        let during = overlapping(ranks, bytes, |rank| {
            let grads = told(rank, &params, &shards[rank.group().rank()]).unwrap();
            bits(unscaled(rank, grads, &scale).unwrap())
        });
        assert_eq!(during, after, "round {round}: {ranks} ranks, {bytes} bytes a bucket");
        averaged += usize::from(after[0].1.starts_with("FoundInf { overflow: None"));
    }
    assert!((10..50).contains(&averaged), "{averaged} of 60 rounds are without overflow");
}

#[test]
fn shards_are_added_in_the_order_of_ranks_and_not_in_that_in_which_they_come() {
    // 2^54 swallows a one that comes after it. Of each rank, the first shard comes before the second of any.
    let large = 2.0_f32.powi(54);
    for (terms, mean) in
        [([[large, -large], [1.0, 1.0]], 0.5), ([[large, 1.0], [-large, 1.0]], 0.25)]
    {
        for (values, _) in overlapping(2, 0, |rank| {
            let own = terms[rank.group().rank()].map(|term| set(&[("w", &[term])], DType::F32));
            let params = vec![Named::new("w", tensor(&[0.0], DType::F32))];
            let grads = told(rank, &params, &own).unwrap();
            unscaled(rank, grads, &ScaleState::from_exponent(0)).unwrap()
        }) {
            assert_eq!(values, [Some(vec![mean])]);
        }
    }
}

#[test]
fn ranks_may_tell_gradients_in_other_orders_and_leave_out_what_is_missing() {
    for values in overlapping(3, 4, |rank| {
        let (own, params) = (rank.group().rank(), params(&["a", "b", "c"], DType::F16));
        let mut grads = set(&[("a", &[3.0, 6.0]), ("b", &[9.0, 0.0])], DType::F16);
        grads.rotate_left(own % 2);
        if own == 2 {
            grads.truncate(1);
        }
        let grads = rank.backward(&params, &[grads], |set: &NamedGrads<Tensor>, tell| {
            set.iter().cloned().try_for_each(tell)
        });
        let (values, found) =
            unscaled(rank, grads.unwrap(), &ScaleState::from_exponent(0)).unwrap();
        let missing: Vec<String> = found.missing.iter().map(ToString::to_string).collect();
        (values, missing)
    }) {
        assert_eq!(values.0, [Some(vec![3.0, 6.0]), Some(vec![6.0, 0.0]), None]);
        assert_eq!(values.1, ["b", "c"]);
    }
}

#[test]
fn gradients_that_are_dropped_after_backward_leave_the_next_ones_whole() {
    for values in overlapping(2, 4, |rank| {
        let params = params(&["a", "b"], DType::BF16);
        let own = [[1.0_f32, 2.0], [3.0, 4.0]][rank.group().rank()];
        let grads = set(&[("a", &own), ("b", &own)], DType::BF16);
        drop(told(rank, &params, &[set(&[("a", &[9.0; 2]), ("b", &[9.0; 2])], DType::BF16)]));
        // Two sets may be in transfer at once.
        let [first, second] =
            [0, 1].map(|_| told(rank, &params, std::slice::from_ref(&grads)).unwrap());
        let [first, second] = [first, second]
            .map(|grads| unscaled(rank, grads, &ScaleState::from_exponent(0)).unwrap().0);
        assert_eq!(first, second);
        first
    }) {
        assert_eq!(values, vec![Some(vec![2.0, 3.0]); 2]);
    }
}

#[test]
fn an_error_in_backward_is_that_ranks_own_and_the_others_hear_of_it() {
    let begun = Instant::now();
    for given_up in 0..3 {
        let others_ended = Barrier::new(3);
        let errors = each_of_two(PATIENCE, 3, |groups| {
            let rank = Ranks::overlapping(Cpu, groups, 4).unwrap();
            let (own, params) = (rank.group().rank(), params(&["a", "b", "c"], DType::F32));
            let mut told = 0;
            let loss = set(&[("a", &[1.0; 2]), ("b", &[1.0; 2]), ("c", &[1.0; 2])], DType::F32);
            let grads = rank.backward(&params, &[loss], |set, tell| {
                for gradient in set.iter().rev().cloned() {
                    if own == 1 && told == given_up {
                        return Err(RanksError::NotAveraged);
                    }
                    told += 1;
                    tell(gradient)?;
                }
                Ok(())
            });
            let unscaled =
                grads.and_then(|grads| unscaled(&rank, grads, &ScaleState::from_exponent(0)));
            // The threads of the others end, though this rank is still there.
            let rank = (own == 1).then_some(rank);
            others_ended.wait();
            drop(rank);
            unscaled.unwrap_err()
        });
        assert!(matches!(errors[1], RanksError::NotAveraged));
        for error in [&errors[0], &errors[2]] {
            let RanksError::Desync(Desync { what, ranks, values }) = error else {
                panic!("{error}")
            };
            assert_eq!((*what, &ranks[..]), ("their call", &[1][..]));
            assert!(values[1].contains("an error of its own"), "{values:?}");
        }
    }
    assert!(begun.elapsed() < PATIENCE);
}

#[test]
fn backward_that_all_ranks_give_up_may_be_done_again() {
    for values in overlapping(2, 4, |rank| {
        let params = params(&["a"], DType::F32);
        let given_up: Result<_, Error> =
            rank.backward(&params, &[()], |(), _| Err(RanksError::NotAveraged));
        assert!(matches!(given_up, Err(RanksError::NotAveraged)));
        let grads = told(rank, &params, &[set(&[("a", &[1.0, 2.0])], DType::F32)]).unwrap();
        unscaled(rank, grads, &ScaleState::from_exponent(0)).unwrap().0
    }) {
        assert_eq!(values, [Some(vec![1.0, 2.0])]);
    }
}

#[test]
fn ranks_that_differ_in_buckets_or_in_overlap_itself_are_told() {
    let unscale = |rank: &Rank, grads: RankGrads<Cpu>| {
        let error = unscaled(rank, grads, &ScaleState::from_exponent(3)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        let RanksError::Desync(desync) = error else { panic!("{error}") };
        desync
    };
    let grads = || set(&[("a", &[1.0; 2]), ("b", &[1.0; 2])], DType::F32);
    let params = || params(&["a", "b"], DType::F32);
    for desync in each_of_two(SHORT, 2, |groups| {
        let bytes = 8 + 8 * groups[0].rank();
        let rank = Ranks::overlapping(Cpu, groups, bytes).unwrap();
        unscale(&rank, told(&rank, &params(), &[grads()]).unwrap())
    }) {
        assert_eq!(desync.what, "the loss scale or the size of buckets");
        assert!(desync.values[1].contains("16 bytes a bucket"), "{desync}");
    }
    for desync in each_of_two(SHORT, 2, |groups| {
        let is_overlapping = groups[0].rank() == 1;
        let rank = match (is_overlapping, groups) {
            (true, groups) => Ranks::overlapping(Cpu, groups, 8).unwrap(),
            (false, [group, _]) => Ranks::new(Cpu, group),
        };
        unscale(&rank, told(&rank, &params(), &[grads()]).unwrap())
    }) {
        assert_eq!((desync.what, &desync.ranks[..]), ("their call", &[1][..]));
        assert!(desync.values[1].contains("sent during backward"), "{desync}");
    }
    // A different model has different buckets.
    for desync in each_of_two(SHORT, 2, |groups| {
        let rank = Ranks::overlapping(Cpu, groups, 8).unwrap();
        let (mut params, mut grads) = (params(), grads());
        if rank.group().rank() == 1 {
            params.pop();
            grads.pop();
        }
        unscale(&rank, told(&rank, &params, &[grads]).unwrap())
    }) {
        assert_eq!(desync.what, "the model");
    }
}

#[test]
fn a_rank_that_stalls_in_backward_is_named_within_the_patience() {
    let begun = Instant::now();
    let errors = each_of_two(SHORT, 3, |groups| {
        let rank = Ranks::overlapping(Cpu, groups, 8).unwrap();
        let stalls = rank.group().rank() == 1;
        let params = params(&["a"], DType::F32);
        let grads = rank.backward(&params, &[set(&[("a", &[1.0; 2])], DType::F32)], |set, tell| {
            if stalls {
                std::thread::sleep(3 * SHORT / 2);
            }
            set.iter().cloned().try_for_each(tell)
        });
        unscaled(&rank, grads.unwrap(), &ScaleState::from_exponent(0)).unwrap_err()
    });
    for error in errors {
        let RanksError::Group(GroupError::TimedOut { missing, .. }) = &error else {
            panic!("{error}")
        };
        assert_eq!(missing[..], [1]);
    }
    assert!(begun.elapsed() < PATIENCE);
}

#[test]
fn an_end_of_the_group_of_buckets_comes_out_of_unscale_and_every_later_call() {
    let ends = each_of_two(PATIENCE, 2, |[group, second]| {
        let own = group.rank();
        let params = params(&["a"], DType::F32);
        if own == 1 {
            // This rank comes to the meeting alone.
            drop(second);
            let others = binade_ranks::threads(2, PATIENCE).remove(1);
            let rank = Ranks::overlapping(Cpu, [group, others], 8).unwrap();
            let grads = set(&[("a", &[1.0; 2])], DType::F32);
            let grads = told(&rank, &params, &[grads]).unwrap();
            return unscaled(&rank, grads, &ScaleState::from_exponent(0)).unwrap_err();
        }
        let rank = Ranks::overlapping(Cpu, [group, second], 8).unwrap();
        let grads = told(&rank, &params, &[set(&[("a", &[1.0; 2])], DType::F32)]).unwrap();
        let error = unscaled(&rank, grads, &ScaleState::from_exponent(0)).unwrap_err();
        let later = told(&rank, &params, &[]).unwrap_err();
        assert_eq!(error.to_string(), later.to_string());
        error
    });
    for end in ends {
        assert!(matches!(end, RanksError::Group(GroupError::Lost { .. })), "{end}");
    }
}

/// Group that counts its calls.
struct Counted(Threads, Arc<AtomicUsize>);

impl Counted {
    fn inner(&self) -> &Threads {
        self.1.fetch_add(1, Ordering::Relaxed);
        &self.0
    }
}

impl Group for Counted {
    fn rank(&self) -> usize {
        self.0.rank()
    }

    fn ranks(&self) -> usize {
        self.0.ranks()
    }

    fn all_gather(&self, own: &[u8], lengths: &[usize], all: &mut [u8]) -> Result<(), GroupError> {
        self.inner().all_gather(own, lengths, all)
    }

    fn exchange(
        &self,
        send: &[u8],
        sends: &[usize],
        receive: &mut [u8],
        receives: &[usize],
    ) -> Result<(), GroupError> {
        self.inner().exchange(send, sends, receive, receives)
    }

    fn broadcast(&self, root: usize, bytes: &mut [u8]) -> Result<(), GroupError> {
        self.inner().broadcast(root, bytes)
    }
}

#[test]
fn ranks_meet_once_in_a_backward_and_call_twice_a_bucket() {
    for calls in each_of_two(PATIENCE, 2, |[group, second]| {
        let counts = [0; 2].map(|count| Arc::new(AtomicUsize::new(count)));
        let groups = [Counted(group, counts[0].clone()), Counted(second, counts[1].clone())];
        let rank = Ranks::overlapping(Cpu, groups, 8).unwrap();
        let params = params(&["a", "b", "c"], DType::F32);
        let set = set(&[("a", &[1.0; 2]), ("b", &[2.0; 2]), ("c", &[3.0; 2])], DType::F32);
        let grads = rank
            .backward(&params, &[set], |set, tell| set.iter().rev().cloned().try_for_each(tell));
        let grads: Result<_, RanksError<binade_cpu::Error>> = grads;
        rank.unscale(&mut grads.unwrap(), &ScaleState::from_exponent(0)).unwrap();
        counts.map(|count| count.load(Ordering::Relaxed))
    }) {
        assert_eq!(calls, [1, 1 + 2 * 3]);
    }
}

#[test]
fn gradients_that_fit_no_parameter_are_refused() {
    for ranks in [1, 2] {
        for (grads, expected) in [
            (
                set(&[("x", &[1.0; 2])], DType::F32),
                "`x` is of no parameter that backward was given",
            ),
            (set(&[("a", &[1.0; 2]), ("a", &[1.0; 2])], DType::F32), "`a` is told twice"),
            (set(&[("a", &[1.0; 3])], DType::F32), "`a` is f32 [3], of the parameter `a` f32 [2]"),
            (set(&[("a", &[1.0; 2])], DType::F16), "`a` is f16 [2], of the parameter `a` f32 [2]"),
        ] {
            for error in overlapping(ranks, 8, |rank| {
                told(rank, &params(&["a"], DType::F32), std::slice::from_ref(&grads)).unwrap_err()
            }) {
                assert_eq!(error.kind(), ErrorKind::Mismatch);
                assert!(error.to_string().contains(expected), "{error}");
            }
        }
    }
}

#[test]
fn two_groups_of_other_ranks_are_refused() {
    let mut groups = binade_ranks::threads(2, PATIENCE);
    let groups: [Threads; 2] = [groups.remove(0), groups.remove(0)];
    let error = Ranks::overlapping(Cpu, groups, 8).unwrap_err();
    let told = "this is rank 0 of 2 in the first group and 1 of 2 in the other";
    assert!(error.to_string().contains(told), "{error}");
}
