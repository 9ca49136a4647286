//! Convolutions by the library: a plan found once a problem, the call recorded, and put in the stream.

use super::{
    api::{self, Addresses},
    open::Shared,
    problem::Problem,
};
use crate::{Cuda, CudaError, Error, Tensor, library::convolutions::Pass, memory::Buffer};
use binade_gpu::Driver;
use binade_ops::Conv2dConfig;
use cudarc::cudnn::result::CudnnError;
use std::{collections::hash_map::Entry, sync::PoisonError};

/// Greatest workspace in bytes. Beyond it the kernels, which take the batch in parts, are the better choice.
const MOST_WORKSPACE: usize = 1 << 30;

impl Pass {
    /// Returns the name of the pass for the recorder and in device errors.
    fn name(self) -> &'static str {
        match self {
            Self::Forward => "cudnnConvolutionForward",
            Self::OfInput => "cudnnConvolutionBackwardData",
            Self::OfWeight => "cudnnConvolutionBackwardFilter",
        }
    }
}

impl Cuda {
    /// Computes a pass by the library, into the one of input, weight and output that is its result. Returns `false` if the
    /// library does not compute it. The caller has checked the shapes.
    pub(crate) fn convolves(
        &self,
        pass: Pass,
        operands: [&Tensor; 3],
        config: Conv2dConfig,
    ) -> Result<bool, Error> {
        self.check_alive()?;
        let here = (self.inner.capability, self.f32_products());
        let problem = Problem::of(pass, operands, config, here);
        let Some(problem) = problem else { return Ok(false) };
        let Some(open) = self.dnn()? else { return Ok(false) };
        let mut shared = open.lock();
        let [input, weight, output] = operands.map(Tensor::address);
        let at = Addresses { input, weight, output, workspace: 0 };
        let Some(bytes) = self.find_plan(&mut shared, &problem, at)? else { return Ok(false) };
        // The workspace comes from the pool, as any operation's does: a captured step finds its own again.
        let workspace = if bytes == 0 { None } else { Some(self.buffer(bytes)?) };
        let at = Addresses { workspace: workspace.as_ref().map_or(0, Buffer::address), ..at };
        match self.enqueue_convolution(&shared, &problem, at)? {
            Ok(()) => Ok(true),
            // The library would refuse at each call: kernels compute this problem from here on.
            Err(error) if api::is_unsupported(error) && !self.is_captured() => {
                shared.plans.insert(problem, None);
                Ok(false)
            }
            Err(error) => Err(refused("convolve", error)),
        }
    }

    fn is_captured(&self) -> bool {
        self.inner.pool.state.running() == Some(true)
    }

    fn enqueue_convolution(
        &self,
        shared: &Shared,
        problem: &Problem,
        at: Addresses,
    ) -> Result<Result<(), CudnnError>, Error> {
        let (name, Shared { handle, plans }) = (problem.pass.name(), shared);
        let Some(Some(plan)) = plans.get(problem) else { return Ok(Ok(())) };
        self.with_stream(name, |stream| {
            self.inner.pool.state.note(name, || words(problem, at))?;
            self.check("bind", stream.context().bind_to_thread())?;
            let convolved = handle.convolve(plan, at);
            *self.inner.last.lock().unwrap_or_else(PoisonError::into_inner) = name;
            if convolved.is_ok() {
                self.inner.counters.convolution(problem.f32);
            }
            Ok(convolved)
        })?
    }

    /// Returns the bytes of the workspace, asked for once a problem. It is `None` if the library has no algorithm; kernels
    /// compute it then.
    fn find_plan(
        &self,
        shared: &mut Shared,
        problem: &Problem,
        at: Addresses,
    ) -> Result<Option<usize>, Error> {
        let place = match shared.plans.entry(*problem) {
            Entry::Occupied(found) => return Ok(found.get().as_ref().map(|plan| plan.workspace)),
            Entry::Vacant(place) => place,
        };
        if self.is_captured() {
            // No warm-up did this: the recorder says so.
            self.inner.pool.state.note(problem.pass.name(), || words(problem, at))?;
        }
        self.check("bind", self.inner.stream.context().bind_to_thread())?;
        self.inner.counters.search();
        let plan = match shared.handle.plan(problem) {
            Ok(plan) => Some(plan).filter(|plan| plan.workspace <= MOST_WORKSPACE),
            Err(error) if api::is_refused(error) => None,
            Err(error) => return Err(refused("plan a convolution", error)),
        };
        Ok(place.insert(plan).as_ref().map(|plan| plan.workspace))
    }
}

/// Returns all values that the host gives the library, as words.
fn words(problem: &Problem, at: Addresses) -> Vec<u64> {
    let Addresses { input, weight, output, workspace } = at;
    [&[input, weight, output, workspace][..], &problem.words()].concat()
}

fn refused(call: &'static str, error: CudnnError) -> Error {
    Error::Driver(CudaError::Convolutions { call, cause: api::cause(error) })
}
