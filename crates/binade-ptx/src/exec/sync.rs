//! What lanes and warps do together: shuffles and barriers, and what is wrong when one of them does not come.

use super::{
    block::Block,
    warp::{Lanes, Warp, each},
};
use crate::{
    Report,
    isa::{Op, Shuffle},
    module::Instruction,
    report::ReportKind,
};

impl Block<'_> {
    /// All lanes of the mask at once; until they are all here, those that are wait.
    pub(super) fn shuffle(
        &mut self,
        warp: &mut Warp,
        at: &Instruction,
        how: Shuffle,
        lanes: Lanes,
    ) -> Result<(), Report> {
        if self.absent(warp, at, lanes) != 0 {
            warp.waiting |= lanes;
            return Ok(());
        }
        let mut results = Vec::new();
        for lane in each(lanes) {
            let operand = |index: usize| self.value(warp, &at.operands[index], lane);
            let (source, is_inside) = source(how, lane as u64, operand(2), operand(3));
            if lanes >> source & 1 == 0 || self.mask(warp, at, lane) >> source & 1 == 0 {
                let kind = ReportKind::DivergentShuffle { lane: source };
                return Err(self.report(at, warp, lowest(1 << lane), kind, None));
            }
            results.push((lane, self.value(warp, &at.operands[1], source as usize), is_inside));
        }
        for (lane, result, is_inside) in results {
            warp.set_shuffled(&at.operands[0], lane, result, is_inside);
        }
        warp.advance(lanes);
        Ok(())
    }

    /// Lanes that the masks of `lanes` name and that are not among them; a lane whose own mask leaves it out counts as absent.
    fn absent(&self, warp: &Warp, at: &Instruction, lanes: Lanes) -> Lanes {
        let masks = each(lanes).map(|lane| (self.mask(warp, at, lane), 1 << lane));
        masks.fold(0, |absent, (mask, own)| absent | (mask & !lanes) | (own & !mask))
    }

    #[expect(clippy::cast_possible_truncation, reason = "a 32-bit register's bits")]
    fn mask(&self, warp: &Warp, at: &Instruction, lane: usize) -> Lanes {
        self.value(warp, &at.operands[4], lane) as Lanes
    }

    /// A warp has stopped: right only if nobody waits, or all that have not ended wait at the same barrier.
    pub(super) fn check_waiting(&self, warp: &Warp) -> Result<(), Report> {
        let live = warp.live();
        let Some(lowest_at) = each(live).map(|lane| warp.at[lane]).min() else { return Ok(()) };
        let here = warp.standing(lowest_at);
        let at = &self.launch.entry.code[lowest_at];
        let lanes = warp.admitted(at.guard, here);
        let kind = match at.op() {
            Op::Shuffle(_) => {
                ReportKind::DivergentShuffle { lane: lowest(self.absent(warp, at, lanes)) }
            }
            _ if here == live => return Ok(()),
            _ => ReportKind::DivergentBarrier { missing: self.thread(warp, lowest(live & !here)) },
        };
        Err(self.report(at, warp, lowest(lanes), kind, None))
    }

    /// Every thread of the block comes to the barrier, or none passes: the ISA counts those that have ended as well.
    pub(super) fn barrier(&mut self, warps: &mut [Warp]) -> Result<(), Report> {
        let waiting = warps.iter().find(|warp| warp.live() != 0);
        let ended = warps.iter().find(|warp| warp.exited != 0);
        if let (Some(waiting), Some(ended)) = (waiting, ended) {
            let lane = lowest(waiting.live());
            let at = &self.launch.entry.code[waiting.at[lane as usize]];
            let missing = self.thread(ended, lowest(ended.exited));
            return Err(self.report(
                at,
                waiting,
                lane,
                ReportKind::DivergentBarrier { missing },
                None,
            ));
        }
        for warp in warps {
            warp.advance(warp.live());
        }
        self.shared.barrier();
        Ok(())
    }

    fn thread(&self, warp: &Warp, lane: u32) -> crate::Dim3 {
        self.launch.block.place(u64::from(warp.first + lane))
    }
}

fn lowest(lanes: Lanes) -> u32 {
    lanes.trailing_zeros()
}

/// The lane that `lane` reads: "shfl.sync" of the ISA. `clamp` holds the segment's mask in bits 8 to 12 and its bound below.
/// A source beyond the segment is the lane itself, and the predicate says so.
#[expect(clippy::cast_possible_truncation, reason = "a lane is below 32")]
fn source(how: Shuffle, lane: u64, distance: u64, clamp: u64) -> (u32, bool) {
    let (distance, bound, segment) = (distance & 31, clamp & 31, clamp >> 8 & 31);
    let first = lane & segment;
    let last = first | (bound & !segment);
    let (source, is_inside) = match how {
        Shuffle::Up => (lane.wrapping_sub(distance), lane >= last + distance),
        Shuffle::Down => (lane + distance, lane + distance <= last),
        Shuffle::Butterfly => (lane ^ distance, lane ^ distance <= last),
        Shuffle::Index => {
            let source = first | (distance & !segment);
            (source, source <= last)
        }
    };
    (if is_inside { source } else { lane } as u32, is_inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(how: Shuffle, lane: u64, distance: u64, clamp: u64) -> u32 {
        source(how, lane, distance, clamp).0
    }

    #[test]
    fn a_whole_warp_shifts_and_its_ends_keep_their_own() {
        assert_eq!(source(Shuffle::Down, 3, 16, 31), (19, true));
        assert_eq!(source(Shuffle::Down, 20, 16, 31), (20, false));
        assert_eq!(source(Shuffle::Up, 20, 16, 0), (4, true));
        assert_eq!(source(Shuffle::Up, 3, 16, 0), (3, false));
    }

    #[test]
    fn segments_of_eight_do_not_mix() {
        let clamp = 0x18 << 8 | 31;
        assert_eq!([lane(Shuffle::Down, 9, 4, clamp), lane(Shuffle::Down, 13, 4, clamp)], [13, 13]);
        assert_eq!(lane(Shuffle::Index, 13, 2, clamp), 10);
        assert_eq!(lane(Shuffle::Butterfly, 9, 1, clamp), 8);
        assert_eq!(lane(Shuffle::Up, 9, 4, 0x18 << 8), 9);
    }
}
