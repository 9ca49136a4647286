//! Slices that are saved as such.

use crate::common::{Error, Rank};
use crate::slices::{SHAPES, STORES, config, kept, of_each, params, steps};
use binade_cpu::Cpu;
use binade_master_weights::MasterOptimizer;
use binade_ranks::{Alone, Partition::Slices, Ranks};

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
            // A device that keeps all needs all.
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
