//! Calls of the ranks in a collective call: the check that they match, and the bytes to move.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    ops::Range,
};

use super::{Failure, Result, Status, group::Posted};
use crate::{
    driver::state::{Driver, lt},
    memory::device_of,
};

/// Kind of a call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    AllGather,
    Broadcast { root: usize },
    Send { to: usize },
    Receive { from: usize },
}

/// Call of a rank. An address that it has not is 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) kind: Kind,
    pub(crate) send: u64,
    pub(crate) receive: u64,
    pub(crate) count: usize,
    /// C type `ncclDataType_t`.
    pub(crate) dtype: i32,
}

impl Call {
    /// Returns the bytes of the elements.
    fn bytes(&self) -> Result<u64> {
        let width = match self.dtype {
            0 | 1 | 10 | 11 => 1,
            6 | 9 => 2,
            2 | 3 | 7 => 4,
            4 | 5 | 8 => 8,
            other => return Err(invalid(format!("{other} is no element type"))),
        };
        Ok(self.count as u64 * width)
    }

    /// Returns the span that is read, as far as this rank's memory is.
    fn reads(&self, rank: usize) -> Result<Option<Range<u64>>> {
        let is_read = match self.kind {
            Kind::AllGather | Kind::Send { .. } => true,
            Kind::Broadcast { root } => root == rank,
            Kind::Receive { .. } => false,
        };
        let bytes = self.bytes()?;
        Ok(is_read.then(|| self.send..self.send + bytes))
    }

    /// Returns the span that is written.
    fn writes(&self, ranks: usize) -> Result<Option<Range<u64>>> {
        let bytes = match self.kind {
            Kind::AllGather => self.bytes()? * ranks as u64,
            Kind::Broadcast { .. } | Kind::Receive { .. } => self.bytes()?,
            Kind::Send { .. } => return Ok(None),
        };
        Ok(Some(self.receive..self.receive + bytes))
    }

    /// Returns true if it is done in place, as NCCL allows.
    fn is_in_place(&self, rank: usize) -> Result<bool> {
        Ok(match self.kind {
            Kind::AllGather => self.send == self.receive + self.bytes()? * rank as u64,
            Kind::Broadcast { .. } => self.send == self.receive,
            _ => false,
        })
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {} elements of type {}", self.kind, self.count, self.dtype)
    }
}

impl Driver {
    /// Refuses a call whose other rank is none, or whose memory is not within an allocation of the communicator's device.
    pub(super) fn check_spans(
        &self,
        call: &Call,
        device: usize,
        rank: usize,
        ranks: usize,
    ) -> Result {
        if let Kind::Broadcast { root: peer }
        | Kind::Send { to: peer }
        | Kind::Receive { from: peer } = call.kind
            && (peer >= ranks || peer == rank && !matches!(call.kind, Kind::Broadcast { .. }))
        {
            return Err(invalid(format!("{call} by rank {rank} of {ranks}")));
        }
        for span in [call.reads(rank)?, call.writes(ranks)?].into_iter().flatten() {
            let within = |(first, bytes): (u64, usize)| span.end <= first + bytes as u64;
            let is_here = device_of(span.start) == Some(device);
            let is_within = is_here && self.range(span.start).is_ok_and(within);
            if !is_within && !span.is_empty() {
                let text = format!("{call}: {span:#x?} is in no allocation of device {device}");
                return Err(invalid(text));
            }
        }
        Ok(())
    }
}

/// Refuses a group that overwrites memory that it reads, or writes memory twice.
pub(super) fn check_overlaps(calls: &[Call], rank: usize, ranks: usize) -> Result {
    let mut written: Vec<Range<u64>> = Vec::new();
    for (number, call) in calls.iter().enumerate() {
        let Some(span) = call.writes(ranks)? else { continue };
        let read = calls.iter().enumerate().map(|(other, reader)| {
            let own = other == number && reader.is_in_place(rank)?;
            Ok(reader.reads(rank)?.filter(|_| !own))
        });
        let read: Vec<Range<u64>> =
            read.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
        if lt::overlap(&[span.clone(), 0..0], &[read, written.clone()].concat()) {
            return Err(invalid(format!("{call} writes over what the group reads or writes")));
        }
        written.push(span);
    }
    Ok(())
}

/// Returns the byte ranges to move in a collective call, as destination, source and length. It fails if the ranks' calls do not match.
pub(super) fn moves(posted: &[Posted]) -> Result<Vec<[u64; 3]>> {
    let captured = |posted: &Posted| if posted.is_captured { "a graph" } else { "a stream" };
    if let Some(rank) = posted.iter().position(|other| other.is_captured != posted[0].is_captured) {
        let [first, other] = [0, rank].map(|rank| captured(&posted[rank]));
        return Err(misfit(format!("rank 0 calls from {first}, rank {rank} from {other}")));
    }
    let mut moves = collectives(posted)?;
    moves.extend(messages(posted)?);
    Ok(moves)
}

fn collectives(posted: &[Posted]) -> Result<Vec<[u64; 3]>> {
    let is_collective =
        |call: &&Call| matches!(call.kind, Kind::AllGather | Kind::Broadcast { .. });
    let of = |posted: &Posted| {
        posted.group.calls.iter().filter(is_collective).copied().collect::<Vec<_>>()
    };
    let all: Vec<Vec<Call>> = posted.iter().map(of).collect();
    let mut moves = Vec::new();
    for number in 0..all.iter().map(Vec::len).max().unwrap_or_default() {
        let asked = |rank: usize| all[rank].get(number);
        let said = |rank| asked(rank).map_or_else(|| "nothing".to_owned(), Call::to_string);
        let alike = |call: &Call| (call.kind, call.count, call.dtype);
        let differs = |rank: &usize| asked(*rank).map(alike) != asked(0).map(alike);
        if let Some(rank) = (0..all.len()).find(differs) {
            return Err(misfit(format!(
                "rank 0 asks for {}, rank {rank} for {}",
                said(0),
                said(rank)
            )));
        }
        let calls: Vec<&Call> = all.iter().filter_map(|calls| calls.get(number)).collect();
        for call in &calls {
            let bytes = call.bytes()?;
            let from = |rank: usize| calls.get(rank).map_or(0, |from| from.send);
            match call.kind {
                Kind::Broadcast { root } => moves.push([call.receive, from(root), bytes]),
                _ => moves.extend(
                    (0..calls.len())
                        .map(|rank| [call.receive + bytes * rank as u64, from(rank), bytes]),
                ),
            }
        }
    }
    Ok(moves)
}

/// Returns the moves of sends to the receives that await them, in order for each pair of ranks.
fn messages(posted: &[Posted]) -> Result<Vec<[u64; 3]>> {
    let mut pairs = BTreeMap::<[usize; 2], [VecDeque<&Call>; 2]>::new();
    for (rank, posted) in posted.iter().enumerate() {
        for call in &posted.group.calls {
            match call.kind {
                Kind::Send { to } => pairs.entry([rank, to]).or_default()[0].push_back(call),
                Kind::Receive { from } => pairs.entry([from, rank]).or_default()[1].push_back(call),
                _ => {}
            }
        }
    }
    let mut moves = Vec::new();
    for ([from, to], [mut sends, mut receives]) in pairs {
        while !sends.is_empty() || !receives.is_empty() {
            let (send, receive) = (sends.pop_front(), receives.pop_front());
            let size = |call: Option<&Call>| call.map(|call| (call.count, call.dtype));
            let (Some(send), Some(receive), true) = (send, receive, size(send) == size(receive))
            else {
                let said = |call: Option<&Call>| {
                    call.map_or_else(|| "nothing".to_owned(), Call::to_string)
                };
                return Err(misfit(format!(
                    "rank {from} asks for {}, and rank {to} for {}",
                    said(send),
                    said(receive)
                )));
            };
            moves.push([receive.receive, send.send, send.bytes()?]);
        }
    }
    Ok(moves)
}

fn invalid(text: String) -> Failure {
    Failure::new(Status::InvalidArgument, text)
}

fn misfit(text: String) -> Failure {
    Failure::new(Status::InvalidUsage, text)
}
