//! Functions of cuBLASLt, by their declarations in `cublasLt.h`, in the first library that is found and supported. cudarc would use the first library
//! found, whatever its version, and panic on a missing function.

use cudarc::{
    cublaslt::sys::{
        cublasComputeType_t as Compute, cublasLtHandle_t as Session, cublasLtMatmulAlgo_t,
        cublasLtMatmulDesc_t as Desc, cublasLtMatmulDescAttributes_t as DescAttribute,
        cublasLtMatmulPreference_t as Preference,
        cublasLtMatmulPreferenceAttributes_t as PreferenceAttribute,
        cublasLtMatrixLayout_t as Layout, cublasLtMatrixLayoutAttribute_t as LayoutAttribute,
        cudaDataType as Kind, cudaStream_t as Stream,
    },
    driver::sys::CUDA_VERSION,
};
use libloading::Library;
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::OnceLock;

/// Supported versions, from 12 on. Some releases of 11 report their version in thousands, others in ten thousands.
const KNOWN: Range<usize> = 120_000..usize::MAX;

/// Status code of a function: `cublasStatus_t`. A newer library may have codes that cudarc's enum has not.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(transparent)]
pub(in crate::library) struct Status(u32);

impl Status {
    pub(in crate::library) const INVALID_VALUE: Self = Self(7);
    pub(in crate::library) const ARCH_MISMATCH: Self = Self(8);
    pub(in crate::library) const NOT_SUPPORTED: Self = Self(15);

    /// Returns an error for every code except success.
    pub(super) fn result(self) -> Result<(), Self> {
        if self.0 == 0 { Ok(()) } else { Err(self) }
    }

    /// Returns the name and the number.
    pub(in crate::library) fn cause(self) -> String {
        let name = match self.0 {
            1 => "NOT_INITIALIZED",
            3 => "ALLOC_FAILED",
            7 => "INVALID_VALUE",
            8 => "ARCH_MISMATCH",
            11 => "MAPPING_ERROR",
            13 => "EXECUTION_FAILED",
            14 => "INTERNAL_ERROR",
            15 => "NOT_SUPPORTED",
            16 => "LICENSE_ERROR",
            code => return format!("status {code}"),
        };
        format!("CUBLAS_STATUS_{name} ({})", self.0)
    }
}

/// Algorithm and what it takes: `cublasLtMatmulHeuristicResult_t`, with its status as a number.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Found {
    pub(super) algorithm: cublasLtMatmulAlgo_t,
    pub(super) workspace: usize,
    pub(super) status: Status,
    waves: f32,
    reserved: [c_int; 4],
}

impl Found {
    /// Placeholder before a search.
    pub(super) const NONE: Self = Self {
        algorithm: cublasLtMatmulAlgo_t { data: [0; 8] },
        workspace: 0,
        status: Status::NOT_SUPPORTED,
        waves: 0.0,
        reserved: [0; 4],
    };
}

/// Declares the functions, and looks them up in a library by their names.
macro_rules! functions {
    ($($field:ident: $symbol:ident($($argument:ty),+);)+) => {
        /// Functions of a library that stays loaded.
        pub(in crate::library) struct Api {
            pub(in crate::library) version: usize,
            $(pub(super) $field: unsafe extern "C" fn($($argument),+) -> Status,)+
        }

        impl Api {
            fn of(library: &Library, version: usize) -> Result<Self, libloading::Error> {
                Ok(Self {
                    version,
                    // SAFETY: the declarations are those of `cublasLt.h`, in which they have been the same since CUDA 11.
                    $($field: *unsafe {
                        library.get(concat!(stringify!($symbol), "\0").as_bytes())
                    }?,)+
                })
            }
        }
    };
}

functions! {
    create: cublasLtCreate(*mut Session);
    destroy: cublasLtDestroy(Session);
    create_desc: cublasLtMatmulDescCreate(*mut Desc, Compute, Kind);
    set_desc: cublasLtMatmulDescSetAttribute(Desc, DescAttribute, *const c_void, usize);
    destroy_desc: cublasLtMatmulDescDestroy(Desc);
    create_layout: cublasLtMatrixLayoutCreate(*mut Layout, Kind, u64, u64, i64);
    set_layout: cublasLtMatrixLayoutSetAttribute(Layout, LayoutAttribute, *const c_void, usize);
    destroy_layout: cublasLtMatrixLayoutDestroy(Layout);
    create_preference: cublasLtMatmulPreferenceCreate(*mut Preference);
    set_preference: cublasLtMatmulPreferenceSetAttribute(Preference, PreferenceAttribute, *const c_void, usize);
    destroy_preference: cublasLtMatmulPreferenceDestroy(Preference);
    choose: cublasLtMatmulAlgoGetHeuristic(
        Session, Desc, Layout, Layout, Layout, Layout, Preference, c_int, *mut Found, *mut c_int
    );
    multiply: cublasLtMatmul(
        Session, Desc, *const c_void, *const c_void, Layout, *const c_void, Layout, *const c_void, *const c_void,
        Layout, *mut c_void, Layout, *const cublasLtMatmulAlgo_t, *mut c_void, usize, Stream
    );
}

/// Returns the functions, which all devices of the process share, or the reason why there are none.
pub(in crate::library) fn api() -> Result<&'static Api, &'static str> {
    static API: OnceLock<Result<Api, String>> = OnceLock::new();
    API.get_or_init(|| first_known(&names(), load)).as_ref().map_err(String::as_str)
}

/// Returns the file names to try: the plain one, which may be of any version, and those of versions from 12 on.
fn names() -> [String; 3] {
    let (plain, versioned) = if cfg!(windows) {
        ("cublasLt.dll", ["cublasLt64_", ".dll"])
    } else {
        ("libcublasLt.so", ["libcublasLt.so.", ""])
    };
    let [first, second] = [CUDA_VERSION / 1000, 12].map(|major| versioned.join(&major.to_string()));
    [plain.to_owned(), first, second]
}

/// Returns the library of the first name that `load` finds in a supported version, or what was found instead.
fn first_known<T>(names: &[String], load: impl Fn(&str) -> Option<Loaded<T>>) -> Result<T, String> {
    let mut others = Vec::new();
    for name in names {
        match load(name) {
            Some(Ok((version, library))) if KNOWN.contains(&version) => return Ok(library),
            Some(Ok((version, _))) => {
                others.push(format!("{name} is of version {version}, which is not supported"));
            }
            Some(Err(why)) => others.push(format!("{name}: {why}")),
            None => {}
        }
    }
    let found = if others.is_empty() { String::new() } else { format!("; {}", others.join("; ")) };
    Err(format!("no cuBLASLt; looked for {}{found}", names.join(", ")))
}

/// Version of a library and the library, or the reason why it cannot be used.
type Loaded<T> = Result<(usize, T), String>;

/// Loads a library for as long as the process lives; `None` if the loader finds none of that name.
fn load(name: &str) -> Option<Loaded<Api>> {
    // SAFETY: loading runs the library's initialisers, and NVIDIA's libraries are made to be loaded so.
    let library = unsafe { Library::new(name) }.ok()?;
    let functions = version(&library).and_then(|version| {
        let api = Api::of(&library, version)?;
        Ok((version, api))
    });
    // Pointers into it must not go stale.
    std::mem::forget(library);
    Some(functions.map_err(|error| error.to_string()))
}

fn version(library: &Library) -> Result<usize, libloading::Error> {
    // SAFETY: it has no arguments and returns a number.
    unsafe {
        let version = library.get::<unsafe extern "C" fn() -> usize>(b"cublasLtGetVersion\0")?;
        Ok(version())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_too_old_does_not_hide_a_newer_one() {
        let names = ["plain", "new", "newer"].map(str::to_owned);
        let load = |name: &str| match name {
            "plain" => Some(Ok((11_003, name.to_owned()))),
            "new" => Some(Err("lacks a function".to_owned())),
            _ => Some(Ok((130_000, name.to_owned()))),
        };
        assert_eq!(first_known(&names, load), Ok("newer".to_owned()));
        let why = "no cuBLASLt; looked for plain, new; plain is of version 11003, which is not supported; \
                   new: lacks a function";
        assert_eq!(first_known(&names[..2], load), Err(why.to_owned()));
        let none = first_known::<()>(&names[..1], |_| None);
        assert_eq!(none, Err("no cuBLASLt; looked for plain".to_owned()));
    }

    #[test]
    fn a_status_is_told_by_its_name_if_it_has_one() {
        assert_eq!(Status::NOT_SUPPORTED.cause(), "CUBLAS_STATUS_NOT_SUPPORTED (15)");
        assert_eq!(Status(99).cause(), "status 99");
    }
}
