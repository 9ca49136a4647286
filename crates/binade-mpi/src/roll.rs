//! Roll of ranks, which records the ranks that have reached this rank's call.
//!
//! MPI does not report which ranks a call waits for. So a rank that has waited long sends a note to each other rank to ask for its call, and waiting
//! ranks answer. A call that completes soon sends no note.

use crate::{
    frame::Head,
    raw::{Note, Outcome, Pending, World},
};

/// Call of a group.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Call {
    AllGather,
    Exchange,
    Broadcast,
    /// Last call, in which ranks end MPI together.
    End,
}

impl Call {
    pub(crate) const fn name(self) -> &'static str {
        ["all_gather", "exchange", "broadcast", "the end of MPI"][self as usize]
    }

    pub(crate) fn of(code: u64) -> Option<Self> {
        [Self::AllGather, Self::Exchange, Self::Broadcast, Self::End]
            .into_iter()
            .find(|call| *call as u64 == code)
    }
}

/// Calls that the other ranks have reported.
#[derive(Debug)]
pub(crate) struct Roll {
    rank: usize,
    /// This rank's call.
    own: Head,
    has_asked: bool,
    /// Latest call that each rank has reported.
    others: Vec<(u64, Option<Call>)>,
    /// Notes that MPI is still sending.
    sent: Vec<Pending>,
}

impl Roll {
    pub(crate) fn new(rank: usize, ranks: usize) -> Self {
        let others = vec![(0, None); ranks];
        Self {
            rank,
            own: Head { number: 0, call: Call::End },
            has_asked: false,
            others,
            sent: Vec::new(),
        }
    }

    /// Begins the next call, and returns its head.
    pub(crate) fn begin(&mut self, call: Call) -> Head {
        self.own = Head { number: self.own.number + 1, call };
        self.has_asked = false;
        self.own
    }

    /// Receives the notes that have arrived, and answers them.
    pub(crate) fn answer(&mut self, world: &mut World) -> Outcome {
        while let Some([rank, number, code, is_question]) = world.receive_note()? {
            let rank = usize::try_from(rank).unwrap_or(usize::MAX);
            let Some(other) = self.others.get_mut(rank) else { continue };
            if number > other.0 {
                *other = (number, Call::of(code));
            }
            if is_question != 0 {
                self.sent.push(world.send_note(rank, self.note(false))?);
            }
        }
        let mut held = Vec::new();
        for mut note in self.sent.drain(..) {
            if !world.is_done(&mut note)? {
                held.push(note);
            }
        }
        self.sent = held;
        Ok(())
    }

    /// Asks every other rank for its current call, at most once for each call.
    pub(crate) fn ask(&mut self, world: &mut World) -> Outcome {
        if !self.has_asked {
            self.has_asked = true;
            for rank in (0..self.others.len()).filter(|rank| *rank != self.rank) {
                self.sent.push(world.send_note(rank, self.note(true))?);
            }
        }
        Ok(())
    }

    /// Returns the ranks that have not reached this rank's call.
    pub(crate) fn missing(&self) -> Vec<usize> {
        let others = self.others.iter().enumerate().filter(|(rank, _)| *rank != self.rank);
        others.filter(|(_, (number, _))| *number < self.own.number).map(|(rank, _)| rank).collect()
    }

    /// Returns a rank that made a different call instead of this rank's, and that call.
    pub(crate) fn other_call(&self) -> Option<(usize, Call)> {
        let Head { number: own, call } = self.own;
        let mut others = self.others.iter().enumerate();
        others.find_map(|(rank, (number, other))| {
            other.filter(|other| *number == own && *other != call).map(|other| (rank, other))
        })
    }

    fn note(&self, is_question: bool) -> Note {
        let Head { number, call } = self.own;
        [self.rank as u64, number, call as u64, is_question.into()]
    }
}
