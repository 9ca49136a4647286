//! Devices that run on the CPU: the environments in which calls find them, `cargo xtask on`, which starts a command in one, and
//! `cargo xtask ptx`, which builds the stand-in for the CUDA driver.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process,
    sync::{Mutex, PoisonError},
};

use clap::Args;

use crate::{
    Result,
    binaries::messages,
    shell::{Call, root},
};

#[derive(Args)]
pub(crate) struct On {
    /// `ptx`; `ptx-libraries`, with stand-ins for cuBLASLt, cuDNN and NCCL beside the driver's, so that they multiply and not the kernels,
    /// and with binade-cuda's features `cudnn` and `nccl` convolve and connect ranks; `lavapipe` or `swiftshader`, which `bash .ci/vulkan` installs.
    device: String,
    /// Any command, which is started in the current folder. A test that skips the device fails.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    command: Vec<String>,
}

impl On {
    pub(crate) fn run(self) -> Result<()> {
        let call = on(&self.device, &Call::line("").args(&self.command))?;
        if self.device.starts_with("ptx") {
            folder(self.device == "ptx-libraries")?;
        }
        call.run()
    }
}

/// The driver's name for the loader, then those of the libraries, of which cudarc looks for these first. One file for all: the loader
/// then takes them for one library, which knows of the driver's memory. Not `libcuda.so`, and in none of the folders that cargo puts
/// on library paths, where it would stand before a real driver.
const NAMES: [&str; 4] = ["libcuda.so.1", "libcublasLt.so", "libcudnn.so", "libnccl.so.2"];

/// Builds the driver, with the libraries beside it or without, and returns the folder.
pub(crate) fn folder(libraries: bool) -> Result<PathBuf> {
    if !cfg!(target_os = "linux") {
        return Err("the PTX interpreter takes the CUDA driver's place on Linux only: its loader alone finds a library by another's name".into());
    }
    place(&messages("cargo build --quiet --package binade-ptx")?)?;
    Ok(placed(libraries))
}

/// The folder of the driver, with the libraries beside it or without, once it is placed.
pub(crate) fn placed(libraries: bool) -> PathBuf {
    root().join("target").join(if libraries { "ptx-libraries" } else { "ptx" })
}

/// Stages that run side by side place the same files.
static PLACING: Mutex<()> = Mutex::new(());

/// Puts the shared library that cargo's messages name into both folders.
pub(crate) fn place(messages: &[serde_json::Value]) -> Result<()> {
    let _turn = PLACING.lock().unwrap_or_else(PoisonError::into_inner);
    let files = messages.iter().filter_map(|message| message["filenames"].as_array()).flatten();
    let built = files.filter_map(|it| it.as_str()).find(|it| it.ends_with("/libbinade_ptx.so"));
    let built = built.ok_or("cargo built no PTX interpreter")?;
    for (folder, names) in [(placed(false), &NAMES[..1]), (placed(true), &NAMES)] {
        fs::create_dir_all(&folder)?;
        // Under another name first, so that a process that is starting never loads half a library. Another program may place them too.
        let new = folder.join(format!("{}.new", process::id()));
        fs::copy(built, &new)?;
        for name in names {
            let link = folder.join(format!("{name}.{}.new", process::id()));
            if link.exists() {
                fs::remove_file(&link)?;
            }
            fs::hard_link(&new, &link)?;
            fs::rename(link, folder.join(name))?;
        }
        fs::remove_file(new)?;
    }
    Ok(())
}

/// `call` where it finds a device: `ptx` or `ptx-libraries`, once they are placed; Mesa's `lavapipe`, which keeps subnormals and has
/// `f16`; or `swiftshader`, which `.ci/vulkan` unpacks, flushes subnormals and has no `f16`.
pub(crate) fn on(device: &str, call: &Call) -> Result<Call> {
    let on_ptx = |libraries, required: &str| {
        // Ranks want two devices.
        let call = call.clone().var("BINADE_PTX_DEVICES", "2");
        let call = call.var("BINADE_REQUIRE", before(Path::new(required), "BINADE_REQUIRE", ','));
        call.var("LD_LIBRARY_PATH", before(&placed(libraries), "LD_LIBRARY_PATH", ':'))
    };
    let on_wgpu = |name, value: &str, f16| {
        // Mesa complains where it has no folder of its own.
        let call = call.clone().var("XDG_RUNTIME_DIR", env::temp_dir().to_string_lossy());
        call.var("BINADE_REQUIRE", "wgpu").var("BINADE_WGPU_EXPECT_F16", f16).var(name, value)
    };
    match device {
        "ptx" => Ok(on_ptx(false, "ptx")),
        "ptx-libraries" => Ok(on_ptx(true, "ptx,cublaslt,cudnn,nccl")),
        "lavapipe" => Ok(on_wgpu("VK_LOADER_DRIVERS_SELECT", "*lvp_icd*", "1")),
        "swiftshader" => {
            let folder = env::var_os("BINADE_SWIFTSHADER").map(PathBuf::from);
            let folder = folder.unwrap_or_else(|| root().join("target/swiftshader"));
            let driver = folder.join("vk_swiftshader_icd.json");
            Ok(on_wgpu("VK_DRIVER_FILES", &driver.to_string_lossy(), "0"))
        }
        other => Err(format!("no device is called `{other}`").into()),
    }
}

/// `first` and behind it the variable's value, if it has one.
pub(crate) fn before(first: &Path, variable: &str, mark: char) -> String {
    let first = first.display();
    match env::var(variable) {
        Ok(rest) if !rest.is_empty() => format!("{first}{mark}{rest}"),
        _ => first.to_string(),
    }
}
