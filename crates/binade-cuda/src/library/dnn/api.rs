//! Safe wrapper of cuDNN's C functions for the rest of the folder. An object made here is destroyed once, and pointers go in for
//! the length of a call.
#![expect(unsafe_code, reason = "a C library")]

use super::problem::Problem;
use crate::{F32Products, library::Pass};
use binade_core::{DType, ops::ImageLayout};
use cudarc::{
    cudnn::{
        result::{self, CudnnError},
        sys,
    },
    driver::CudaStream,
};
use std::ffi::c_void;

type Result<T = ()> = std::result::Result<T, CudnnError>;

/// Algorithms that `cudnn_ops.h` calls deterministic. `ALGO_0` of both gradients, and `ALGO_3` of the weight's, add by atomics.
const FORWARD: sys::cudnnConvolutionFwdAlgo_t =
    sys::cudnnConvolutionFwdAlgo_t::CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
const OF_INPUT: sys::cudnnConvolutionBwdDataAlgo_t =
    sys::cudnnConvolutionBwdDataAlgo_t::CUDNN_CONVOLUTION_BWD_DATA_ALGO_1;
const OF_WEIGHT: sys::cudnnConvolutionBwdFilterAlgo_t =
    sys::cudnnConvolutionBwdFilterAlgo_t::CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1;

/// Object of the library, in memory on the host: made by the library's own function, and destroyed once.
macro_rules! owned_object {
    ($($name:ident($raw:ty), $destroy:path;)+) => {$(
        struct $name($raw);

        // SAFETY: memory on the host, not tied to a thread.
        unsafe impl Send for $name {}

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: made for this value, and destroyed only here.
                let _ = unsafe { $destroy(self.0) };
            }
        }
    )+};
}

owned_object! {
    Session(sys::cudnnHandle_t), result::destroy_handle;
    TensorDescriptor(sys::cudnnTensorDescriptor_t), result::destroy_tensor_descriptor;
    FilterDescriptor(sys::cudnnFilterDescriptor_t), result::destroy_filter_descriptor;
    ConvolutionDescriptor(sys::cudnnConvolutionDescriptor_t), result::destroy_convolution_descriptor;
}

/// Handle of the library for a stream, whose context is bound to the thread before each call. It is behind a lock, so that one thread
/// at a time uses it.
pub(in crate::library) struct Handle(Session);

impl Handle {
    /// Creates a handle for the context that is bound to this thread. The stream is set once: a change would make one stream wait
    /// for the other.
    pub(super) fn create(stream: &CudaStream) -> Result<Self> {
        let session = Session(result::create_handle()?);
        // SAFETY: both are alive, and the stream outlives the handle: the device has both.
        unsafe { result::set_stream(session.0, stream.cu_stream().cast()) }?;
        Ok(Self(session))
    }

    /// Returns the descriptors of a problem, and the workspace of its algorithm.
    pub(super) fn plan(&self, problem: &Problem) -> Result<Plan> {
        let Problem { dtype, layout, input, weight, output, .. } = *problem;
        let [x, y] = [input, output].map(|extents| TensorDescriptor::new(dtype, layout, extents));
        let (x, y, w) = (x?, y?, FilterDescriptor::new(dtype, layout, weight)?);
        let how = ConvolutionDescriptor::new(problem)?;
        // SAFETY: all of them are alive to the end of the function.
        let workspace = unsafe {
            match problem.pass {
                Pass::Forward => result::get_convolution_forward_workspace_size(
                    self.0.0, x.0, w.0, how.0, y.0, FORWARD,
                ),
                Pass::OfInput => result::get_convolution_backward_data_workspace_size(
                    self.0.0, w.0, y.0, how.0, x.0, OF_INPUT,
                ),
                Pass::OfWeight => result::get_convolution_backward_filter_workspace_size(
                    self.0.0, x.0, y.0, how.0, w.0, OF_WEIGHT,
                ),
            }
        }?;
        Ok(Plan { pass: problem.pass, x, w, y, how, workspace })
    }

    /// Puts the convolution in the handle's stream.
    ///
    /// The addresses are the caller's, who borrows their buffers. The buffers hold what the plan's problem says, and the
    /// workspace as many bytes as the plan does. Every sentence on the page of `launch` holds of this call as of a kernel's.
    pub(super) fn convolve(&self, plan: &Plan, at: Addresses) -> Result {
        let Plan { pass, x, w, y, how, workspace: bytes } = plan;
        let Addresses { input, weight, output, workspace } = at;
        let (one, zero) = (1.0_f32, 0.0_f32);
        let (one, zero) = ((&raw const one).cast(), (&raw const zero).cast());
        let [input, weight, output, workspace] =
            [input, weight, output, workspace].map(|address| address as *mut c_void);
        let bytes = *bytes;
        // SAFETY: handle and descriptors are alive. The scalars are two `f32` on the host, as the compute type says; they are
        // read before this returns, and with a beta of 0 the result is not. The device addresses hold what the caller has
        // asserted, and work behind this call is in the same stream, as is whoever uses the workspace next.
        unsafe {
            match pass {
                Pass::Forward => result::convolution_forward(
                    self.0.0, one, x.0, input, w.0, weight, how.0, FORWARD, workspace, bytes, zero,
                    y.0, output,
                ),
                Pass::OfInput => result::convolution_backward_data(
                    self.0.0, one, w.0, weight, y.0, output, how.0, OF_INPUT, workspace, bytes,
                    zero, x.0, input,
                ),
                Pass::OfWeight => result::convolution_backward_filter(
                    self.0.0, one, x.0, input, y.0, output, how.0, OF_WEIGHT, workspace, bytes,
                    zero, w.0, weight,
                ),
            }
        }
    }
}

/// Device addresses of a convolution's operands and its result.
#[derive(Clone, Copy, Debug)]
pub(super) struct Addresses {
    pub(super) input: u64,
    pub(super) weight: u64,
    pub(super) output: u64,
    /// Address of the workspace; 0 for none.
    pub(super) workspace: u64,
}

/// Descriptors of a problem, and its workspace.
pub(in crate::library) struct Plan {
    pass: Pass,
    x: TensorDescriptor,
    w: FilterDescriptor,
    y: TensorDescriptor,
    how: ConvolutionDescriptor,
    /// Bytes of the workspace.
    pub(super) workspace: usize,
}

/// Returns the library's name of a layout.
fn format(layout: ImageLayout) -> sys::cudnnTensorFormat_t {
    match layout {
        ImageLayout::ChannelsFirst => sys::cudnnTensorFormat_t::CUDNN_TENSOR_NCHW,
        ImageLayout::ChannelsLast => sys::cudnnTensorFormat_t::CUDNN_TENSOR_NHWC,
    }
}

impl TensorDescriptor {
    fn new(dtype: DType, layout: ImageLayout, extents: [i32; 4]) -> Result<Self> {
        let made = Self(result::create_tensor_descriptor()?);
        // SAFETY: alive.
        unsafe { result::set_tensor4d_descriptor(made.0, format(layout), kind(dtype), extents) }?;
        Ok(made)
    }
}

impl FilterDescriptor {
    fn new(dtype: DType, layout: ImageLayout, extents: [i32; 4]) -> Result<Self> {
        let made = Self(result::create_filter_descriptor()?);
        // SAFETY: alive.
        unsafe { result::set_filter4d_descriptor(made.0, kind(dtype), format(layout), extents) }?;
        Ok(made)
    }
}

impl ConvolutionDescriptor {
    /// Describes an unflipped convolution with f32 sums. Tensor Cores multiply sixteen bits. Operands of f32 are multiplied by
    /// `fma`, in full, unless TF32 is chosen. TF32 is the default math, which the cuDNN documentation lets use TF32 and nothing
    /// narrower; `ALLOW_CONVERSION` would let it convert to f16, whose range is another.
    fn new(problem: &Problem) -> Result<Self> {
        use sys::{
            cudnnConvolutionMode_t as Mode, cudnnDataType_t as Kind, cudnnMathType_t as Math,
        };
        let made = Self(result::create_convolution_descriptor()?);
        let ([up, left], [down, right]) = (problem.padding, problem.stride);
        let [rows_apart, columns_apart] = problem.dilation;
        let (unflipped, sums) = (Mode::CUDNN_CROSS_CORRELATION, Kind::CUDNN_DATA_FLOAT);
        let math = match (problem.dtype, problem.f32) {
            (DType::F32, F32Products::Full) => Math::CUDNN_FMA_MATH,
            (DType::F32, F32Products::Tf32) => Math::CUDNN_DEFAULT_MATH,
            _ => Math::CUDNN_TENSOR_OP_MATH,
        };
        // SAFETY: alive.
        unsafe {
            result::set_convolution2d_descriptor(
                made.0,
                up,
                left,
                down,
                right,
                rows_apart,
                columns_apart,
                unflipped,
                sums,
            )?;
            result::set_convolution_group_count(made.0, problem.groups)?;
            result::set_convolution_math_type(made.0, math)?;
        }
        Ok(made)
    }
}

/// Returns a status by its name and number.
pub(super) fn cause(error: CudnnError) -> String {
    format!("{:?} ({})", error.0, error.0 as u32)
}

/// Returns true for statuses that say, in one of several ways, that the library does not support this: the 3000s.
pub(super) fn is_unsupported(error: CudnnError) -> bool {
    (3000..4000).contains(&(error.0 as u32))
}

/// Returns true for those statuses, and for those of a problem that this version considers invalid: the 2000s.
pub(super) fn is_refused(error: CudnnError) -> bool {
    (2000..4000).contains(&(error.0 as u32))
}

fn kind(dtype: DType) -> sys::cudnnDataType_t {
    match dtype {
        DType::BF16 => sys::cudnnDataType_t::CUDNN_DATA_BFLOAT16,
        DType::F16 => sys::cudnnDataType_t::CUDNN_DATA_HALF,
        _ => sys::cudnnDataType_t::CUDNN_DATA_FLOAT,
    }
}
