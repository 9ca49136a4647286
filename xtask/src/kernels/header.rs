//! What a kernel's header comment tells the build: the least GPU, and whether the agreement class is lowered.

/// The architecture that a kernel is compiled for unless it says otherwise: the oldest that CUDA 13 knows.
const LEAST: u32 = 75;

/// What the header comment of one `.cu` file says to the build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// `// requires: compute_80` gives 80; 75 when there is no such line.
    pub(super) arch: u32,
    /// Whether there is a line `// lowers: REASON`.
    pub(super) lowers: bool,
}

impl Header {
    /// Reads the comment lines at the top of `source`; the error says what is wrong with one of them.
    pub(super) fn read(source: &str) -> Result<Self, String> {
        let arch = told(source, "requires:").map_or(Ok(LEAST), arch)?;
        let reason = told(source, "lowers:");
        if reason == Some("") {
            return Err("`// lowers:` wants a reason: what is computed otherwise, and why".into());
        }
        Ok(Self { arch, lowers: reason.is_some() })
    }
}

/// What follows `key` on the comment line of the header that begins with it.
fn told<'a>(source: &'a str, key: &str) -> Option<&'a str> {
    let comments = source.lines().map_while(|line| line.strip_prefix("//"));
    comments.map(str::trim).find_map(|line| line.strip_prefix(key)).map(str::trim)
}

/// The number in `compute_NN`. Letters behind it would make PTX that no later GPU loads.
fn arch(told: &str) -> Result<u32, String> {
    let number = told.strip_prefix("compute_").and_then(|number| number.parse().ok());
    number.filter(|arch| *arch >= LEAST).ok_or_else(|| {
        format!(
            "`// requires: {told}`: write `compute_NN`, a number from {LEAST} up and nothing more"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_says_nothing_is_for_the_oldest_gpu() {
        let header = Header::read("// Casts.\n#include <stdint.h>\n").unwrap();
        assert_eq!(header, Header { arch: 75, lowers: false });
    }

    #[test]
    fn both_lines_are_read_anywhere_in_the_header() {
        let text =
            "// Casts.\n//\n// requires: compute_80\n// lowers: exp is approximate\nint x;\n";
        assert_eq!(Header::read(text).unwrap(), Header { arch: 80, lowers: true });
    }

    #[test]
    fn a_comment_below_the_code_is_no_header() {
        let text = "// Casts.\nint x;\n// requires: compute_80\n";
        assert_eq!(Header::read(text).unwrap().arch, 75);
    }

    #[test]
    fn what_ptx_cannot_carry_forward_is_refused() {
        for bad in ["compute_90a", "compute_70", "sm_80", "", "compute_80 for bf16"] {
            let error = Header::read(&format!("// requires: {bad}\n")).unwrap_err();
            assert!(error.contains("compute_NN"), "{error}");
        }
    }

    #[test]
    fn a_lowering_without_a_reason_is_refused() {
        assert!(Header::read("// lowers:\n").unwrap_err().contains("reason"));
    }
}
