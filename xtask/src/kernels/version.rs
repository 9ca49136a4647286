//! The `.version` of a PTX file: the least that it is valid in, since a driver refuses one newer than itself.

use crate::Result;

/// The versions of PTX from the first that knows compute capability 7.5 to that of CUDA 13.0, in order.
/// The PTX ISA's release history.
const VERSIONS: [&str; 22] = [
    "6.3", "6.4", "6.5", "7.0", "7.1", "7.2", "7.3", "7.4", "7.5", "7.6", "7.7", "7.8", "8.0",
    "8.1", "8.2", "8.3", "8.4", "8.5", "8.6", "8.7", "8.8", "9.0",
];

/// `ptx` with the least version that `accepts` takes, tried upwards from the first that knows compute capability `arch`.
pub(super) fn lowered(
    ptx: &str,
    arch: u32,
    mut accepts: impl FnMut(&str) -> Result<bool>,
) -> Result<String> {
    let first = if arch < 80 { "6.3" } else { "7.0" };
    for version in VERSIONS.iter().skip_while(|version| **version != first) {
        let candidate = with_version(ptx, version)?;
        if accepts(&candidate)? {
            return Ok(candidate);
        }
    }
    Err("ptxas accepts the PTX in no version".into())
}

/// `ptx` with another number behind `.version`.
fn with_version(ptx: &str, version: &str) -> Result<String> {
    let line = ptx.lines().find(|line| line.starts_with(".version "));
    let line = line.ok_or("the PTX has no line `.version`")?;
    Ok(ptx.replacen(line, &format!(".version {version}"), 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "// A comment.\n.version 9.0\n.target sm_75\n";

    /// Lowers with a ptxas that knows of nothing before `least`, and counts what it was asked.
    fn lower(arch: u32, least: &str) -> (Result<String>, usize) {
        let mut asked = 0;
        let rank = |version: &str| VERSIONS.iter().position(|known| *known == version).unwrap();
        let result = lowered(PTX, arch, |text| {
            asked += 1;
            let version = text.lines().nth(1).and_then(|line| line.strip_prefix(".version "));
            Ok(rank(version.unwrap()) >= rank(least))
        });
        (result, asked)
    }

    #[test]
    fn the_first_accepted_version_is_taken_and_nothing_else_changes() {
        let (text, asked) = lower(75, "7.0");
        assert_eq!(text.unwrap(), PTX.replace("9.0", "7.0"));
        assert_eq!(asked, 4);
    }

    #[test]
    fn a_newer_gpu_starts_where_its_support_began() {
        assert_eq!(lower(80, "7.0").1, 1);
        assert_eq!(lower(75, "6.3").1, 1);
    }

    #[test]
    fn ptx_that_is_never_accepted_is_an_error() {
        assert!(lowered(PTX, 75, |_| Ok(false)).unwrap_err().to_string().contains("no version"));
        assert!(lowered("", 75, |_| Ok(true)).unwrap_err().to_string().contains(".version"));
    }

    #[test]
    fn a_ptxas_that_does_not_start_is_no_refusal() {
        assert_eq!(lowered(PTX, 75, |_| Err("absent".into())).unwrap_err().to_string(), "absent");
    }
}
