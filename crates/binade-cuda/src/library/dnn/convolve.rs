//! Convolutions by cuDNN: a plan found once a problem, the call recorded, and put in the stream.

use super::{
    api::{self, Addresses, Handle, Plan},
    problem::Problem,
};
use crate::{
    Cuda, CudaError, Error, Tensor, launch,
    library::{Opened, Pass},
    memory::Buffer,
};
use binade_core::ops::Conv2dConfig;
use binade_gpu::Driver;
use cudarc::cudnn::result::{self, CudnnError};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Opened cuDNN.
pub(in crate::library) type Cudnn = Opened<Handle, Problem, Plan>;

/// Versions with the status numbers used here: cuDNN 9. Versions of cuDNN 8 are numbered differently.
const KNOWN: std::ops::Range<usize> = 90_000..100_000;

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
    pub(in crate::library) fn cudnn(&self) -> Result<Result<&Cudnn, &str>, Error> {
        self.inner.library.dnn.get(self, |cuda| Ok(open(cuda)))
    }

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
        let Ok(open) = self.cudnn()? else { return Ok(false) };
        let mut state = open.lock();
        let [input, weight, output] = operands.map(Tensor::address);
        let at = Addresses { input, weight, output, workspace: 0 };
        let noted = |_: &Handle| words(&problem, at);
        let found = state.find(self, &problem, (pass.name(), noted), |handle| {
            match handle.plan(&problem) {
                Ok(plan) => Ok(Some(plan).filter(|plan| plan.workspace <= MOST_WORKSPACE)),
                Err(error) if api::is_refused(error) => Ok(None),
                Err(error) => Err(refused("plan a convolution", error)),
            }
        })?;
        let Some((handle, plan)) = found else { return Ok(false) };
        // The workspace comes from the pool, as any operation's does: a captured step finds its own again.
        let workspace = if plan.workspace == 0 { None } else { Some(self.buffer(plan.workspace)?) };
        let at = Addresses { workspace: workspace.as_ref().map_or(0, Buffer::address), ..at };
        let convolved = self.with_stream(pass.name(), |_| {
            self.inner.pool.state.note(pass.name(), || words(&problem, at))?;
            self.bind()?;
            Ok::<_, Error>(handle.convolve(plan, at))
        })??;
        match convolved {
            Ok(()) => {
                self.launched(pass.name());
                self.inner.counters.convolutions.add(1);
                self.multiplied(problem.f32);
                Ok(true)
            }
            // The library would refuse at each call: kernels compute this problem from here on.
            Err(error) if api::is_unsupported(error) && !self.is_captured() => {
                state.refuse(problem);
                Ok(false)
            }
            Err(error) => Err(refused("convolve", error)),
        }
    }
}

/// Opens the library that the system's loader finds, if its version is known.
fn open(cuda: &Cuda) -> Result<Cudnn, String> {
    // Names that cudarc asks the loader for, and that cuDNN 9 can have.
    let names = if cfg!(windows) {
        ["cudnn.dll", "cudnn64_9.dll"]
    } else {
        ["libcudnn.so", "libcudnn.so.9"]
    };
    if !names.into_iter().any(launch::loads) {
        return Err(format!("no cuDNN; looked for {}", names.join(", ")));
    }
    // cudarc may find less than was found here, and then it panics. Known versions have all functions that are called.
    let made = catch_unwind(AssertUnwindSafe(|| {
        let version = result::get_version();
        (version, KNOWN.contains(&version).then(|| Handle::create(cuda.stream())))
    }));
    match made {
        Ok((version, Some(Ok(handle)))) => Ok(Opened::new(cuda, version, handle)),
        Ok((_, Some(Err(error)))) => Err(format!("cuDNN does not start: {}", api::cause(error))),
        Ok((version, None)) => {
            Err(format!("cuDNN is of version {version}, which is not supported"))
        }
        Err(_) => Err("cuDNN has a version, or a name, that cudarc does not load".to_owned()),
    }
}

/// Returns all values that the host gives the library, as words.
fn words(problem: &Problem, at: Addresses) -> Vec<u64> {
    let Addresses { input, weight, output, workspace } = at;
    [&[input, weight, output, workspace][..], &problem.words()].concat()
}

fn refused(call: &'static str, error: CudnnError) -> Error {
    Error::Driver(CudaError::Library { name: "cuDNN", call, cause: api::cause(error) })
}
