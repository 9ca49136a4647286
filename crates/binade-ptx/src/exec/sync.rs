//! Instructions of several lanes or warps together (shuffles, matches, matrices, barriers), and the faults of lanes that do not participate.

use super::{
    block::Block,
    matrix,
    warp::{Lanes, Warp, each, set},
};
use crate::{
    Report,
    isa::{LANES, Op, Shuffle, Together, Values},
    module::{Instruction, Operand},
    report::ReportKind,
};

impl Block<'_> {
    /// Executes an instruction for all lanes of the mask at once. Until all of them are here, the present ones wait. Returns true
    /// once it is done.
    pub(super) fn together(
        &mut self,
        warp: &mut Warp,
        at: &Instruction,
        what: Together,
        lanes: Lanes,
    ) -> Result<bool, Report> {
        let masks = masks(warp, at);
        if absent(&masks, lanes) != 0 {
            return Ok(false);
        }
        match what {
            Together::Shuffle(how) => self.shuffle(warp, at, how, &masks, lanes)?,
            Together::Match => {
                let values = *warp.operand(at, 1);
                let result = |lane: usize| u64::from(alike(&values, lane) & masks[lane]);
                warp.put(at.register(0), &std::array::from_fn(result), lanes);
            }
            Together::Multiply(value) => matrix::multiply(warp, at, value, self.launch.sums),
            Together::LoadMatrix { transposed } => {
                let done = self.load_matrix(warp, at, transposed);
                done.map_err(|stop| self.wrong(at, warp, stop))?;
            }
            // Left-out lanes stay unordered, so the clock ticks only if all lanes come.
            Together::Barrier if lanes == warp.live() => {
                let is_whole = each(lanes).all(|lane| masks[lane] & lanes == lanes);
                warp.ordered = if is_whole { self.shared.warp_barrier() } else { warp.ordered };
            }
            Together::Barrier => {}
        }
        Ok(true)
    }

    fn shuffle(
        &self,
        warp: &mut Warp,
        at: &Instruction,
        how: Shuffle,
        masks: &[Lanes; LANES],
        lanes: Lanes,
    ) -> Result<(), Report> {
        let values = *warp.operand(at, 1);
        let (distance, clamp) = (*warp.operand(at, 2), *warp.operand(at, 3));
        let (mut to, mut inside) = ([0; LANES], [0; LANES]);
        for lane in each(lanes) {
            let (source, is_inside) = source(how, lane as u64, distance[lane], clamp[lane]);
            if (lanes & masks[lane]) >> source & 1 == 0 {
                let kind = ReportKind::Divergent { form: at.form.name, lane: source };
                return Err(self.report(at, warp, lowest(1 << lane), kind, None));
            }
            (to[lane], inside[lane]) = (values[source as usize], u64::from(is_inside));
        }
        warp.put(at.register(0), &to, lanes);
        if let Operand::Pair(_, predicate) = at.operands[0] {
            warp.put(predicate, &inside, lanes);
        }
        Ok(())
    }

    /// Checks a warp that has stopped: no lane waits, or all live lanes wait at the same barrier.
    pub(super) fn check_waiting(&self, warp: &Warp) -> Result<(), Report> {
        let live = warp.live();
        let Some(lowest_at) = each(live).map(|lane| warp.at[lane]).min() else { return Ok(()) };
        let here = warp.standing(lowest_at);
        let at = &self.launch.entry.code[lowest_at];
        let lanes = warp.admitted(at.guard, here);
        let kind = match at.form.op {
            Op::Together(_) => {
                let lane = lowest(absent(&masks(warp, at), lanes));
                ReportKind::Divergent { form: at.form.name, lane }
            }
            _ if here == live => return Ok(()),
            _ => ReportKind::DivergentBarrier { missing: self.thread(warp, lowest(live & !here)) },
        };
        Err(self.report(at, warp, lowest(lanes), kind, None))
    }

    /// Lets all warps pass the barrier. The barrier is divergent if a thread has ended while another waits: the ISA counts ended threads as well.
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
            warp.pass();
        }
        self.shared.barrier();
        Ok(())
    }

    fn thread(&self, warp: &Warp, lane: u32) -> crate::Dim3 {
        self.launch.block.place(u64::from(warp.first + lane))
    }
}

/// Returns the mask of participating lanes that each lane names: its last operand. Matrix instructions have no such operand and use the whole warp.
#[expect(clippy::cast_possible_truncation, reason = "a 32-bit register's bits")]
fn masks(warp: &Warp, at: &Instruction) -> [Lanes; LANES] {
    if let Op::Together(Together::Multiply(_) | Together::LoadMatrix { .. }) = at.form.op {
        return [Lanes::MAX; LANES];
    }
    warp.operand(at, at.operands.len() - 1).map(|mask| mask as Lanes)
}

/// Returns the lanes outside `lanes` that a mask of `lanes` names, and the lanes whose mask does not name themselves.
fn absent(masks: &[Lanes; LANES], lanes: Lanes) -> Lanes {
    each(lanes)
        .fold(0, |absent, lane| absent | (masks[lane] & !lanes) | ((1 << lane) & !masks[lane]))
}

/// Returns the lanes with the same value as this one.
fn alike(values: &Values, lane: usize) -> Lanes {
    set(&values.map(|value| u64::from(value == values[lane])))
}

fn lowest(lanes: Lanes) -> u32 {
    lanes.trailing_zeros()
}

/// Returns the lane that `lane` reads, and true if it lies inside the segment: "shfl.sync" of the ISA. `clamp` holds the
/// segment's mask in bits 8 to 12 and its bound in bits 0 to 4. Outside the segment the source is the lane itself.
#[expect(clippy::cast_possible_truncation, reason = "a lane is below 32")]
fn source(how: Shuffle, lane: u64, distance: u64, clamp: u64) -> (u32, bool) {
    let (distance, bound, segment) = (distance & 31, clamp & 31, clamp >> 8 & 31);
    let first = lane & segment;
    let last = first | (bound & !segment);
    let (source, is_inside) = match how {
        Shuffle::Down => (lane + distance, lane + distance <= last),
        Shuffle::Butterfly => (lane ^ distance, lane ^ distance <= last),
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
    }

    #[test]
    fn segments_of_eight_do_not_mix() {
        let clamp = 0x18 << 8 | 31;
        assert_eq!([lane(Shuffle::Down, 9, 4, clamp), lane(Shuffle::Down, 13, 4, clamp)], [13, 13]);
        assert_eq!(lane(Shuffle::Butterfly, 9, 1, clamp), 8);
    }
}
