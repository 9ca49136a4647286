//! Process for one test, in which the library just built is found as the CUDA driver.

use std::{
    env, fs,
    os::unix::fs::symlink,
    path::PathBuf,
    process::{Command, Output},
    sync::OnceLock,
};

/// Variable that tells a process that it is the inner one.
const INSIDE: &str = "BINADE_PTX_DRIVER_TEST";

/// Runs `body` in a process of its own with these variables set, and returns its standard error. In that process itself it
/// returns nothing. The name is the test's, as `--exact` wants it.
pub(crate) fn run(name: &str, vars: &[(&str, &str)], body: impl FnOnce()) -> Option<String> {
    if env::var_os(INSIDE).is_some() {
        body();
        return None;
    }
    let output = start(name, vars);
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let is_good = output.status.success() && out.contains("1 passed");
    assert!(is_good, "{name} by itself: {}\n{out}\n{err}", output.status);
    Some(err.into_owned())
}

fn start(name: &str, vars: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", name, "--nocapture", "--test-threads=1"]);
    command.env("LD_LIBRARY_PATH", folder()).env(INSIDE, "1");
    for name in ["BINADE_PTX_CC", "BINADE_PTX_DEVICES", "BINADE_PTX_MMA", "BINADE_PTX_LAG"] {
        command.env_remove(name);
    }
    command.envs(vars.iter().copied()).output().unwrap()
}

/// Folder with the library of this build under the names of the driver, of cuBLASLt, cuDNN and NCCL. cudarc looks for `libcuda.so`
/// first, everywhere, and would find that of a machine with a GPU. Such a name must not lie in cargo's own folders, where other
/// programs would find it.
fn folder() -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let make = || {
        // Cargo builds the package's library, in all its crate types, beside its tests.
        let program = env::current_exe().unwrap();
        let library = program.with_file_name("libbinade_ptx.so");
        assert!(library.is_file(), "{} is not there", library.display());
        let folder = env::temp_dir().join("binade-ptx").join(program.file_name().unwrap());
        fs::create_dir_all(&folder).unwrap();
        for name in ["libcuda.so", "libcuda.so.1", "libcublasLt.so", "libcudnn.so", "libnccl.so.2"]
        {
            let link = folder.join(std::process::id().to_string());
            symlink(&library, &link).unwrap();
            fs::rename(link, folder.join(name)).unwrap();
        }
        folder
    };
    FOLDER.get_or_init(make).clone()
}

/// Runs a block in a process of its own: `alone!({ … })`, with variables `alone!(["NAME" = "value"], { … })`.
macro_rules! alone {
    ($body:block) => { $crate::driver::process::alone!([], $body) };
    ([$($name:literal = $value:expr),*], $body:block) => {{
        fn here() {}
        let name = std::any::type_name_of_val(&here);
        let name = name.strip_suffix("::here").unwrap();
        let (_, name) = name.split_once("::").unwrap();
        $crate::driver::process::run(name, &[$(($name, $value)),*], || $body)
    }};
}
pub(crate) use alone;

/// Asserts that a call of the driver is refused with this code.
macro_rules! refused {
    ($outcome:expr, $code:ident) => {
        assert_eq!($outcome.err().map(|error| error.0), Some(cudarc::driver::sys::CUresult::$code))
    };
}
pub(crate) use refused;
