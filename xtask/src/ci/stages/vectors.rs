//! A user's release build of the CPU's step, in a crate outside the workspace: its instructions have to be vectors'.
//!
//! In this workspace's profiles the optimizer may inline what it leaves alone in another's: the step was ten times slower there.

use crate::{
    Result,
    ci::outcome::Outcome,
    shell::{Call, on_path},
};

/// Where the program is built, from the root.
const FOLDER: &str = "target/release_build";

/// The function of `binade-cpu` that each loop over elements is to be inlined into.
const COMPILED: &str = "with_avx2_and_fma";

/// The fused step for each type of gradients and of weights.
const STEPS: usize = 9;

pub(super) fn run() -> Result<Outcome> {
    if !cfg!(target_arch = "x86_64") {
        return Ok(Outcome::Skipped("only x86-64 has loops that are compiled twice".into()));
    }
    if on_path("objdump").is_none() {
        return Ok(Outcome::Skipped("objdump is not installed: apt-get install binutils".into()));
    }
    let build = "build --release --quiet --locked --manifest-path tests/release_build/Cargo.toml --target-dir";
    Call::cargo(build).args([FOLDER]).run()?;
    let program = format!("{FOLDER}/release/binade-release-build");
    Call::of(&program).args(["100000", "3"]).run()?;
    let objdump = |flag| Call::of("objdump").args([flag, "--no-show-raw-insn", &program]).read();
    Ok(verdict(&objdump("--disassemble")?, &objdump("--dynamic-reloc")?))
}

/// The output of `objdump` for the functions that loops are inlined into, and where the program keeps the addresses of a library's
/// functions.
fn verdict(disassembly: &str, relocations: &str) -> Outcome {
    let functions: Vec<&str> =
        disassembly.split("\n\n").filter(|text| header(text).contains(COMPILED)).collect();
    let marks = marks("fmaf", disassembly, relocations);
    let calls_fmaf = |text: &&&str| marks.iter().any(|mark| text.contains(mark));
    if let Some(text) = functions.iter().find(calls_fmaf) {
        return Outcome::Failed(format!("{} calls `fmaf` for each element", header(text)));
    }
    let steps =
        functions.iter().filter(|text| is_packed(text, "vsqrtps") && is_packed(text, "vfm"));
    match steps.count() {
        STEPS => Outcome::Passed(format!("{STEPS} steps in packed instructions")),
        count => Outcome::Failed(format!(
            "{count} of {STEPS} steps have packed square roots and products in `{COMPILED}`: what is called for each element \
             has to be `#[inline(always)]`"
        )),
    }
}

/// The line before the first instruction, which names the function.
fn header(function: &str) -> &str {
    function.lines().next().unwrap_or_default()
}

/// Returns true for an instruction on 256 bits of `f32`, by its beginning.
fn is_packed(function: &str, mnemonic: &str) -> bool {
    let mut words = function.lines().filter_map(|line| Some(line.split_once('\t')?.1.trim()));
    words.any(|word| {
        let (name, operands) = word.split_once(' ').unwrap_or((word, ""));
        name.starts_with(mnemonic) && name.ends_with("ps") && operands.contains("%ymm")
    })
}

/// How `objdump` marks an instruction that names the function, or reads where its address is kept. Rust's own library has the
/// function where C's has none, and then the place is filled by the function's address and not by its name.
fn marks(function: &str, disassembly: &str, relocations: &str) -> Vec<String> {
    let own = disassembly.lines().find_map(|line| line.strip_suffix(&format!(" <{function}>:")));
    let own = own.map(|address| format!("*ABS*+0x{address}"));
    let is_kept =
        |value: &str| value.split('@').next() == Some(function) || own.as_deref() == Some(value);
    let places = relocations.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let (place, value) = (words.next()?, words.next_back()?);
        is_kept(value).then(|| format!("# {} ", place.trim_start_matches('0')))
    });
    places.chain([format!("<{function}>"), format!("<{function}@")]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RELOCATIONS: &str = "OFFSET           TYPE              VALUE\n\
        0000000000115e10 R_X86_64_GLOB_DAT  fmaf@GLIBC_2.2.5\n\
        0000000000115e18 R_X86_64_GLOB_DAT  memcpy@GLIBC_2.14\n\
        0000000000115e58 R_X86_64_RELATIVE  *ABS*+0x0000000000117d40\n";

    /// Rust's own.
    const FMAF: &str = "0000000000117d40 <fmaf>:\n  117d40:\tjmp    *%rax\n\n";

    fn function(name: &str, instructions: &[&str]) -> String {
        let lines = instructions.iter().map(|it| format!("   9cc60:\t{it}\n"));
        format!("000000000009cc60 <{name}>:\n{}\n", lines.collect::<String>())
    }

    fn steps(instructions: &[&str]) -> String {
        (0..STEPS).map(|i| function(&format!("_ZN{COMPILED}17h{i}E"), instructions)).collect()
    }

    const PACKED: [&str; 3] = [
        "vsqrtps %ymm1,%ymm2",
        "vfmadd231ps (%rdi,%rax,4),%ymm1,%ymm2",
        "call   *0x99929(%rip)        # 115e18 <memcpy@GLIBC_2.14>",
    ];

    #[test]
    fn packed_steps_pass_whatever_the_fallback_calls() {
        let call = "call   *0x99929(%rip)        # 115e10 <fmaf@GLIBC_2.2.5>";
        let text = steps(&PACKED) + &function("fallback", &[call]) + FMAF;
        assert!(matches!(verdict(&text, RELOCATIONS), Outcome::Passed(_)));
    }

    #[test]
    fn a_step_that_is_only_called_is_found() {
        let text = steps(&["jmp    9cb00 <_ZN4core3ops8function6FnOnce9call_once>"]);
        assert!(
            matches!(verdict(&text, RELOCATIONS), Outcome::Failed(why) if why.starts_with("0 of 9"))
        );
        assert!(matches!(verdict("", RELOCATIONS), Outcome::Failed(_)));
    }

    #[test]
    fn a_call_of_fmaf_is_found_by_name_and_by_address() {
        for call in [
            "mov    0x99929(%rip),%rbx        # 115e10 <_DYNAMIC+0x5a0>",
            "call   *0x99929(%rip)        # 115e58 <_DYNAMIC+0x5e8>",
            "call   46000 <fmaf@plt>",
        ] {
            let text = steps(&[&PACKED[..], &[call]].concat()) + FMAF;
            assert!(
                matches!(verdict(&text, RELOCATIONS), Outcome::Failed(why) if why.contains("`fmaf`"))
            );
        }
    }

    #[test]
    fn instructions_on_one_element_or_on_four_are_not_packed() {
        for wrong in ["vsqrtss %xmm1,%xmm2,%xmm3", "vsqrtps %xmm1,%xmm2"] {
            let text = steps(&[wrong, PACKED[1]]);
            assert!(matches!(verdict(&text, RELOCATIONS), Outcome::Failed(_)), "{wrong}");
        }
    }
}
