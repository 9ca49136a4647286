//! Graphs: recorded work, which can be run any number of times.

use std::{collections::VecDeque, sync::Arc};

use super::{
    Driver, Handle,
    dnn::Convolution,
    launch::Launch,
    lt::Product,
    nccl::{self, Ticket},
    stream::Stream,
    tell,
    thread::while_in_host_function,
};
use crate::driver::{
    code::{Code, Result},
    host::{HostCall, HostSpan},
};

/// Piece of work. A kernel's arguments are copied when it is recorded; host memory is read and written when the work runs.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Launch(Arc<Launch>),
    /// Product of cuBLASLt.
    Product(Arc<Product>),
    /// Convolution of cuDNN.
    Convolution(Arc<Convolution>),
    Fill {
        at: u64,
        pattern: Vec<u8>,
        count: usize,
    },
    Upload {
        to: u64,
        from: HostSpan,
    },
    Download {
        to: HostSpan,
        from: u64,
    },
    Copy {
        to: u64,
        from: u64,
        bytes: usize,
    },
    /// Copy from one device to another.
    PeerCopy {
        to: u64,
        from: u64,
        bytes: usize,
    },
    Host(HostCall),
    /// Calls of NCCL, which synchronise the ranks at each launch.
    Collective(Arc<nccl::Group>),
    Graph(Arc<[Node]>),
}

/// Launch of a graph under way.
#[derive(Debug)]
pub(crate) struct GraphRun {
    context: Handle,
    /// Work that is left.
    nodes: VecDeque<Node>,
    /// Meeting that it waits for.
    ticket: Option<Ticket>,
}

#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) nodes: Arc<[Node]>,
}

impl Driver {
    pub(crate) fn instantiate(&mut self, graph: Handle, flags: u64) -> Result<Handle> {
        self.context()?;
        let nodes = Arc::clone(&self.graphs.get(graph)?.nodes);
        if flags != 0 {
            tell(format_args!("flags {flags} of a graph are not supported"));
            return Err(Code::NotSupported);
        }
        Ok(self.runnable.insert(Graph { nodes }))
    }

    /// Checks that a graph can be launched. There is nothing to upload.
    pub(crate) fn upload_graph(&mut self, runnable: Handle, stream: Handle) -> Result {
        self.stream(stream)?;
        self.runnable.get(runnable).map(|_| ())
    }

    /// Begins a launch of a graph; [`Self::go_on`] ends it.
    pub(crate) fn launch_graph(&mut self, runnable: Handle, stream: Handle) -> Result<GraphRun> {
        let graph = Node::Graph(Arc::clone(&self.runnable.get(runnable)?.nodes));
        let stream = self.stream(stream)?;
        let Stream { capture, context, .. } = *self.streams.get(stream)?;
        self.catch_up(stream);
        let mut nodes = VecDeque::new();
        match capture {
            Some(capture) => self.record(capture, graph)?,
            None => nodes.push_back(graph),
        }
        Ok(GraphRun { context, nodes, ticket: None })
    }

    /// Runs a graph's work in order up to the first fault. Returns false where it waits for other threads' launches. A faulty copy,
    /// too, becomes the context's error, since the launch has returned before it.
    pub(crate) fn go_on(&mut self, run: &mut GraphRun, is_late: bool) -> Result<bool> {
        loop {
            if let Some(ticket) = run.ticket {
                match self.nccl_has_come(ticket, is_late) {
                    Ok(true) => run.ticket = None,
                    Ok(false) => return Ok(false),
                    Err(failure) => self.fail_in(run.context, &failure),
                }
            }
            if self.unfaulted(run.context).is_err() {
                return Ok(true);
            }
            match run.nodes.pop_front() {
                None => return Ok(true),
                Some(Node::Graph(nodes)) => {
                    nodes.iter().rev().for_each(|node| run.nodes.push_front(node.clone()));
                }
                Some(Node::Collective(group)) => match self.nccl_post(&group, true) {
                    Ok(ticket) => run.ticket = Some(ticket),
                    Err(failure) => self.fail_in(run.context, &failure),
                },
                Some(node) => {
                    if self.run(run.context, &node).is_err() {
                        self.fault(run.context, Code::IllegalAddress);
                    }
                }
            }
        }
    }

    /// Leaves the failure of a captured call in the context, like a kernel's failure.
    fn fail_in(&mut self, context: Handle, failure: &nccl::Failure) {
        tell(format_args!("NCCL, in a graph: {}", failure.text));
        self.fault(context, Code::LaunchFailed);
    }

    /// Runs one piece of work in a context. A kernel's fault becomes the context's error, not the call's.
    pub(crate) fn run(&mut self, context: Handle, work: &Node) -> Result {
        match work {
            Node::Launch(launch) => self.run_launch(context, launch),
            Node::Product(product) => {
                product.call.at.into_iter().try_for_each(|at| self.own(context, at))?;
                self.multiply(product)
            }
            Node::Convolution(convolution) => {
                let tensors = [convolution.call.x, convolution.call.w, convolution.call.y];
                tensors.into_iter().try_for_each(|at| self.own(context, at))?;
                self.convolve(convolution)
            }
            Node::Fill { at, pattern, count } => {
                self.own(context, *at)?;
                self.fill(*at, pattern, *count)
            }
            Node::Upload { to, from } => {
                self.own(context, *to)?;
                self.upload(*to, from)
            }
            Node::Download { to, from } => {
                self.own(context, *from)?;
                self.download(to, *from)
            }
            Node::Copy { to, from, bytes } => {
                self.own(context, *to)?;
                self.own(context, *from)?;
                self.copy(*to, *from, *bytes)
            }
            Node::PeerCopy { to, from, bytes } => self.copy(*to, *from, *bytes),
            Node::Host(call) => {
                while_in_host_function(|| call.run());
                Ok(())
            }
            // `go_on` runs nodes that may wait.
            Node::Collective(_) | Node::Graph(_) => Err(Code::NotSupported),
        }
    }
}
