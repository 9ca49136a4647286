//! Graphs: recorded work, run as often as asked.

use std::sync::Arc;

use super::{
    Driver, Handle, dnn::Convolution, launch::Launch, lt::Product, tell,
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
    Graph(Arc<[Node]>),
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

    pub(crate) fn launch_graph(&mut self, runnable: Handle, stream: Handle) -> Result {
        let nodes = Arc::clone(&self.runnable.get(runnable)?.nodes);
        self.submit(stream, Node::Graph(nodes))
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
            Node::Graph(nodes) => {
                self.run_all(context, nodes);
                Ok(())
            }
        }
    }

    /// Runs work in order up to the first fault. A faulty copy, too, becomes the context's error, since the launch has returned
    /// before it.
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
