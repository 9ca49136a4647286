//! Vulkan drivers that run on the CPU, for the tests of the wgpu backend: Mesa's lavapipe, which the system has, and
//! `SwiftShader`, which Debian has in a part of its browser.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    Result,
    shell::{Call, heard, on_path, root},
};

/// A driver, and how the loader is told to take it and no other.
pub(crate) struct Driver {
    pub(crate) name: &'static str,
    variable: &'static str,
    value: String,
    /// Whether it has `f16`, so that a run cannot come to be on the other driver unseen.
    has_f16: bool,
}

/// What they are called: the one of the system, and the one that is unpacked.
const NAMES: [&str; 2] = ["lavapipe", "SwiftShader"];

/// The file in which the loader finds lavapipe is called so, with or without a processor's name behind it.
const LAVAPIPE: &str = "lvp_icd";

/// Where `SwiftShader` is unpacked to, unless `BINADE_SWIFTSHADER` names a folder that has it.
const SWIFTSHADER: &str = "target/swiftshader";

/// The library and what the loader reads of it, beside each other in one folder.
const FILES: [&str; 2] = ["libvk_swiftshader.so", "vk_swiftshader_icd.json"];

/// Debian's package that has them.
const PACKAGE: &str = "chromium-common";

impl Driver {
    /// `call` with this driver alone.
    pub(crate) fn on(&self, call: Call) -> Call {
        let has_f16 = if self.has_f16 { "1" } else { "0" };
        let call = call.var(self.variable, &self.value).var("BINADE_WGPU_EXPECT_F16", has_f16);
        // Mesa complains where it has no folder of its own.
        call.var("XDG_RUNTIME_DIR", env::temp_dir().display().to_string())
    }
}

/// Both, or what to install.
pub(crate) fn drivers() -> Result<[Driver; 2]> {
    Ok([lavapipe()?, swiftshader()?])
}

fn lavapipe() -> Result<Driver> {
    let shared = env::var("XDG_DATA_DIRS").unwrap_or_default();
    let usual = ["/usr/local/share", "/usr/share", "/etc"].map(PathBuf::from);
    let folders = env::split_paths(&shared).chain(usual);
    if !folders.map(|folder| folder.join("vulkan/icd.d")).any(|folder| has_lavapipe(&folder)) {
        let advice = "apt-get install libvulkan1 mesa-vulkan-drivers";
        return Err(format!("there is no lavapipe: {advice}").into());
    }
    let value = format!("*{LAVAPIPE}*");
    Ok(Driver { name: NAMES[0], variable: "VK_LOADER_DRIVERS_SELECT", value, has_f16: true })
}

fn has_lavapipe(folder: &Path) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return false };
    let mut names = entries.flatten().map(|entry| entry.file_name());
    names.any(|name| name.to_string_lossy().starts_with(LAVAPIPE))
}

fn swiftshader() -> Result<Driver> {
    let folder = match env::var_os("BINADE_SWIFTSHADER") {
        Some(folder) => PathBuf::from(folder),
        None => unpacked()?,
    };
    if !has_swiftshader(&folder) {
        return Err(format!("{} has not both of {}", folder.display(), FILES.join(" and ")).into());
    }
    let value = folder.join(FILES[1]).display().to_string();
    Ok(Driver { name: NAMES[1], variable: "VK_DRIVER_FILES", value, has_f16: false })
}

fn has_swiftshader(folder: &Path) -> bool {
    FILES.iter().all(|file| folder.join(file).is_file())
}

/// Unpacked into the target folder, if it is not there already.
fn unpacked() -> Result<PathBuf> {
    let folder = root().join(SWIFTSHADER);
    if has_swiftshader(&folder) {
        return Ok(folder);
    }
    for program in ["apt-get", "dpkg-deb"] {
        on_path(program).ok_or_else(|| {
            format!("SwiftShader comes out of Debian's {PACKAGE}, and there is no {program}: set BINADE_SWIFTSHADER to a folder \
                     with {}", FILES.join(" and "))
        })?;
    }
    // What an interrupted run has left is no start.
    let scratch = folder.join("package");
    if scratch.exists() {
        fs::remove_dir_all(&scratch)?;
    }
    fs::create_dir_all(&scratch)?;
    println!("unpacking {PACKAGE} (about 32 MB) into {}", folder.display());
    let mut download = Command::new("apt-get");
    heard(download.args(["download", "--quiet", PACKAGE]).current_dir(&scratch)).map_err(|error| {
        format!("{PACKAGE} could not be downloaded: is there a network, and was `apt-get update` run?\n{error}")
    })?;
    let package = the_only(&scratch, ".deb")?;
    let contents = scratch.join("contents");
    heard(Command::new("dpkg-deb").arg("-x").arg(package).arg(&contents))?;
    let library = contents.join("usr/lib/chromium");
    for file in FILES {
        fs::copy(library.join(file), folder.join(file))
            .map_err(|error| format!("{PACKAGE} has no {file} in usr/lib/chromium: {error}"))?;
    }
    fs::remove_dir_all(&scratch)?;
    Ok(folder)
}

/// The file of a folder with this ending.
fn the_only(folder: &Path, ending: &str) -> Result<PathBuf> {
    let paths = fs::read_dir(folder)?.flatten().map(|entry| entry.path());
    let mut found = paths.filter(|path| path.to_string_lossy().ends_with(ending));
    let first = found.next().ok_or_else(|| format!("no {ending} came of the download"))?;
    Ok(first)
}

#[cfg(test)]
mod tests {
    use std::process;

    use super::*;

    /// A folder with these files, gone when the test is done with it.
    fn with(name: &str, files: &[&str], look: impl FnOnce(&Path)) {
        let folder = env::temp_dir().join(format!("binade-vulkan-{}-{name}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        for file in files {
            fs::write(folder.join(file), "").unwrap();
        }
        look(&folder);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn lavapipe_is_found_under_either_of_its_names_and_nothing_else_is_it() {
        with("x86", &["radeon_icd.json", "lvp_icd.x86_64.json"], |folder| {
            assert!(has_lavapipe(folder));
        });
        with("plain", &["lvp_icd.json"], |folder| assert!(has_lavapipe(folder)));
        with("other", &["radeon_icd.json"], |folder| assert!(!has_lavapipe(folder)));
        assert!(!has_lavapipe(Path::new("no/such/folder")));
    }

    #[test]
    fn swiftshader_is_both_of_its_files() {
        with("both", &FILES, |folder| assert!(has_swiftshader(folder)));
        with("one", &FILES[..1], |folder| assert!(!has_swiftshader(folder)));
    }

    #[test]
    fn a_driver_is_taken_alone_and_its_path_is_expected() {
        let driver = Driver {
            name: "x",
            variable: "VK_DRIVER_FILES",
            value: "a.json".into(),
            has_f16: false,
        };
        let line = driver.on(Call::cargo("test")).to_string();
        assert!(line.contains("VK_DRIVER_FILES=a.json BINADE_WGPU_EXPECT_F16=0 "), "{line}");
    }
}
