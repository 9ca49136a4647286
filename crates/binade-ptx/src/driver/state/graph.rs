//! Graphs: work written down, run as often as asked.

use std::sync::Arc;

use super::{
    Driver, Handle, dnn::Convolution, launch::Launch, lt::Product, tell, while_in_host_function,
};
use crate::driver::{
    code::{Code, Result},
    host::{HostCall, HostSpan},
};

/// One piece of work. What a kernel takes is copied when it is given; host memory is looked at when the work runs.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Launch(Arc<Launch>),
    /// A library's kernel.
    Product(Arc<Product>),
    /// Another's.
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
    /// From one device to another.
    PeerCopy {
        to: u64,
        from: u64,
        bytes: usize,
    },
    Allocate {
        at: u64,
        bytes: usize,
        pool: Handle,
    },
    Free {
        at: u64,
    },
    Host(HostCall),
    Graph(Arc<[Node]>),
}

#[derive(Debug)]
pub(super) struct Graph {
    pub(super) nodes: Arc<[Node]>,
}

#[derive(Debug)]
pub(super) struct Runnable {
    nodes: Arc<[Node]>,
    /// Whether memory that an earlier launch took and nobody gave back is given back at the next.
    frees: bool,
}

/// The bits of a node's handle below its number, which are its graph's.
const NODE: u32 = 48;

/// `CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH`.
const AUTO_FREE: u64 = 1;
/// `CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH`.
const DEVICE_LAUNCH: u64 = 4;
/// `…_UPLOAD` and `…_USE_NODE_PRIORITY` change nothing here.
const HARMLESS: u64 = 2 | 8;

impl Driver {
    pub(in crate::driver) fn create_graph(&mut self) -> Handle {
        self.graphs.insert(Graph { nodes: Arc::new([]) })
    }

    pub(in crate::driver) fn clone_graph(&mut self, graph: Handle) -> Result<Handle> {
        let nodes = Arc::clone(&self.graphs.get(graph)?.nodes);
        Ok(self.graphs.insert(Graph { nodes }))
    }

    /// A handle for each node: the graph's, with the node's number from 1 above it.
    pub(in crate::driver) fn graph_nodes(&self, graph: Handle) -> Result<Vec<Handle>> {
        let count = self.graphs.get(graph)?.nodes.len() as u64;
        Ok((1..=count).map(|number| number << NODE | graph).collect())
    }

    /// `CUgraphNodeType`.
    pub(in crate::driver) fn node_type(&self, node: Handle) -> Result<i32> {
        let nodes = &self.graphs.get(node & ((1 << NODE) - 1))?.nodes;
        let index = usize::try_from(node >> NODE).ok().and_then(|number| number.checked_sub(1));
        let node = index.and_then(|index| nodes.get(index)).ok_or(Code::InvalidHandle)?;
        Ok(match node {
            Node::Launch(_) | Node::Product(_) | Node::Convolution(_) => 0,
            Node::Upload { .. }
            | Node::Download { .. }
            | Node::Copy { .. }
            | Node::PeerCopy { .. } => 1,
            Node::Fill { .. } => 2,
            Node::Host(_) => 3,
            Node::Graph(_) => 4,
            Node::Allocate { .. } => 10,
            Node::Free { .. } => 11,
        })
    }

    pub(in crate::driver) fn destroy_graph(&mut self, graph: Handle) -> Result {
        self.graphs.remove(graph).map(|_| ())
    }

    pub(in crate::driver) fn instantiate(&mut self, graph: Handle, flags: u64) -> Result<Handle> {
        self.context()?;
        let nodes = Arc::clone(&self.graphs.get(graph)?.nodes);
        if flags & DEVICE_LAUNCH != 0 && flags & AUTO_FREE != 0 {
            return Err(Code::InvalidValue);
        }
        match flags & !(AUTO_FREE | HARMLESS) {
            0 => Ok(self.runnable.insert(Runnable { nodes, frees: flags & AUTO_FREE != 0 })),
            DEVICE_LAUNCH => Err(Code::NotSupported),
            _ => Err(Code::InvalidValue),
        }
    }

    pub(in crate::driver) fn destroy_runnable(&mut self, runnable: Handle) -> Result {
        self.runnable.remove(runnable).map(|_| ())
    }

    /// Nothing to do ahead of a launch, but for finding out that it cannot be made.
    pub(in crate::driver) fn upload_graph(&mut self, runnable: Handle, stream: Handle) -> Result {
        self.stream(stream)?;
        self.runnable.get(runnable).map(|_| ())
    }

    pub(in crate::driver) fn launch_graph(&mut self, runnable: Handle, stream: Handle) -> Result {
        let Runnable { nodes, frees } = self.runnable.get(runnable)?;
        let (nodes, frees) = (Arc::clone(nodes), *frees);
        for node in nodes.iter() {
            if let Node::Allocate { at, .. } = node
                && self.memory.holds(*at)
            {
                if !frees {
                    tell(format_args!("the graph's memory at {at:#x} is not freed yet"));
                    return Err(Code::InvalidValue);
                }
                self.release(*at)?;
            }
        }
        self.submit(stream, Node::Graph(nodes))
    }

    /// Runs one piece of work in a context. A kernel's fault is the context's, not the call's.
    pub(super) fn run(&mut self, context: Handle, work: &Node) -> Result {
        match work {
            Node::Launch(launch) => self.run_launch(context, launch),
            Node::Product(product) => {
                product.matrices().into_iter().try_for_each(|at| self.own(context, at))?;
                self.multiply(product)
            }
            Node::Convolution(convolution) => {
                convolution.tensors().into_iter().try_for_each(|at| self.own(context, at))?;
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
            Node::Allocate { at, bytes, pool } => self.map(context, *at, *bytes, *pool),
            Node::Free { at } => self.release(*at),
            Node::Host(call) => {
                while_in_host_function(|| call.run());
                Ok(())
            }
            Node::Graph(nodes) => {
                self.run_all(context, nodes);
                Ok(())
            }
        }
    }

    /// Stops at the first fault. What is wrong with a copy shows when the graph runs, which is after its launch returned.
    fn run_all(&mut self, context: Handle, nodes: &[Node]) {
        for node in nodes {
            let outcome = self.run(context, node);
            if outcome.is_err() {
                self.fault(context, Code::IllegalAddress);
            }
            if self.unfaulted(context).is_err() {
                return;
            }
        }
    }
}
