//! Groups: the calls between `ncclGroupStart` and `ncclGroupEnd` of one thread, which form one collective call.

use std::{cell::RefCell, sync::Arc};

use super::{Call, Failure, Result, Status, Ticket};
use crate::driver::state::{Driver, Handle, graph::Node};

/// Calls of one rank in one stream.
#[derive(Debug)]
pub(crate) struct Group {
    pub(super) comm: Handle,
    pub(super) stream: Handle,
    pub(super) calls: Vec<Call>,
}

/// A rank's part in a collective call.
#[derive(Clone, Debug)]
pub(super) struct Posted {
    pub(super) group: Arc<Group>,
    /// True for a launch of a graph.
    pub(super) is_captured: bool,
}

/// Open group of a thread.
#[derive(Debug, Default)]
struct Open {
    /// Number of groups within each other.
    depth: u32,
    group: Option<Group>,
}

thread_local! {
    static OPEN: RefCell<Open> = RefCell::default();
}

pub(crate) fn start() {
    OPEN.with_borrow_mut(|open| open.depth += 1);
}

/// Ends a group. Returns its calls if it is the outermost.
fn end() -> Result<Option<Group>> {
    OPEN.with_borrow_mut(|open| {
        let depth = open.depth.checked_sub(1);
        let nothing = || Failure::new(Status::InvalidUsage, "no group is open".to_owned());
        open.depth = depth.ok_or_else(nothing)?;
        Ok(if open.depth == 0 { open.group.take() } else { None })
    })
}

impl Driver {
    /// Asks for a call, now or with the open group's others.
    pub(crate) fn nccl_call(
        &mut self,
        comm: Handle,
        stream: Handle,
        call: Call,
    ) -> Result<Option<Ticket>> {
        let of = self.nccl.comms.get(comm)?.context;
        if self.stream_context(stream)? != of {
            let text = "a stream of another context than the communicator's".to_owned();
            return Err(Failure::new(Status::InvalidArgument, text));
        }
        let single = OPEN.with_borrow_mut(|open| {
            if open.depth == 0 {
                return Ok(Some(Group { comm, stream, calls: vec![call] }));
            }
            let group = open.group.get_or_insert(Group { comm, stream, calls: Vec::new() });
            if [group.comm, group.stream] != [comm, stream] {
                let text = "a group of several communicators or streams, which is not simulated";
                return Err(Failure::new(Status::InvalidUsage, text.to_owned()));
            }
            group.calls.push(call);
            Ok(None)
        })?;
        single.map_or(Ok(None), |group| self.nccl_submit(group))
    }

    /// Ends a group, and asks for its calls if it is the outermost.
    pub(crate) fn nccl_group_end(&mut self) -> Result<Option<Ticket>> {
        end()?.map_or(Ok(None), |group| self.nccl_submit(group))
    }

    /// Posts a group now, or adds it to the graph that its stream captures.
    fn nccl_submit(&mut self, group: Group) -> Result<Option<Ticket>> {
        let group = Arc::new(group);
        let stream = self.stream(group.stream)?;
        let capture = self.streams.get(stream)?.capture;
        self.catch_up(stream);
        let Some(capture) = capture else { return self.nccl_post(&group, false).map(Some) };
        let comm = self.nccl.comms.get(group.comm)?;
        let is_new = self.nccl.cliques.get(&comm.clique).is_none_or(|clique| clique.meetings == 0);
        if is_new {
            // NVIDIA's library connects in the first call, which a capture cannot do.
            let text = "a captured call of a communicator that has made none uncaptured".to_owned();
            return Err(Failure::new(Status::InvalidUsage, text));
        }
        self.record(capture, Node::Collective(group))?;
        Ok(None)
    }
}
