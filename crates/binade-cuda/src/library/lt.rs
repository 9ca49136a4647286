//! Safe wrapper of cuBLASLt's C functions for the rest of the folder. An object made here is destroyed once, every attribute has
//! the type that its page in the cuBLAS documentation names, and pointers go in for the length of a call.
#![expect(unsafe_code, reason = "a C library")]

mod api;

use super::{
    backends::F32Products,
    problem::{Operand, Problem},
};
use crate::memory::Buffer;
use api::{Api, Found};
pub(super) use api::{Status, api};
use binade_core::DType;
use cudarc::{cublaslt::sys, driver::CudaStream};
use std::ffi::c_void;
use std::ptr::null_mut;

type Result<T = ()> = std::result::Result<T, Status>;

/// Objects of the library, in memory on the host: made by its own functions, and destroyed once.
macro_rules! objects {
    ($($name:ident($raw:ty), $create:ident($($argument:ident: $kind:ty),*), $destroy:ident;)+) => {$(
        struct $name($raw, &'static Api);

        // SAFETY: memory on the host, not tied to a thread.
        unsafe impl Send for $name {}

        impl $name {
            fn create(api: &'static Api, $($argument: $kind),*) -> Result<Self> {
                let mut raw = null_mut();
                // SAFETY: the object is written where the call says success, and the other arguments are values.
                unsafe { (api.$create)(&raw mut raw, $($argument),*) }.result()?;
                Ok(Self(raw, api))
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: made for this value, and destroyed only here.
                let _ = unsafe { (self.1.$destroy)(self.0) };
            }
        }
    )+};
}

/// Attributes of an object, each set to a value of the type that the attribute has.
macro_rules! attributes {
    ($($name:ident, $attribute:ty, $set:ident;)+) => {$(
        impl $name {
            fn set<T>(&self, attribute: $attribute, value: &T) -> Result {
                let at = std::ptr::from_ref(value).cast();
                // SAFETY: alive; the value is copied before this returns.
                unsafe { (self.1.$set)(self.0, attribute, at, size_of::<T>()) }.result()
            }
        }
    )+};
}

objects! {
    Session(sys::cublasLtHandle_t), create(), destroy;
    Desc(sys::cublasLtMatmulDesc_t), create_desc(compute: sys::cublasComputeType_t, scale: sys::cudaDataType), destroy_desc;
    Layout(sys::cublasLtMatrixLayout_t), create_layout(kind: sys::cudaDataType, rows: u64, columns: u64, leading: i64),
        destroy_layout;
    Preference(sys::cublasLtMatmulPreference_t), create_preference(), destroy_preference;
}

attributes! {
    Desc, sys::cublasLtMatmulDescAttributes_t, set_desc;
    Layout, sys::cublasLtMatrixLayoutAttribute_t, set_layout;
    Preference, sys::cublasLtMatmulPreferenceAttributes_t, set_preference;
}

/// Handle of the library for a context, which is bound to the thread before each call. It is behind a lock, so that one thread at a
/// time uses it.
pub(super) struct Handle {
    session: Session,
    /// Workspace of one product at a time, as the stream orders them. It is not memory of a captured run.
    workspace: Buffer,
}

impl Handle {
    /// Creates a handle for the context that is bound to this thread.
    pub(super) fn create(api: &'static Api, workspace: Buffer) -> Result<Self> {
        Ok(Self { session: Session::create(api)?, workspace })
    }

    /// Returns the address of the workspace.
    pub(super) fn workspace(&self) -> u64 {
        self.workspace.address()
    }

    /// Returns the plan for a problem, with the library's first choices of algorithms, best guess first, as many as the problem asks for.
    /// The error is `NOT_SUPPORTED` if it has none.
    pub(super) fn plan(&self, problem: &Problem, bias: u64) -> Result<Plan> {
        let Problem { dtype, into, first, second, result, batch, algorithms, .. } = *problem;
        let (api, mut count) = (self.session.1, 0);
        let desc = Desc::new(api, problem)?;
        if problem.bias {
            desc.bias(bias)?;
        }
        let a = Layout::new(api, dtype, &first, batch)?;
        let b = Layout::new(api, dtype, &second, batch)?;
        let c = Layout::new(api, into, &result, batch)?;
        let preference = Preference::new(api, problem, self.workspace.bytes())?;
        let mut found = [Found::NONE; MOST_ALGORITHMS];
        let most = algorithms.min(MOST_ALGORITHMS);
        // SAFETY: all of them are alive to the end of the function, and `found` has room for as many as are asked for.
        unsafe {
            (api.choose)(
                self.session.0,
                desc.0,
                a.0,
                b.0,
                c.0,
                c.0,
                preference.0,
                i32::try_from(most).unwrap_or(1),
                found.as_mut_ptr(),
                &raw mut count,
            )
        }
        .result()?;
        let count = usize::try_from(count).unwrap_or_default().min(most);
        let good = found.into_iter().take(count).filter(|it| it.status.result().is_ok());
        let algorithms: Vec<_> = good.collect();
        if algorithms.is_empty() {
            Err(Status::NOT_SUPPORTED)
        } else {
            Ok(Plan { desc, a, b, c, algorithms })
        }
    }

    /// Puts the product in the stream by the plan's first algorithm: `into = first·second`, plus the bias.
    ///
    /// The addresses are the caller's, who borrows their buffers. The buffers hold what the plan's problem says. Every sentence
    /// on the page of `launch` holds of this call as of a kernel's.
    pub(super) fn multiply(&self, stream: &CudaStream, plan: &Plan, at: Addresses) -> Result {
        let (Addresses { first, second, bias, into }, workspace) = (at, &self.workspace);
        if bias != 0 {
            plan.desc.bias(bias)?;
        }
        let Found { algorithm, workspace: needed, .. } = &plan.algorithms[0];
        assert!(*needed <= workspace.bytes(), "{needed} bytes of workspace");
        let (one, zero) = (1.0_f32, 0.0_f32);
        let into = into as *mut c_void;
        // SAFETY: handle and descriptors are alive. The scalars are two `f32` on the host, as the scale type and the pointer mode,
        // the default, say; they are read before this returns. With a beta of 0 C is not read and may be D. The device
        // addresses hold the layouts that the caller has asserted, and work behind this call is in the same stream, as is
        // whoever uses the workspace next.
        unsafe {
            (self.session.1.multiply)(
                self.session.0,
                plan.desc.0,
                (&raw const one).cast(),
                first as *const c_void,
                plan.a.0,
                second as *const c_void,
                plan.b.0,
                (&raw const zero).cast(),
                into.cast_const(),
                plan.c.0,
                into,
                plan.c.0,
                algorithm,
                workspace.address() as *mut c_void,
                workspace.bytes(),
                stream.cu_stream().cast(),
            )
        }
        .result()
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

/// Most algorithms of a plan.
pub(super) const MOST_ALGORITHMS: usize = 8;

/// Descriptors of a problem, and algorithms that the library has for it. The first is used.
pub(super) struct Plan {
    desc: Desc,
    a: Layout,
    b: Layout,
    c: Layout,
    algorithms: Vec<Found>,
}

impl Plan {
    /// Returns the number of algorithms.
    pub(super) fn algorithms(&self) -> usize {
        self.algorithms.len()
    }

    /// Makes another algorithm the first.
    pub(super) fn turn_to(&mut self, algorithm: usize) {
        self.algorithms.swap(0, algorithm);
    }
}

impl Desc {
    /// Creates a descriptor of a product with f32 sums. Operands of f32 are read in full, or as TF32 through a separate compute type.
    fn new(api: &'static Api, problem: &Problem) -> Result<Self> {
        use sys::{cublasComputeType_t as Compute, cublasLtMatmulDescAttributes_t as Attribute};
        let compute = match problem.f32 {
            F32Products::Full => Compute::CUBLAS_COMPUTE_32F,
            F32Products::Tf32 => Compute::CUBLAS_COMPUTE_32F_FAST_TF32,
        };
        let desc = Self::create(api, compute, sys::cudaDataType::CUDA_R_32F)?;
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
    fn new(api: &'static Api, dtype: DType, operand: &Operand, batch: usize) -> Result<Self> {
        use sys::cublasLtMatrixLayoutAttribute_t as Attribute;
        let Operand { rows, columns, leading, step, .. } = *operand;
        let (rows, columns) = (rows as u64, columns as u64);
        let layout = Self::create(api, kind(dtype), rows, columns, signed(leading)?)?;
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
    fn new(api: &'static Api, problem: &Problem, workspace: usize) -> Result<Self> {
        use sys::{
            cublasLtMatmulPreferenceAttributes_t as Attribute, cublasLtReductionScheme_t as Scheme,
        };
        let preference = Self::create(api)?;
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
const TOO_LARGE: Status = Status::NOT_SUPPORTED;

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
