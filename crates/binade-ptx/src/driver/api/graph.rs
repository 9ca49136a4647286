//! Functions on graphs: `cuGraph…`.

use std::ffi::{c_int, c_uint};

use super::{
    abi::{Out, Untyped},
    call::api,
};
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

    /// Writes as many nodes as there is room for, or their number if no room is given.
    fn cuGraphGetNodes(driver, graph: Handle, nodes: Out<Handle>, count: Untyped) {
        let all = driver.graph_nodes(graph)?;
        let room = if nodes.wanted() { count.as_in().get()? } else { all.len() };
        let given = &all[..all.len().min(room)];
        if nodes.wanted() {
            nodes.set_all(given)?;
        }
        count.as_out().set(given.len())
    }

    fn cuGraphNodeGetType(driver, node: Handle, kind: Out<c_int>) {
        kind.set(driver.node_type(node)?)
    }

    fn cuGraphDestroy(driver, graph: Handle) {
        driver.destroy_graph(graph)
    }

    /// Instantiates a graph. Older forms have further arguments, none of which has an effect here.
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
