//! Mistakes that cuDNN refuses, and those that its stand-in refuses besides, each by its status.

use cudarc::{
    cudnn::{
        result::{self, CudnnError},
        sys::{
            cudnnConvolutionBwdDataAlgo_t as OfData, cudnnConvolutionBwdFilterAlgo_t as OfFilter,
            cudnnConvolutionFwdAlgo_t as Forward, cudnnConvolutionMode_t as Mode,
            cudnnDataType_t as Kind, cudnnMathType_t as Math, cudnnStatus_t as Status,
            cudnnTensorFormat_t as Format,
        },
    },
    driver::CudaStream,
};

use super::{
    convolutions::{Asked, DATA, FILTER, FORWARD, Made, Pass, addresses, plain},
    process::alone,
    products::{address, context, up},
};

const BAD: Option<Status> = Some(Status::CUDNN_STATUS_BAD_PARAM);
const SHAPES: Option<Status> = Some(Status::CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
const NOT_SUPPORTED: Option<Status> = Some(Status::CUDNN_STATUS_NOT_SUPPORTED);

fn status<T>(outcome: Result<T, CudnnError>) -> Option<Status> {
    outcome.err().map(|error| error.0)
}

/// Returns the status of asking for a workspace.
fn asked(asked: &Asked, pass: &Pass) -> Option<Status> {
    status(Made::new(asked).and_then(|made| made.workspace(pass)))
}

#[test]
fn sums_in_anything_but_f32_are_refused() {
    alone!({
        let _device = context();
        assert_eq!(asked(&plain(), &FORWARD), None);
        let sums = Kind::CUDNN_DATA_HALF;
        assert_eq!(asked(&Asked { sums, ..plain() }, &FORWARD), NOT_SUPPORTED);
        // These math types may convert f32 to sixteen bits, or have no effect on it.
        for math in [Math::CUDNN_TENSOR_OP_MATH, Math::CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION] {
            let kind = Kind::CUDNN_DATA_FLOAT;
            assert_eq!(asked(&Asked { kind, math, ..plain() }, &FORWARD), NOT_SUPPORTED);
        }
        let (kind, math) = (Kind::CUDNN_DATA_FLOAT, Math::CUDNN_DEFAULT_MATH);
        assert_eq!(asked(&Asked { kind, math, ..plain() }, &FORWARD), None, "TF32");
        assert_eq!(asked(&Asked { math, ..plain() }, &FORWARD), NOT_SUPPORTED);
        let math = Math::CUDNN_FMA_MATH;
        assert_eq!(asked(&Asked { kind, math, ..plain() }, &FORWARD), None);
        assert_eq!(asked(&Asked { math, ..plain() }, &FORWARD), NOT_SUPPORTED);
    });
}

#[test]
fn algorithms_that_add_by_atomics_are_refused() {
    alone!({
        let _device = context();
        for pass in [FORWARD, DATA, FILTER] {
            assert_eq!(asked(&plain(), &pass), None);
        }
        for pass in [
            Pass::Forward(Forward::CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM),
            Pass::Forward(Forward::CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD),
            Pass::Data(OfData::CUDNN_CONVOLUTION_BWD_DATA_ALGO_0),
            Pass::Filter(OfFilter::CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0),
            Pass::Filter(OfFilter::CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3),
        ] {
            assert_eq!(asked(&plain(), &pass), NOT_SUPPORTED);
        }
    });
}

#[test]
fn what_does_not_fit_together_is_refused() {
    alone!({
        let _device = context();
        for (wrong, said) in [
            (Asked { x: [1, 2, 2, 3], ..plain() }, SHAPES),
            (Asked { x: [2, 1, 2, 3], ..plain() }, SHAPES),
            (Asked { w: [2, 1, 1, 2], ..plain() }, SHAPES),
            (Asked { w: [1, 1, 3, 2], ..plain() }, SHAPES),
            (Asked { y: [1, 1, 2, 3], ..plain() }, SHAPES),
            (Asked { padding: [1, 0], ..plain() }, SHAPES),
            (Asked { stride: [1, 2], ..plain() }, SHAPES),
            (Asked { x: [0, 1, 2, 3], y: [0, 1, 2, 2], ..plain() }, BAD),
            (Asked { x: [1, 1, -2, 3], ..plain() }, BAD),
            (Asked { padding: [0, -1], ..plain() }, BAD),
            (Asked { stride: [0, 1], ..plain() }, BAD),
            (Asked { dilation: 0, ..plain() }, BAD),
            (Asked { dilation: 2, ..plain() }, SHAPES),
            (Asked { x: [1 << 12, 1 << 12, 1 << 7, 1], ..plain() }, NOT_SUPPORTED),
            (Asked { kind: Kind::CUDNN_DATA_DOUBLE, ..plain() }, NOT_SUPPORTED),
            (Asked { mode: Mode::CUDNN_CONVOLUTION, ..plain() }, NOT_SUPPORTED),
            (Asked { format: Format::CUDNN_TENSOR_NCHW_VECT_C, ..plain() }, NOT_SUPPORTED),
        ] {
            assert_eq!(asked(&wrong, &FORWARD), said, "{wrong:?}");
        }
        let far = Asked { padding: [1, 0], y: [1, 1, 4, 2], ..plain() };
        let padding = Some(Status::CUDNN_STATUS_NOT_SUPPORTED_PADDING);
        assert_eq!(asked(&far, &FORWARD), padding, "windows of nothing but padding");
    });
}

#[test]
fn bf16_wants_compute_capability_8_0() {
    let bf16 = || Asked { kind: Kind::CUDNN_DATA_BFLOAT16, ..plain() };
    alone!(["BINADE_PTX_CC" = "7.5"], {
        let _device = context();
        let old = Some(Status::CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH);
        assert_eq!(asked(&bf16(), &FORWARD), old);
        assert_eq!(asked(&plain(), &FORWARD), None);
    });
}

#[test]
fn tf32_wants_compute_capability_8_0() {
    let by_default = |kind| Asked { kind, math: Math::CUDNN_DEFAULT_MATH, ..plain() };
    alone!(["BINADE_PTX_CC" = "7.5"], {
        let _device = context();
        assert_eq!(asked(&by_default(Kind::CUDNN_DATA_FLOAT), &FORWARD), NOT_SUPPORTED);
    });
}

#[test]
fn what_nobody_has_set_or_made_is_refused() {
    alone!({
        let _device = context();
        let made = Made::new(&plain()).unwrap();
        let unset = result::create_tensor_descriptor().unwrap();
        let w = result::create_filter_descriptor().unwrap();
        let how = result::create_convolution_descriptor().unwrap();
        let algo = Forward::CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
        // SAFETY: all of them are alive.
        let outcome = unsafe {
            result::get_convolution_forward_workspace_size(made.handle, unset, w, how, unset, algo)
        };
        assert_eq!(status(outcome), BAD);
        // SAFETY: the library looks handles up, and finds out that this is gone.
        let gone = unsafe {
            result::destroy_handle(made.handle).unwrap();
            result::destroy_handle(made.handle)
        };
        assert_eq!(status(gone), BAD);
        assert_eq!(status(made.workspace(&FORWARD)), BAD);
    });
}

/// Returns the status of a convolution of `plain` in a stream. All of it is right but for the changes of `wrong` to addresses,
/// workspace and scalars.
fn put(
    stream: &std::sync::Arc<CudaStream>,
    pass: &Pass,
    wrong: impl FnOnce(&mut [u64; 3], &mut (u64, usize), &mut [f32; 2]),
) -> Option<Status> {
    let slices = [(); 3].map(|()| up(stream, &[1.0; 8]));
    let made = Made::new(&plain()).unwrap().within(stream).unwrap();
    let bytes = made.workspace(pass).unwrap();
    let space = stream.alloc_zeros::<u8>(64).unwrap();
    let (mut at, mut space) = (addresses(stream, &slices), (address(stream, &space), bytes));
    let mut scalars = [1.0, 0.0];
    wrong(&mut at, &mut space, &mut scalars);
    status(made.convolve(pass, at, space, scalars))
}

#[test]
fn memory_that_is_not_there_or_not_apart_is_refused() {
    alone!({
        let (_context, stream) = context();
        let small = Some(Status::CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT);
        let odd = Some(Status::CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER);
        for (pass, result) in [(FORWARD, 2), (DATA, 0), (FILTER, 1)] {
            assert_eq!(put(&stream, &pass, |_, _, _| ()), None);
            for place in 0..3 {
                assert_eq!(put(&stream, &pass, |at, _, _| at[place] += 2), odd);
                assert_eq!(put(&stream, &pass, |at, _, _| at[place] += 1 << 30), BAD);
            }
            for other in [1, 2] {
                let over = |at: &mut [u64; 3]| at[result] = at[(result + other) % 3];
                assert_eq!(put(&stream, &pass, |at, _, _| over(at)), BAD, "over what is read");
            }
            assert_eq!(put(&stream, &pass, |_, _, scalars| scalars[1] = 1.0), NOT_SUPPORTED);
            // The first four bytes of an `f64` of 1 are 0.
            assert_eq!(put(&stream, &pass, |_, _, scalars| scalars[0] = 0.0), NOT_SUPPORTED);
        }
        for pass in [FORWARD, FILTER] {
            assert_eq!(put(&stream, &pass, |_, space, _| space.1 -= 1), small);
            assert_eq!(put(&stream, &pass, |_, space, _| space.0 = 0), small);
            assert_eq!(put(&stream, &pass, |at, space, _| space.0 = at[2]), BAD);
        }
    });
}

#[test]
fn a_convolution_wants_a_stream_and_its_workspace_asked_for() {
    alone!({
        let (_context, stream) = context();
        let slices = [up(&stream, &[1.0; 6]), up(&stream, &[1.0; 2]), up(&stream, &[1.0; 4])];
        let at = addresses(&stream, &slices);
        let made = Made::new(&plain()).unwrap();
        made.workspace(&DATA).unwrap();
        assert_eq!(status(made.convolve(&DATA, at, (0, 0), [1.0, 0.0])), BAD, "no stream");
        let made = Made::new(&plain()).unwrap().within(&stream).unwrap();
        assert_eq!(status(made.convolve(&DATA, at, (0, 0), [1.0, 0.0])), BAD, "not asked for");
        made.workspace(&DATA).unwrap();
        assert_eq!(status(made.convolve(&DATA, at, (0, 0), [1.0, 0.0])), None);
    });
}
