//! Safe wrapper of cuBLASLt's C functions for the rest of the folder. An object made here is destroyed once, every attribute has
//! the type that its page in the cuBLAS documentation names, and pointers go in for the length of a call.
#![expect(unsafe_code, reason = "a C library")]

use super::{
    backends::F32Products,
    problem::{Operand, Problem},
};
use crate::memory::Buffer;
use binade_core::DType;
use cudarc::{
    cublaslt::{
        result::{self, CublasError},
        sys,
    },
    driver::CudaStream,
};
use std::ffi::c_void;

type Result<T = ()> = std::result::Result<T, CublasError>;

/// Object of a C library, in memory on the host: made by the library's own function, and destroyed once.
macro_rules! owned_object {
    ($($name:ident($raw:ty), $destroy:path;)+) => {$(
        struct $name($raw);

        // SAFETY: memory on the host, which belongs to no thread.
        unsafe impl Send for $name {}

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: made for this value, and destroyed here alone.
                let _ = unsafe { $destroy(self.0) };
            }
        }
    )+};
}
#[cfg(feature = "cudnn")]
pub(super) use owned_object;

/// Attributes of an object, each set to a value of the type that the attribute has.
macro_rules! attributes {
    ($($name:ident, $attribute:ty, $set:path;)+) => {$(
        impl $name {
            fn set<T>(&self, attribute: $attribute, value: &T) -> Result {
                let at = std::ptr::from_ref(value).cast();
                // SAFETY: alive; the value is copied before this returns.
                unsafe { $set(self.0, attribute, at, size_of::<T>()) }
            }
        }
    )+};
}

owned_object! {
    Session(sys::cublasLtHandle_t), result::destroy_handle;
    Desc(sys::cublasLtMatmulDesc_t), result::destroy_matmul_desc;
    Layout(sys::cublasLtMatrixLayout_t), result::destroy_matrix_layout;
    Preference(sys::cublasLtMatmulPreference_t), result::destroy_matmul_pref;
}

attributes! {
    Desc, sys::cublasLtMatmulDescAttributes_t, result::set_matmul_desc_attribute;
    Layout, sys::cublasLtMatrixLayoutAttribute_t, result::set_matrix_layout_attribute;
    Preference, sys::cublasLtMatmulPreferenceAttributes_t, result::set_matmul_pref_attribute;
}

/// Returns the result of `cublasLtGetVersion`.
pub(super) fn version() -> usize {
    // SAFETY: it takes nothing and says a number.
    unsafe { sys::cublasLtGetVersion() }
}

/// Handle of the library for a context, which is bound to the thread before each call. It is behind a lock, so that one thread at a
/// time uses it.
pub(super) struct Handle {
    session: Session,
    /// Workspace of one product at a time, as the stream orders them. It belongs to no run of a capture.
    workspace: Buffer,
}

impl Handle {
    /// Creates a handle for the context that is bound to this thread.
    pub(super) fn create(workspace: Buffer) -> Result<Self> {
        Ok(Self { session: Session(result::create_handle()?), workspace })
    }

    /// Returns the address of the workspace.
    pub(super) fn workspace(&self) -> u64 {
        self.workspace.address()
    }

    /// Returns the plan of the library's first choice for a problem. The error is `NOT_SUPPORTED` if it has no algorithm.
    pub(super) fn plan(&self, problem: &Problem, bias: u64) -> Result<Plan> {
        let Problem { dtype, into, first, second, result, batch, .. } = *problem;
        let desc = Desc::new(problem)?;
        if problem.bias {
            desc.bias(bias)?;
        }
        let a = Layout::new(dtype, &first, batch)?;
        let b = Layout::new(dtype, &second, batch)?;
        let c = Layout::new(into, &result, batch)?;
        let preference = Preference::new(problem, self.workspace.bytes())?;
        // SAFETY: all of them are alive to the end of the function; the result of cudarc's is written where it says success.
        let found = unsafe {
            result::get_matmul_algo_heuristic(
                self.session.0,
                desc.0,
                a.0,
                b.0,
                c.0,
                c.0,
                preference.0,
            )
        }?;
        Ok(Plan { desc, a, b, c, algo: found.algo, workspace: found.workspaceSize })
    }

    /// Puts the product in the stream: `into = first·second`, plus the bias.
    ///
    /// The addresses are the caller's, who borrows their buffers. The buffers hold what the plan's problem says. Every sentence
    /// on the page of `launch` holds of this call as of a kernel's.
    pub(super) fn multiply(&self, stream: &CudaStream, plan: &Plan, at: Addresses) -> Result {
        let (Addresses { first, second, bias, into }, workspace) = (at, &self.workspace);
        if bias != 0 {
            plan.desc.bias(bias)?;
        }
        assert!(plan.workspace <= workspace.bytes(), "{} bytes of workspace", plan.workspace);
        let (one, zero) = (1.0_f32, 0.0_f32);
        let into = into as *mut c_void;
        // SAFETY: handle and descriptors are alive. The scalars are two `f32` on the host, as the scale type and the pointer mode,
        // the default, say; they are read before this returns. With a beta of 0 C is not read and may be D. The device
        // addresses hold the layouts that the caller has asserted, and work behind this call is in the same stream, as is
        // whoever uses the workspace next.
        unsafe {
            result::matmul(
                self.session.0,
                plan.desc.0,
                (&raw const one).cast(),
                (&raw const zero).cast(),
                first as *const c_void,
                plan.a.0,
                second as *const c_void,
                plan.b.0,
                into.cast_const(),
                plan.c.0,
                into,
                plan.c.0,
                &raw const plan.algo,
                workspace.address() as *mut c_void,
                workspace.bytes(),
                stream.cu_stream().cast(),
            )
        }
    }
}

/// Device addresses of a product's operands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Addresses {
    pub(super) first: u64,
    pub(super) second: u64,
    /// Address of the bias; 0 for none.
    pub(super) bias: u64,
    pub(super) into: u64,
}

/// Descriptors of a problem, and the algorithm that the library chose for it.
pub(super) struct Plan {
    desc: Desc,
    a: Layout,
    b: Layout,
    c: Layout,
    algo: sys::cublasLtMatmulAlgo_t,
    workspace: usize,
}

impl Desc {
    /// Creates a descriptor of a product with f32 sums. Operands of f32 are read in full, or as TF32 by a compute type of its
    /// own.
    fn new(problem: &Problem) -> Result<Self> {
        use sys::{cublasComputeType_t as Compute, cublasLtMatmulDescAttributes_t as Attribute};
        let compute = match problem.f32 {
            F32Products::Full => Compute::CUBLAS_COMPUTE_32F,
            F32Products::Tf32 => Compute::CUBLAS_COMPUTE_32F_FAST_TF32,
        };
        let desc = Self(result::create_matmul_desc(compute, sys::cudaDataType::CUDA_R_32F)?);
        // Values of `CUBLAS_OP_N` and `CUBLAS_OP_T`.
        let [first, second] = [problem.first, problem.second].map(|it| i32::from(it.transposed));
        desc.set(Attribute::CUBLASLT_MATMUL_DESC_TRANSA, &first)?;
        desc.set(Attribute::CUBLASLT_MATMUL_DESC_TRANSB, &second)?;
        if problem.bias {
            let epilogue = sys::cublasLtEpilogue_t::CUBLASLT_EPILOGUE_BIAS as u32;
            desc.set(Attribute::CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue)?;
        }
        Ok(desc)
    }

    /// Sets the address of the bias, a vector of the result's type along its rows.
    fn bias(&self, address: u64) -> Result {
        let attribute = sys::cublasLtMatmulDescAttributes_t::CUBLASLT_MATMUL_DESC_BIAS_POINTER;
        self.set(attribute, &address)
    }
}

impl Layout {
    fn new(dtype: DType, operand: &Operand, batch: usize) -> Result<Self> {
        use sys::cublasLtMatrixLayoutAttribute_t as Attribute;
        let Operand { rows, columns, leading, step, .. } = *operand;
        let raw = result::create_matrix_layout(
            kind(dtype),
            rows as u64,
            columns as u64,
            signed(leading)?,
        )?;
        let layout = Self(raw);
        if batch > 1 {
            let count = i32::try_from(batch).map_err(|_| TOO_LARGE)?;
            layout.set(Attribute::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count)?;
            let step = signed(step)?;
            layout.set(Attribute::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step)?;
        }
        Ok(layout)
    }
}

impl Preference {
    /// Creates a preference. Sums that are split over K are joined in f32, in the workspace and in order, or not at all:
    /// `INPLACE` adds them by atomics and `OUTPUT_TYPE` in the result's sixteen bits.
    fn new(problem: &Problem, workspace: usize) -> Result<Self> {
        use sys::{
            cublasLtMatmulPreferenceAttributes_t as Attribute, cublasLtReductionScheme_t as Scheme,
        };
        let preference = Self(result::create_matmul_pref()?);
        let mask = Scheme::CUBLASLT_REDUCTION_SCHEME_NONE as u32
            | Scheme::CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE as u32;
        preference.set(Attribute::CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &mask)?;
        let most = Attribute::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES;
        preference.set(most, &(workspace as u64))?;
        let aligned = [
            (Attribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, problem.first),
            (Attribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, problem.second),
            (Attribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, problem.result),
            (Attribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, problem.result),
        ];
        aligned.into_iter().try_for_each(|(of, operand)| preference.set(of, &operand.aligned))?;
        Ok(preference)
    }
}

/// Error of a batch or step too large for the library's integers, returned without a call.
const TOO_LARGE: CublasError = CublasError(sys::cublasStatus_t::CUBLAS_STATUS_NOT_SUPPORTED);

/// Returns a status by its name and number.
pub(super) fn cause(error: CublasError) -> String {
    format!("{:?} ({})", error.0, error.0 as u32)
}

fn signed(size: usize) -> Result<i64> {
    i64::try_from(size).map_err(|_| TOO_LARGE)
}

fn kind(dtype: DType) -> sys::cudaDataType {
    match dtype {
        DType::BF16 => sys::cudaDataType::CUDA_R_16BF,
        DType::F16 => sys::cudaDataType::CUDA_R_16F,
        _ => sys::cudaDataType::CUDA_R_32F,
    }
}
