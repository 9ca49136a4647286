//! Functions on graphs: `cuGraph…`.

use super::{abi::Out, call::api};
use crate::driver::state::Handle;

api! {
    fn cuGraphClone(driver, copy: Out<Handle>, graph: Handle) {
        copy.set(driver.clone_graph(graph)?)
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
