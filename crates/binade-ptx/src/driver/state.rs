//! State of the driver: contexts, streams, memory, modules, graphs. Handles are numbers looked up in tables.
//!
//! Work runs at once, in the order of the calls, unless its stream is capturing.
#![forbid(unsafe_code)]

mod capture;
mod clock;
mod context;
mod copy;
mod coverage;
mod device;
mod dnn;
mod event;
mod graph;
mod late;
mod launch;
mod lt;
mod memory;
mod module;
mod nccl;
mod pinned;
mod stream;
mod table;
mod thread;

use std::{collections::BTreeMap, io::Write, sync::Arc, time::Duration};

pub(crate) use capture::Mode as CaptureMode;
pub(crate) use device::{Configuration, TOTAL_MEMORY};
pub(crate) use dnn::{
    Call as DnnCall, ConvolutionSettings, Descriptors as DnnDescriptors, Pass, Status as DnnStatus,
    Tensor as DnnTensor,
};
pub(crate) use graph::Node;
pub(crate) use launch::Shape;
pub(crate) use lt::{
    Algorithm, Call as LtCall, Desc, Descriptors, Layout, Preference, Status as LtStatus,
};
pub(crate) use nccl::{
    Call as NcclCall, Failure as NcclFailure, Kind as NcclKind, Status as NcclStatus,
    Ticket as NcclTicket, start as nccl_group_start,
};
pub(crate) use thread::in_host_function;

use crate::{Capability, Gpu, Module};
use table::Table;

/// Handle as C holds it. It is never an address of the driver's own memory.
pub(crate) type Handle = u64;

#[derive(Debug)]
pub(crate) struct Driver {
    gpu: Gpu,
    capability: Capability,
    /// Number of devices, all alike.
    devices: usize,
    contexts: Table<context::Context, 1>,
    /// Primary contexts by device.
    primary: BTreeMap<usize, context::Primary>,
    streams: Table<stream::Stream, 2>,
    events: Table<event::Event, 3>,
    modules: Table<module::Loaded, 4>,
    functions: Table<module::Function, 5>,
    captures: Table<capture::Capture, 6>,
    pub(crate) graphs: Table<graph::Graph, 7>,
    pub(crate) runnable: Table<graph::Graph, 9>,
    pub(crate) lt: lt::Lt,
    pub(crate) dnn: dnn::Dnn,
    nccl: nccl::Nccl,
    /// Time that a rank waits for the others.
    pub(crate) patience: Duration,
    clock: clock::Clock,
    late: Vec<late::Late>,
    /// Allocations of device memory by address.
    memory: BTreeMap<u64, memory::Allocation>,
    /// Pinned memory by address, in vectors, which do not move when the table grows.
    pinned: BTreeMap<usize, Vec<pinned::Page>>,
    /// Modules by hash of their text. Unloaded modules stay here, for coverage and for the next load.
    seen: BTreeMap<u64, Arc<Module>>,
    report: String,
}

impl Driver {
    pub(crate) fn new(configuration: Configuration) -> Self {
        let Configuration { capability, devices, sums, lag, patience } = configuration;
        let mut gpu = Gpu::new(capability);
        gpu.sums = sums;
        Self {
            gpu,
            capability,
            devices,
            clock: clock::Clock::new(lag),
            late: Vec::new(),
            contexts: Table::default(),
            primary: BTreeMap::new(),
            streams: Table::default(),
            events: Table::default(),
            modules: Table::default(),
            functions: Table::default(),
            captures: Table::default(),
            graphs: Table::default(),
            runnable: Table::default(),
            lt: lt::Lt::default(),
            dnn: dnn::Dnn::default(),
            nccl: nccl::Nccl::default(),
            patience,
            memory: BTreeMap::new(),
            pinned: BTreeMap::new(),
            seen: BTreeMap::new(),
            report: String::new(),
        }
    }

    /// Returns the text of the last faulty kernel's report; empty if there was none.
    pub(crate) fn last_report(&self) -> &str {
        &self.report
    }
}

/// Writes a line to standard error. A return code does not show which argument of a call was wrong.
pub(crate) fn tell(line: impl std::fmt::Display) {
    // A closed standard error must not fail the call.
    let _ = writeln!(std::io::stderr(), "binade-ptx: {line}");
}
