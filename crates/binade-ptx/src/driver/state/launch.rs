//! Launches, checked at the call. A kernel's fault becomes the context's error.

use std::sync::Arc;

use super::{Driver, Handle, graph::Node, tell};
use crate::{
    Dim3, Fault, Module, Report, ReportKind,
    driver::code::{Code, Result},
    gpu::Job,
};

/// Grid, block and dynamic shared memory of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) grid: Dim3,
    pub(crate) block: Dim3,
    pub(crate) shared_bytes: u32,
}

/// Launch with all that it needs, so that handles may be destroyed before it runs.
#[derive(Debug)]
pub(crate) struct Launch {
    module: Arc<Module>,
    entry: String,
    shape: Shape,
    most_shared: u64,
    params: Vec<u8>,
}

impl Launch {
    fn job(&self) -> Result<Job<'_>> {
        let entry = self.module.entry(&self.entry).ok_or(Code::NotFound)?;
        let Shape { grid, block, shared_bytes } = self.shape;
        let (shared_bytes, most_shared) = (u64::from(shared_bytes), self.most_shared);
        Ok(Job { module: &self.module, entry, grid, block, shared_bytes, most_shared })
    }
}

impl Driver {
    /// Returns the offset and size in bytes of each parameter of a function.
    #[expect(clippy::cast_possible_truncation, reason = "parameters are limited to 4 KiB")]
    pub(crate) fn parameters(&self, function: Handle) -> Result<Vec<(usize, usize)>> {
        let params = &self.function(function)?.kernel()?.params;
        Ok(params.iter().map(|param| (param.offset as usize, param.bytes as usize)).collect())
    }

    /// Puts a launch into a stream. `params` is the block of parameters, laid out as [`Driver::parameters`] says.
    pub(crate) fn launch(
        &mut self,
        function: Handle,
        shape: Shape,
        params: Vec<u8>,
        stream: Handle,
    ) -> Result {
        let here = self.context()?;
        let to = self.stream_context(stream)?;
        let function = self.function(function)?;
        // Function, stream and the thread's context must go together.
        if function.context != to || to != here {
            tell("a launch of a function or in a stream of another context than the thread's");
            return Err(Code::InvalidHandle);
        }
        let most_shared = u64::from(function.static_shared()? + function.dynamic_shared);
        let (module, entry) = (Arc::clone(&function.module), function.entry.clone());
        let launch = Launch { module, entry, shape, most_shared, params };
        self.gpu.check(&launch.job()?).map_err(|error| {
            tell(error);
            Code::InvalidValue
        })?;
        self.submit(stream, Node::Launch(Arc::new(launch)))
    }

    /// Runs a launch. The launch of a faulty kernel succeeds, as on a GPU, which executes it later; later calls in the context fail.
    pub(crate) fn run_launch(&mut self, context: Handle, launch: &Launch) -> Result {
        self.gpu.show(self.seen_from(context)?);
        match self.gpu.run(&launch.job()?, launch.params.clone()) {
            Ok(()) => {}
            Err(Fault::Kernel(report)) => {
                tell(&report);
                self.report = report.to_string();
                self.fault(context, code(&report));
            }
            Err(Fault::Call(_)) => return Err(Code::InvalidValue),
        }
        Ok(())
    }

    /// Leaves an error in the context, unless it has one already.
    pub(crate) fn fault(&mut self, context: Handle, code: Code) {
        if let Ok(context) = self.contexts.get_mut(context) {
            context.fault.get_or_insert(code);
        }
    }
}

/// Returns the code that hardware would give for this fault.
fn code(report: &Report) -> Code {
    match report.kind {
        ReportKind::OutOfBounds { .. } => Code::IllegalAddress,
        ReportKind::Misaligned { .. } => Code::MisalignedAddress,
        _ => Code::LaunchFailed,
    }
}
