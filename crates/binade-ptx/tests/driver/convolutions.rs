//! Results of cuDNN's convolutions, called by cudarc's functions in the driver's streams and on its memory.

use std::{ffi::c_void, sync::Arc};

use cudarc::{
    cudnn::{
        result::{self, CudnnError},
        sys::{
            self, cudnnConvolutionBwdDataAlgo_t as OfData,
            cudnnConvolutionBwdFilterAlgo_t as OfFilter, cudnnConvolutionFwdAlgo_t as Forward,
            cudnnConvolutionMode_t as Mode, cudnnDataType_t as Kind, cudnnMathType_t as Math,
            cudnnTensorFormat_t as Format,
        },
    },
    driver::{CudaSlice, CudaStream},
};

use super::{
    process::alone,
    products::{address, context},
};

/// Convolution with every argument of a caller, to be changed before its workspace is asked for and before it is computed.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) kind: Kind,
    pub(crate) x: [i32; 4],
    pub(crate) w: [i32; 4],
    pub(crate) y: [i32; 4],
    pub(crate) padding: [i32; 2],
    pub(crate) stride: [i32; 2],
    pub(crate) dilation: i32,
    pub(crate) mode: Mode,
    pub(crate) sums: Kind,
    pub(crate) math: Math,
    pub(crate) format: Format,
}

/// Returns a convolution of two by three pixels in f16 with a kernel of one by two.
pub(crate) fn plain() -> Asked {
    Asked {
        kind: Kind::CUDNN_DATA_HALF,
        x: [1, 1, 2, 3],
        w: [1, 1, 1, 2],
        y: [1, 1, 2, 2],
        padding: [0, 0],
        stride: [1, 1],
        dilation: 1,
        mode: Mode::CUDNN_CROSS_CORRELATION,
        sums: Kind::CUDNN_DATA_FLOAT,
        math: Math::CUDNN_TENSOR_OP_MATH,
        format: Format::CUDNN_TENSOR_NCHW,
    }
}

/// Pass of a convolution, with its deterministic algorithm.
pub(crate) enum Pass {
    Forward(Forward),
    Data(OfData),
    Filter(OfFilter),
}

pub(crate) const FORWARD: Pass =
    Pass::Forward(Forward::CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM);
pub(crate) const DATA: Pass = Pass::Data(OfData::CUDNN_CONVOLUTION_BWD_DATA_ALGO_1);
pub(crate) const FILTER: Pass = Pass::Filter(OfFilter::CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1);

/// Descriptors that live until the process ends.
pub(crate) struct Made {
    pub(crate) handle: sys::cudnnHandle_t,
    x: sys::cudnnTensorDescriptor_t,
    y: sys::cudnnTensorDescriptor_t,
    w: sys::cudnnFilterDescriptor_t,
    how: sys::cudnnConvolutionDescriptor_t,
}

impl Made {
    pub(crate) fn new(asked: &Asked) -> Result<Self, CudnnError> {
        let handle = result::create_handle()?;
        let (x, y) = (result::create_tensor_descriptor()?, result::create_tensor_descriptor()?);
        let w = result::create_filter_descriptor()?;
        let how = result::create_convolution_descriptor()?;
        let ([up, left], [down, right], dilation) = (asked.padding, asked.stride, asked.dilation);
        // SAFETY: all of them are alive.
        unsafe {
            result::set_tensor4d_descriptor(x, asked.format, asked.kind, asked.x)?;
            result::set_tensor4d_descriptor(y, asked.format, asked.kind, asked.y)?;
            result::set_filter4d_descriptor(w, asked.kind, asked.format, asked.w)?;
            result::set_convolution2d_descriptor(
                how, up, left, down, right, dilation, dilation, asked.mode, asked.sums,
            )?;
            result::set_convolution_math_type(how, asked.math)?;
        }
        Ok(Self { handle, x, y, w, how })
    }

    /// Sets the stream.
    pub(crate) fn within(self, stream: &CudaStream) -> Result<Self, CudnnError> {
        // SAFETY: both are alive.
        unsafe { result::set_stream(self.handle, stream.cu_stream().cast()) }?;
        Ok(self)
    }

    pub(crate) fn workspace(&self, pass: &Pass) -> Result<usize, CudnnError> {
        let Self { handle, x, y, w, how } = *self;
        // SAFETY: all of them are alive.
        unsafe {
            match *pass {
                Pass::Forward(algo) => {
                    result::get_convolution_forward_workspace_size(handle, x, w, how, y, algo)
                }
                Pass::Data(algo) => {
                    result::get_convolution_backward_data_workspace_size(handle, w, y, how, x, algo)
                }
                Pass::Filter(algo) => result::get_convolution_backward_filter_workspace_size(
                    handle, x, y, how, w, algo,
                ),
            }
        }
    }

    /// Puts the convolution in the stream.
    pub(crate) fn convolve(
        &self,
        pass: &Pass,
        [at_x, at_w, at_y]: [u64; 3],
        (workspace, bytes): (u64, usize),
        [alpha, beta]: [f32; 2],
    ) -> Result<(), CudnnError> {
        let Self { handle, x, y, w, how } = *self;
        let (alpha, beta) = ((&raw const alpha).cast(), (&raw const beta).cast());
        let [at_x, at_w, at_y, space] = [at_x, at_w, at_y, workspace].map(|at| at as *mut c_void);
        // SAFETY: all of them are alive; what is wrong with addresses is what this library looks at.
        unsafe {
            match *pass {
                Pass::Forward(algo) => result::convolution_forward(
                    handle, alpha, x, at_x, w, at_w, how, algo, space, bytes, beta, y, at_y,
                ),
                Pass::Data(algo) => result::convolution_backward_data(
                    handle, alpha, w, at_w, y, at_y, how, algo, space, bytes, beta, x, at_x,
                ),
                Pass::Filter(algo) => result::convolution_backward_filter(
                    handle, alpha, x, at_x, y, at_y, how, algo, space, bytes, beta, w, at_w,
                ),
            }
        }
    }
}

pub(crate) type Slices = [CudaSlice<u16>; 3];

pub(crate) fn addresses(stream: &Arc<CudaStream>, slices: &Slices) -> [u64; 3] {
    slices.each_ref().map(|slice| address(stream, slice))
}

/// Puts a pass in the stream, with the workspace that it says.
fn convolve<T>(asked: &Asked, pass: &Pass, stream: &Arc<CudaStream>, slices: [&CudaSlice<T>; 3]) {
    let made = Made::new(asked).unwrap().within(stream).unwrap();
    let bytes = made.workspace(pass).unwrap();
    let space = stream.alloc_zeros::<u8>(bytes.max(1)).unwrap();
    let at = slices.map(|slice| address(stream, slice));
    made.convolve(pass, at, (address(stream, &space), bytes), [1.0, 0.0]).unwrap();
}

/// Returns the result of a pass over one pixel with a kernel of one tap, in f32.
fn of_f32(math: Math, pass: &Pass, value: f32) -> f32 {
    let (_context, stream) = context();
    let [x, w, y] = [value; 3].map(|value| stream.clone_htod(&[value]).unwrap());
    let (kind, one) = (Kind::CUDNN_DATA_FLOAT, [1; 4]);
    let asked = Asked { kind, math, x: one, w: one, y: one, ..plain() };
    convolve(&asked, pass, &stream, [&x, &w, &y]);
    let result = match pass {
        Pass::Forward(_) => &y,
        Pass::Data(_) => &x,
        Pass::Filter(_) => &w,
    };
    stream.clone_dtoh(result).unwrap()[0]
}

#[test]
fn tf32_drops_13_bits_of_each_operand_and_f32_none() {
    alone!({
        let kept = 1.0 + 2.0_f32.powi(-10);
        let value = kept + 2.0_f32.powi(-11);
        for pass in [FORWARD, DATA, FILTER] {
            assert_eq!(of_f32(Math::CUDNN_FMA_MATH, &pass, value), value * value);
            assert_eq!(of_f32(Math::CUDNN_DEFAULT_MATH, &pass, value), kept * kept);
        }
    });
}
