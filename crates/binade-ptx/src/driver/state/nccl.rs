//! NCCL: communicators by handle, whose ranks are threads of this process, and the collective calls that move bytes.
//!
//! This stand-in is stricter than NVIDIA's library. The n-th group of calls of each rank is matched with the n-th of every other, and returns once
//! the bytes have arrived. Calls that differ end the communicator on all ranks, as does a rank that does not come in time.

mod calls;
mod group;

use std::{collections::BTreeMap, sync::Arc};

use super::{Driver, Handle, table::Table};
use crate::driver::code::Code;
pub(crate) use calls::{Call, Kind};
use group::Posted;
pub(crate) use group::{Group, start};

/// Communicators by handle, and the cliques that they belong to.
#[derive(Debug, Default)]
pub(crate) struct Nccl {
    /// Number of identities issued.
    ids: u64,
    /// Cliques by the number of their identity.
    cliques: BTreeMap<u64, Clique>,
    comms: Table<Comm, 18>,
}

/// Communicator: one rank of a clique.
#[derive(Clone, Copy, Debug)]
struct Comm {
    clique: u64,
    rank: usize,
    context: Handle,
}

/// Ranks that were made with one identity.
#[derive(Debug)]
struct Clique {
    /// Device of each rank, once it has come.
    devices: Vec<Option<usize>>,
    /// Number of meetings that are over.
    meetings: u64,
    /// Part of each rank in the next, once it has come.
    posted: Vec<Option<Posted>>,
    /// Reason why there are no more collective calls.
    end: Option<Failure>,
}

/// Wait of a rank for the others.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ticket {
    /// Until all ranks of a clique have come.
    Joined(u64),
    /// Waits until the clique's collective call with this number is complete.
    Met(u64, u64),
}

impl Driver {
    /// Returns the number of a new identity.
    pub(crate) fn nccl_id(&mut self) -> u64 {
        self.nccl.ids += 1;
        self.nccl.ids
    }

    /// Makes this thread's device a rank of the clique with this identity.
    pub(crate) fn nccl_join(
        &mut self,
        id: u64,
        ranks: usize,
        rank: usize,
    ) -> Result<(Handle, Ticket)> {
        let context = self.context()?;
        self.refuse_while_capturing()?;
        let device = self.device_of(context)?;
        if id == 0 || id > self.nccl.ids || rank >= ranks {
            let text =
                format!("rank {rank} of {ranks} of identity {id}, of {} made here", self.nccl.ids);
            return Err(Failure::new(Status::InvalidArgument, text));
        }
        let empty = || Clique {
            devices: vec![None; ranks],
            meetings: 0,
            posted: vec![None; ranks],
            end: None,
        };
        let clique = self.nccl.cliques.entry(id).or_insert_with(empty);
        clique.alive()?;
        let others = clique.devices.len();
        let same = clique.devices.iter().position(|other| *other == Some(device));
        let trouble = if others != ranks {
            Some(format!("rank {rank} is one of {ranks}, others of {others}"))
        } else if clique.devices[rank].is_some() {
            Some(format!("rank {rank} came twice"))
        } else {
            same.map(|same| {
                format!("duplicate GPU: ranks {same} and {rank} are both on device {device}")
            })
        };
        if let Some(text) = trouble {
            return Err(clique.ends(Status::InvalidUsage, text));
        }
        clique.devices[rank] = Some(device);
        let handle = self.nccl.comms.insert(Comm { clique: id, rank, context });
        Ok((handle, Ticket::Joined(id)))
    }

    /// Returns true once what a rank waits for has happened. A rank that waits too long ends the clique.
    pub(crate) fn nccl_has_come(&mut self, ticket: Ticket, is_late: bool) -> Result<bool> {
        let (Ticket::Joined(id) | Ticket::Met(id, _)) = ticket;
        let clique = self.nccl.cliques.get_mut(&id).ok_or_else(gone)?;
        let (has_come, missing) = match ticket {
            Ticket::Joined(_) => (absent(&clique.devices).is_empty(), absent(&clique.devices)),
            Ticket::Met(_, number) => (clique.meetings > number, absent(&clique.posted)),
        };
        if has_come {
            return Ok(true);
        }
        clique.alive()?;
        if is_late {
            let text = format!(
                "ranks {missing:?} did not come in time: they make no call, or wait elsewhere"
            );
            return Err(clique.ends(Status::SystemError, text));
        }
        Ok(false)
    }

    /// Returns the number of ranks and the communicator's own.
    pub(crate) fn nccl_place(&self, comm: Handle) -> Result<[usize; 2]> {
        let Comm { clique, rank, .. } = *self.nccl.comms.get(comm)?;
        let clique = self.nccl.cliques.get(&clique).ok_or_else(gone)?;
        Ok([clique.devices.len(), rank])
    }

    /// Returns the error that has ended a communicator; 0 for none.
    pub(crate) fn nccl_async_error(&self, comm: Handle) -> Result<i32> {
        let comm = self.nccl.comms.get(comm)?;
        let clique = self.nccl.cliques.get(&comm.clique).ok_or_else(gone)?;
        Ok(clique.end.as_ref().map_or(0, |_| Status::RemoteError as i32))
    }

    /// Destroys a communicator. Ranks that wait for this rank, or call it later, get an error.
    pub(crate) fn nccl_leave(&mut self, comm: Handle, how: &str) -> Result {
        let Comm { clique: id, rank, .. } = self.nccl.comms.remove(comm)?;
        if let Some(clique) = self.nccl.cliques.get_mut(&id) {
            // An error of the end is the others', who have it when they call.
            drop(
                clique.ends(Status::RemoteError, format!("rank {rank} has {how} its communicator")),
            );
        }
        if !self.nccl.comms.iter().any(|(_, comm)| comm.clique == id) {
            self.nccl.cliques.remove(&id);
        }
        Ok(())
    }

    /// Refuses a communicator that is gone.
    pub(crate) fn nccl_check(&self, comm: Handle) -> Result {
        self.nccl.comms.get(comm).map(drop).map_err(Failure::from)
    }

    /// Posts a rank's calls, and moves the bytes if it is the last rank to come.
    pub(crate) fn nccl_post(&mut self, group: &Arc<Group>, is_captured: bool) -> Result<Ticket> {
        let Comm { clique: id, rank, context } = *self.nccl.comms.get(group.comm)?;
        let device = self.device_of(context)?;
        let ranks = self.nccl.cliques.get(&id).ok_or_else(gone)?.devices.len();
        for call in &group.calls {
            self.check_spans(call, device, rank, ranks)?;
        }
        calls::check_overlaps(&group.calls, rank, ranks)?;
        let clique = self.nccl.cliques.get_mut(&id).ok_or_else(gone)?;
        clique.alive()?;
        if clique.posted[rank].is_some() {
            return Err(
                clique.ends(Status::InvalidUsage, format!("two threads call as rank {rank}"))
            );
        }
        clique.posted[rank] = Some(Posted { group: group.clone(), is_captured });
        let ticket = Ticket::Met(id, clique.meetings);
        if absent(&clique.posted).is_empty() {
            let posted: Vec<Posted> = clique.posted.iter_mut().filter_map(Option::take).collect();
            let moved = calls::moves(&posted).and_then(|moves| {
                moves
                    .iter()
                    .try_for_each(|[to, from, bytes]| Ok(self.move_bytes(*to, *from, *bytes)?))
            });
            let clique = self.nccl.cliques.get_mut(&id).ok_or_else(gone)?;
            if let Err(Failure { status, text }) = moved {
                return Err(clique.ends(status, text));
            }
            clique.meetings += 1;
        }
        Ok(ticket)
    }

    fn move_bytes(&mut self, to: u64, from: u64, bytes: u64) -> crate::driver::code::Result {
        let bytes = usize::try_from(bytes).map_err(|_| Code::InvalidValue)?;
        if to == from || bytes == 0 { Ok(()) } else { self.copy(to, from, bytes) }
    }
}

impl Clique {
    fn alive(&self) -> Result {
        self.end.as_ref().map_or(Ok(()), |end| Err(end.clone()))
    }

    /// Ends all meetings, with the first error that ended them.
    fn ends(&mut self, status: Status, text: String) -> Failure {
        self.end.get_or_insert(Failure::new(status, text)).clone()
    }
}

/// Returns the ranks that have not come.
fn absent<T>(all: &[Option<T>]) -> Vec<usize> {
    (0..all.len()).filter(|rank| all[*rank].is_none()).collect()
}

fn gone() -> Failure {
    Failure::new(Status::InvalidArgument, "a communicator that is gone".to_owned())
}

/// Status codes of NCCL's functions: `ncclResult_t`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(i32)]
pub(crate) enum Status {
    UnhandledCudaError = 1,
    SystemError = 2,
    InternalError = 3,
    InvalidArgument = 4,
    InvalidUsage = 5,
    RemoteError = 6,
}

/// Failure of a call: its status, and the text that `ncclGetLastError` returns.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) status: Status,
    pub(crate) text: String,
}

impl Failure {
    pub(crate) fn new(status: Status, text: String) -> Self {
        Self { status, text }
    }
}

pub(crate) type Result<T = ()> = std::result::Result<T, Failure>;

/// Maps an unknown handle to `InvalidArgument`, and other errors of the driver to `UnhandledCudaError`.
impl From<Code> for Failure {
    fn from(code: Code) -> Self {
        let status = match code {
            Code::InvalidHandle | Code::InvalidValue => Status::InvalidArgument,
            _ => Status::UnhandledCudaError,
        };
        Self::new(status, format!("the driver says {code:?}"))
    }
}
