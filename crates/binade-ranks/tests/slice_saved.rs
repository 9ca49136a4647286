//! Saving and loading of slices.

use crate::common::{Error, Rank};
use crate::slices::{SHAPES, STORES, config, kept, of_each, params, steps};
use binade_core::DType;
use binade_cpu::Cpu;
use binade_master_weights::{MasterOptimizer, MasterStore, SavedParameter, StateKind};
use binade_ranks::{
    Alone,
    Partition::{Slices, Whole},
    Ranks,
};

#[test]
fn saved_slices_are_parts_of_what_is_saved_whole_and_load_on_the_same_ranks() {
    for (store, dtype) in STORES {
        let all = of_each((3, Slices), |rank| {
            let start =
                |rank: Rank| MasterOptimizer::new(rank, params(&SHAPES), config(store, dtype));
            let run = |rank| {
                let mut optimizer = start(rank)?;
                steps(&mut optimizer, 0..3)?;
                Ok::<_, Error>(optimizer)
            };
            let (whole, slicing) = (run(rank.clone())?, run(rank.clone().with_saved_slices())?);
            let (whole_saved, saved) = (whole.save()?, slicing.save()?);
            for (whole, slices) in whole_saved.iter().zip(&saved) {
                let own = rank.own_slice(&whole.name, whole.value.spec().elements().unwrap());
                assert_eq!(Some(&slices.value), whole.value.slice(own.clone()).as_ref());
                for ((kind, whole), (_, slice)) in whole.kept.iter().zip(&slices.kept) {
                    let own = kind.width().map(|width| own.start * width..own.end * width);
                    let expected = own.map_or(Some(whole.clone()), |own| whole.slice(own));
                    assert_eq!(Some(slice), expected.as_ref(), "{kind}");
                }
            }
            let mut again = start(rank.clone())?;
            again.check_load(&saved).unwrap();
            again.load(&saved).unwrap();
            assert_eq!(kept(&again)?, kept(&whole)?);
            // A device with whole masters needs whole state.
            let mut alone =
                MasterOptimizer::new(Ranks::new(Cpu, Alone), params(&SHAPES), config(store, dtype))
                    .unwrap();
            let told = alone.load(&saved).unwrap_err().to_string();
            assert!(told.contains("the slice ") && told.contains(" of the value of `w`"), "{told}");
            Ok(())
        });
        for one in all {
            one.unwrap();
        }
    }
}

#[test]
fn moments_in_bf16_have_the_bits_of_whole_ones_and_load_on_any_number_of_ranks() {
    let config = config(MasterStore::Copy, DType::F16).with_bf16_state(["exp_avg", "exp_avg_sq"]);
    let run = |group, saved: Option<&Vec<SavedParameter>>, range: std::ops::Range<u64>| {
        let mut all = of_each(group, |rank| {
            let mut optimizer = MasterOptimizer::new(rank, params(&SHAPES), config.clone())?;
            if let Some(saved) = saved {
                optimizer.load(saved).unwrap();
            }
            steps(&mut optimizer, range.clone())?;
            kept(&optimizer)
        });
        all.pop().unwrap().unwrap()
    };
    let whole = run((1, Whole), None, 0..6);
    let kinds: Vec<_> = whole.1[0].kept.iter().map(|(kind, _)| kind).collect();
    let is_low = |place| kinds.contains(&&StateKind::Bf16Moment(place));
    assert!(is_low(0) && is_low(1), "{kinds:?}");
    for group in [(2, Whole), (2, Slices), (3, Slices), (8, Slices)] {
        assert_eq!(run(group, None, 0..6), whole, "{group:?}");
        let (_, saved, _) = run((4, Slices), None, 0..3);
        assert_eq!(run(group, Some(&saved), 3..6), whole, "{group:?}");
    }
}
