//! Graphs.

use std::ffi::c_uint;

use super::{abi::Out, call::api};
use crate::driver::{code::Code, state::Handle};

api! {
    fn cuGraphCreate(driver, graph: Out<Handle>, flags: c_uint) {
        if flags != 0 {
            return Err(Code::InvalidValue);
        }
        graph.set(driver.create_graph())
    }

    fn cuGraphClone(driver, copy: Out<Handle>, graph: Handle) {
        copy.set(driver.clone_graph(graph)?)
    }

    /// The number of nodes; the nodes themselves are not handed out.
    fn cuGraphGetNodes(driver, graph: Handle, nodes: Out<Handle>, count: Out<usize>) {
        if nodes.wanted() {
            return Err(Code::NotSupported);
        }
        count.set(driver.graph_nodes(graph)?)
    }

    fn cuGraphDestroy(driver, graph: Handle) {
        driver.destroy_graph(graph)
    }

    /// Older forms have other arguments behind these two, none of which has an effect here.
    fn cuGraphInstantiate(driver, runnable: Out<Handle>, graph: Handle) {
        runnable.set(driver.instantiate(graph, 0)?)
    }

    fn cuGraphInstantiateWithFlags(driver, runnable: Out<Handle>, graph: Handle, flags: u64) {
        runnable.set(driver.instantiate(graph, flags)?)
    }

    fn cuGraphUpload(driver, runnable: Handle, stream: Handle) {
        driver.upload_graph(runnable, stream)
    }

    fn cuGraphLaunch(driver, runnable: Handle, stream: Handle) {
        driver.launch_graph(runnable, stream)
    }

    fn cuGraphExecDestroy(driver, runnable: Handle) {
        driver.destroy_runnable(runnable)
    }
}
