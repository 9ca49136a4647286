//! Results of cuBLASLt's products, called by cudarc's functions in the driver's streams and on its memory.

use std::{ffi::c_void, sync::Arc};

use cudarc::{
    cublaslt::{
        result::{self, CublasError},
        sys::{self, cublasStatus_t as Status},
    },
    driver::{CudaContext, CudaSlice, CudaStream, DevicePtr, sys as driver},
};
use half::f16;

use super::process::alone;

pub(crate) const F32: u32 = 0;
pub(crate) const F16: u32 = 2;

/// Layout: type, rows, columns, elements between columns, matrices, elements between matrices.
pub(crate) type Shape = (u32, u64, u64, i64, i32, i64);

/// Product with every argument of a caller, to be changed before its algorithm is asked for and before it is computed.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) compute: sys::cublasComputeType_t,
    pub(crate) scale: u32,
    /// Layouts of A, B, C and D.
    pub(crate) shapes: [Shape; 4],
    pub(crate) transposed: [i32; 2],
    pub(crate) epilogue: u32,
    pub(crate) bias: u64,
    pub(crate) reductions: u32,
    pub(crate) aligned: u32,
    pub(crate) workspace: u64,
}

/// Returns the layouts of a product of f16, `rows` by `terms` and `terms` by `columns`, in contiguous columns.
pub(crate) fn contiguous(rows: u32, terms: u32, columns: u32) -> [Shape; 4] {
    let shape = |rows: u32, columns: u32| (F16, rows.into(), columns.into(), rows.into(), 1, 0);
    [shape(rows, terms), shape(terms, columns), shape(rows, columns), shape(rows, columns)]
}

/// Returns a product `A·B` of f16, 2 by 3 and 3 by 2, in contiguous columns.
pub(crate) fn plain() -> Asked {
    Asked {
        compute: sys::cublasComputeType_t::CUBLAS_COMPUTE_32F,
        scale: F32,
        shapes: contiguous(2, 3, 2),
        transposed: [0, 0],
        epilogue: 1,
        bias: 0,
        reductions: 2,
        aligned: 256,
        workspace: 1 << 20,
    }
}

pub(crate) struct Made {
    handle: sys::cublasLtHandle_t,
    desc: sys::cublasLtMatmulDesc_t,
    layouts: [sys::cublasLtMatrixLayout_t; 4],
}

fn kind(number: u32) -> sys::cudaDataType {
    match number {
        F32 => sys::cudaDataType::CUDA_R_32F,
        F16 => sys::cudaDataType::CUDA_R_16F,
        14 => sys::cudaDataType::CUDA_R_16BF,
        _ => sys::cudaDataType::CUDA_R_64F,
    }
}

fn at<T>(value: &T) -> (*const c_void, usize) {
    (std::ptr::from_ref(value).cast(), size_of::<T>())
}

impl Made {
    /// Creates descriptors that live until the process ends.
    pub(crate) fn new(asked: &Asked) -> Result<Self, CublasError> {
        use sys::{
            cublasLtMatmulDescAttributes_t as OfDesc, cublasLtMatrixLayoutAttribute_t as OfLayout,
        };
        let handle = result::create_handle()?;
        let desc = result::create_matmul_desc(asked.compute, kind(asked.scale))?;
        let set = |attribute, (value, bytes)| {
            // SAFETY: alive, and the value has as many bytes.
            unsafe { result::set_matmul_desc_attribute(desc, attribute, value, bytes) }
        };
        set(OfDesc::CUBLASLT_MATMUL_DESC_TRANSA, at(&asked.transposed[0]))?;
        set(OfDesc::CUBLASLT_MATMUL_DESC_TRANSB, at(&asked.transposed[1]))?;
        set(OfDesc::CUBLASLT_MATMUL_DESC_EPILOGUE, at(&asked.epilogue))?;
        set(OfDesc::CUBLASLT_MATMUL_DESC_BIAS_POINTER, at(&asked.bias))?;
        let mut layouts = [std::ptr::null_mut(); 4];
        for (layout, shape) in layouts.iter_mut().zip(asked.shapes) {
            let (of, rows, columns, leading, batch, step) = shape;
            *layout = result::create_matrix_layout(kind(of), rows, columns, leading)?;
            let count = OfLayout::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT;
            let between = OfLayout::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET;
            for (attribute, (value, bytes)) in [(count, at(&batch)), (between, at(&step))] {
                // SAFETY: alive, and the value has as many bytes.
                unsafe { result::set_matrix_layout_attribute(*layout, attribute, value, bytes) }?;
            }
        }
        Ok(Self { handle, desc, layouts })
    }

    /// Returns the algorithm for the product.
    pub(crate) fn choose(
        &self,
        asked: &Asked,
    ) -> Result<sys::cublasLtMatmulHeuristicResult_t, CublasError> {
        use sys::cublasLtMatmulPreferenceAttributes_t as Of;
        let preference = result::create_matmul_pref()?;
        let set = |attribute, (value, bytes)| {
            // SAFETY: alive, and the value has as many bytes.
            unsafe { result::set_matmul_pref_attribute(preference, attribute, value, bytes) }
        };
        set(Of::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, at(&asked.workspace))?;
        set(Of::CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, at(&asked.reductions))?;
        for of in [
            Of::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
            Of::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
            Of::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
            Of::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
        ] {
            set(of, at(&asked.aligned))?;
        }
        let [a, b, c, d] = self.layouts;
        // SAFETY: all of them are alive.
        unsafe { result::get_matmul_algo_heuristic(self.handle, self.desc, a, b, c, d, preference) }
    }

    /// Puts the product in the stream, with D for C.
    pub(crate) fn multiply(
        &self,
        [a, b, d]: [u64; 3],
        [alpha, beta]: [f32; 2],
        algorithm: &sys::cublasLtMatmulAlgo_t,
        workspace: (u64, usize),
        stream: &CudaStream,
    ) -> Result<(), CublasError> {
        let [of_a, of_b, of_c, of_d] = self.layouts;
        let d = d as *mut c_void;
        // SAFETY: all of them are alive; what is wrong with addresses is what this library looks at.
        unsafe {
            result::matmul(
                self.handle,
                self.desc,
                at(&alpha).0,
                at(&beta).0,
                a as *const c_void,
                of_a,
                b as *const c_void,
                of_b,
                d.cast_const(),
                of_c,
                d,
                of_d,
                algorithm,
                workspace.0 as *mut c_void,
                workspace.1,
                stream.cu_stream().cast(),
            )
        }
    }
}

/// Returns a context whose slices record no events of their own, and a stream.
pub(crate) fn context() -> (Arc<CudaContext>, Arc<CudaStream>) {
    let context = CudaContext::new(0).unwrap();
    // SAFETY: one stream alone.
    unsafe { context.disable_event_tracking() };
    let stream = context.new_stream().unwrap();
    (context, stream)
}

pub(crate) fn up(stream: &Arc<CudaStream>, values: &[f32]) -> CudaSlice<u16> {
    let bits: Vec<u16> = values.iter().map(|x| f16::from_f32(*x).to_bits()).collect();
    stream.clone_htod(&bits).unwrap()
}

pub(crate) fn down(stream: &Arc<CudaStream>, slice: &CudaSlice<u16>) -> Vec<f32> {
    let bits = stream.clone_dtoh(slice).unwrap();
    bits.into_iter().map(|bits| f16::from_bits(bits).to_f32()).collect()
}

pub(crate) fn address<T>(stream: &CudaStream, slice: &CudaSlice<T>) -> u64 {
    slice.device_ptr(stream).0
}

/// Matrices A and B of `plain` and their product, in memory order.
const A: [f32; 6] = [1.0, 4.0, 2.0, 5.0, 3.0, 6.0];
const B: [f32; 6] = [1.0, 2.0, 3.0, -1.0, 0.5, 2.0];
const PRODUCT: [f32; 4] = [14.0, 32.0, 6.0, 10.5];

/// Puts a short product in the stream, which wants no workspace.
fn product<T>(asked: &Asked, stream: &CudaStream, slices: [&CudaSlice<T>; 3], alpha: f32) {
    let made = Made::new(asked).unwrap();
    let algorithm = made.choose(asked).unwrap().algo;
    let at = slices.map(|slice| address(stream, slice));
    made.multiply(at, [alpha, 0.0], &algorithm, (0, 0), stream).unwrap();
}

/// Returns D, a buffer of `len` elements, after a product of A and B.
fn computed(asked: &Asked, a: &[f32], b: &[f32], len: usize) -> Vec<f32> {
    let (_context, stream) = context();
    let (a, b, d) = (up(&stream, a), up(&stream, b), up(&stream, &vec![7.0; len]));
    product(asked, &stream, [&a, &b, &d], 1.0);
    down(&stream, &d)
}

#[test]
fn gaps_between_columns_and_matrices_are_left_alone() {
    alone!({
        let mut shapes = plain().shapes;
        (shapes[0], shapes[1]) = ((F16, 2, 3, 2, 2, 0), (F16, 3, 2, 3, 2, 6));
        (shapes[2], shapes[3]) = ((F16, 2, 2, 3, 2, 7), (F16, 2, 2, 3, 2, 7));
        let asked = Asked { shapes, ..plain() };
        let b = [B, B.map(|x| 2.0 * x)].concat();
        let got = computed(&asked, &A, &b, 14);
        // Two columns lie one element apart, and the next matrix one element further.
        let want = [&PRODUCT[..2], &[7.0], &PRODUCT[2..], &[7.0, 7.0]].concat();
        let twice = PRODUCT.map(|x| 2.0 * x);
        let second = [&twice[..2], &[7.0], &twice[2..], &[7.0, 7.0]].concat();
        assert_eq!(got, [want, second].concat());
    });
}

/// Returns the product of two f32 elements under a compute type.
fn of_f32(compute: sys::cublasComputeType_t, a: f32, b: f32) -> f32 {
    let (_context, stream) = context();
    let [a, b, d] = [a, b, 7.0].map(|value| stream.clone_htod(&[value]).unwrap());
    let asked = Asked { compute, shapes: [(F32, 1, 1, 1, 1, 0); 4], ..plain() };
    product(&asked, &stream, [&a, &b, &d], 1.0);
    stream.clone_dtoh(&d).unwrap()[0]
}

#[test]
fn tf32_drops_13_bits_of_each_operand_and_f32_none() {
    use sys::cublasComputeType_t::{
        CUBLAS_COMPUTE_32F as FULL, CUBLAS_COMPUTE_32F_FAST_TF32 as TF32,
    };
    alone!({
        let (kept, dropped) = (1.0 + 2.0_f32.powi(-10), 2.0_f32.powi(-11));
        for (a, b) in [(kept + dropped, 1.0), (1.0, kept + dropped)] {
            assert_eq!(of_f32(FULL, a, b), kept + dropped);
            assert_eq!(of_f32(TF32, a, b), kept);
            assert_eq!(of_f32(TF32, -a, b), -kept, "towards zero");
        }
        // The result is f32, so it keeps all 22 bits.
        assert_eq!(of_f32(TF32, kept, kept), kept * kept);
        assert_eq!(of_f32(TF32, f32::MAX, 1.0), 2.0_f32.powi(128 - 11) * 2047.0);
        assert!(of_f32(TF32, f32::NAN, 1.0).is_nan());
    });
}

#[test]
fn a_captured_product_runs_when_its_graph_does_and_what_came_before_it_first() {
    alone!({
        let (_context, stream) = context();
        let (mut a, b, d) = (up(&stream, &A), up(&stream, &B), up(&stream, &[7.0; 4]));
        let made = Made::new(&plain()).unwrap();
        let algorithm = made.choose(&plain()).unwrap().algo;
        let at = [&a, &b, &d].map(|slice| address(&stream, slice));
        let thread_local = driver::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        stream.begin_capture(thread_local).unwrap();
        made.multiply(at, [1.0, 0.0], &algorithm, (0, 0), &stream).unwrap();
        let graph = stream.end_capture(driver::CUgraphInstantiate_flags(0)).unwrap().unwrap();
        assert_eq!(down(&stream, &d), [7.0; 4], "nothing has run");
        graph.launch().unwrap();
        assert_eq!(down(&stream, &d), PRODUCT);
        stream.memcpy_htod(&[0_u16; 6], &mut a).unwrap();
        graph.launch().unwrap();
        assert_eq!(down(&stream, &d), [0.0; 4]);
        // A handle takes memory, which a thread that captures may not.
        stream.begin_capture(thread_local).unwrap();
        let refused = result::create_handle().err();
        assert_eq!(refused, Some(CublasError(Status::CUBLAS_STATUS_ALLOC_FAILED)));
        assert!(stream.end_capture(driver::CUgraphInstantiate_flags(0)).is_err());
    });
}
