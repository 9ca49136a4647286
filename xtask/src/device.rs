//! Environments in which calls find a device that runs on the CPU, and `cargo xtask test`, the CUDA backend's tests on one.

use std::{env, path::Path};

use clap::{Args, ValueEnum};

use crate::{
    Result, ptx,
    shell::{Call, root},
};

#[derive(Clone, Copy, ValueEnum)]
enum Device {
    /// The PTX interpreter in place of the CUDA driver.
    Ptx,
}

#[derive(Args)]
pub(crate) struct Test {
    /// Names the device, on which the tests must run: a skip fails.
    #[arg(long)]
    device: Device,
    /// With stand-ins for cuBLASLt and cuDNN beside the driver's, so that they multiply and not the kernels, and convolve
    /// where `-- --features cudnn` follows.
    #[arg(long)]
    libraries: bool,
    /// Arguments of `cargo test`, which is of binade-cuda unless `--package` is among them.
    #[arg(last = true, value_name = "ARGUMENT")]
    arguments: Vec<String>,
}

impl Test {
    pub(crate) fn run(self) -> Result<()> {
        let Device::Ptx = self.device;
        ptx::folder(self.libraries)?;
        let is_package = |it: &String| it.starts_with("-p") || it.starts_with("--package");
        let ours = ["--package", "binade-cuda"]
            .into_iter()
            .filter(|_| !self.arguments.iter().any(is_package));
        let call = Call::cargo("test").args(ours).args(self.arguments.clone());
        let call = on_ptx(self.libraries, call);
        println!("{call}");
        call.run()
    }
}

/// `call` with the interpreter in the driver's place, once it is placed; and in that of the libraries, which must be found.
pub(crate) fn on_ptx(libraries: bool, call: Call) -> Call {
    let required = if libraries { "ptx,cublaslt,cudnn" } else { "ptx" };
    let folder = before(&ptx::placed(libraries), "LD_LIBRARY_PATH", ':');
    // Replicas want two devices.
    let call = call.var("LD_LIBRARY_PATH", folder).var("BINADE_PTX_DEVICES", "2");
    call.var("BINADE_REQUIRE", before(Path::new(required), "BINADE_REQUIRE", ','))
}

/// `call` on Mesa's Vulkan driver for the CPU, which keeps subnormals and has `f16`.
pub(crate) fn on_lavapipe(call: Call) -> Call {
    on_wgpu(call.var("VK_LOADER_DRIVERS_SELECT", "*lvp_icd*").var("BINADE_WGPU_EXPECT_F16", "1"))
}

/// `call` on `SwiftShader`, which flushes subnormals and has no `f16`. `.ci/vulkan` unpacks it.
pub(crate) fn on_swiftshader(call: Call) -> Call {
    let folder = env::var_os("BINADE_SWIFTSHADER").map(Into::into);
    let folder = folder.unwrap_or_else(|| root().join("target/swiftshader"));
    let driver = folder.join("vk_swiftshader_icd.json").display().to_string();
    on_wgpu(call.var("VK_DRIVER_FILES", driver).var("BINADE_WGPU_EXPECT_F16", "0"))
}

fn on_wgpu(call: Call) -> Call {
    // Mesa complains where it has no folder of its own.
    let folder = env::temp_dir().display().to_string();
    call.var("XDG_RUNTIME_DIR", folder).var("BINADE_REQUIRE", "wgpu")
}

/// `first` and behind it the variable's value, if it has one.
pub(crate) fn before(first: &Path, variable: &str, mark: char) -> String {
    let first = first.display();
    match env::var(variable) {
        Ok(rest) if !rest.is_empty() => format!("{first}{mark}{rest}"),
        _ => first.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_extended_in_front() {
        assert_eq!(before(Path::new("ptx"), "BINADE_NO_SUCH_VARIABLE", ','), "ptx");
        let held = env::var("CARGO_MANIFEST_DIR").unwrap();
        assert_eq!(before(Path::new("ptx"), "CARGO_MANIFEST_DIR", ','), format!("ptx,{held}"));
    }
}
