//! Memory that a step newly allocates, in pages.

use crate::programs::Outcome;
use binade_core::{DType, Named};
use binade_cpu::{Cpu, Tensor};
use binade_grad_scaler::{GradScaler, ScaleState};
use binade_mpi::Mpi;
use binade_ranks::{RankGrads, Ranks, RanksError};
use std::{error::Error, fs};

/// Environment variable that makes glibc map new pages for each allocation of 64 KiB or more, and unmap them when it is freed.
pub(crate) const EACH_IS_NEW: (&str, &str) = ("MALLOC_MMAP_THRESHOLD_", "65536");

/// Pages of a model's gradients in `f32`: 4 parameters of 1 MiB.
const PAGES: u64 = 4 << 8;

const STEPS: u64 = 8;

/// Prints the number of new pages of a step for each page of gradients, sent during backward and sent by `unscale`.
pub(crate) fn memory(group: Mpi) -> Outcome {
    let second = group.duplicate()?;
    let rank = Ranks::overlapping(Cpu, [group, second], 1 << 20)?;
    let param = |place: usize| {
        let zeros = Tensor::from_f32(vec![0.0; 1 << 18], &[1 << 18], DType::F32)?;
        Ok(Named::new(format!("w{place}"), zeros))
    };
    let params = (0..4).map(param).collect::<Result<Vec<_>, binade_cpu::Error>>()?;
    let set = || params.iter().map(|it| Named::new(&*it.name, Some(it.value.clone())));
    let during = || rank.backward(&params, &[()], |(), tell| set().rev().try_for_each(tell));
    let after = || Ok(RankGrads::from(set().collect::<Vec<_>>()));
    let pages = [pages(&rank, &during)?, pages(&rank, &after)?];
    println!("{} and {} pages", pages[0].div_ceil(PAGES), pages[1].div_ceil(PAGES));
    Ok(())
}

type Grads<'g> = &'g dyn Fn() -> Result<RankGrads<Cpu>, RanksError<binade_cpu::Error>>;

/// Returns the new pages of a step with gradients of this kind, after earlier steps have allocated the shared buffers.
fn pages(rank: &Ranks<Cpu, Mpi>, grads: Grads<'_>) -> Result<u64, Box<dyn Error>> {
    let mut before = 0;
    for step in 0..3 + STEPS {
        if step == 3 {
            before = faults()?;
        }
        rank.unscale(&mut grads()?, &ScaleState::from_exponent(0))?;
    }
    Ok((faults()? - before) / STEPS)
}

/// Returns the number of minor page faults of this process.
fn faults() -> Result<u64, Box<dyn Error>> {
    let told = fs::read_to_string("/proc/self/stat")?;
    let fields = told.rsplit(") ").next().unwrap_or_default();
    Ok(fields.split(' ').nth(7).unwrap_or_default().parse()?)
}
