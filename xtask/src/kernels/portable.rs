//! Takes out of PTX what ties it to one machine, or to newer drivers than it needs.

use crate::{Result, issue::regex};

/// The versions of PTX from the first that knows compute capability 7.5 to that of CUDA 13.0, in order.
/// The PTX ISA's release history.
const VERSIONS: [&str; 22] = [
    "6.3", "6.4", "6.5", "7.0", "7.1", "7.2", "7.3", "7.4", "7.5", "7.6", "7.7", "7.8", "8.0",
    "8.1", "8.2", "8.3", "8.4", "8.5", "8.6", "8.7", "8.8", "9.0",
];

/// `ptx` with each version that may suit a GPU of `arch`, the oldest first: a driver refuses one newer than itself.
pub(super) fn versions(ptx: &str, arch: u32) -> Result<impl Iterator<Item = String>> {
    let line = ptx.lines().find(|line| line.starts_with(".version "));
    let line = line.ok_or("the PTX has no line `.version`")?;
    let first = if arch < 80 { 0 } else { 3 };
    Ok(VERSIONS[first..].iter().map(move |it| ptx.replacen(line, &format!(".version {it}"), 1)))
}

/// Text that is cut out, each with what stays of it.
const CUTS: [(&str, &str); 4] = [
    // Hints to checking tools about the bytes of a load that are used, all without them. They alone would ask for PTX 8.3.
    (r#"(?m)^[ \t]*\.pragma "used_bytes_mask[^\n]*\n"#, ""),
    // The calls that a line was inlined by, a third of all bytes, and below the names of these.
    (r"(?m)^([ \t]*\.loc[^\n]*?), function_name[^\n]*", "$1"),
    (r"(?ms)^[ \t]*\.section[^\n]*\.debug_str.*?^[ \t]*\}[ \t]*\n", ""),
    // The folders of a file.
    (r#"(?m)^([ \t]*\.file[^"\n]*")[^"\n]*/"#, "$1"),
];

/// `ptx` with every path of a `.file` directive cut to its last part, without hints, and without the calls that lines were
/// inlined by.
pub(super) fn portable(ptx: &str) -> String {
    let cut = |ptx: String, (found, kept): &(&str, &str)| {
        regex(found).replace_all(&ptx, *kept).into_owned()
    };
    CUTS.iter().fold(ptx.to_owned(), cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_rise_from_the_first_that_knows_the_gpu() {
        let ptx = "// A comment.\n.version 9.0\n.target sm_75\n";
        let first = |arch| versions(ptx, arch).unwrap().next().unwrap();
        assert_eq!(first(75), ptx.replace("9.0", "6.3"));
        assert_eq!(first(80), ptx.replace("9.0", "7.0"));
        assert!(versions("", 75).is_err());
    }

    #[test]
    fn paths_hints_and_calls_go_and_the_rest_stays() {
        let file =
            "\tret;\n}\n\t.file\t1 \"/a/b/scale.cu\"\n\t.file\t2 \"cuda_fp16.hpp\"\n// \"/a/b\"\n";
        let code = "\t.loc\t1 59 3, function_name $L__info_string0, inlined_at 1 113 80\n";
        let names = "\t.section\t.debug_str\n\t{\n$L__info_string0:\n.b8 95,0\n\n\t}\n";
        let hint = "\t.pragma \"used_bytes_mask 15\";\n";
        let rest = "\t.pragma \"nounroll\";\n\t.section\t.other\n\t{\n\t}\n";
        let kept = [&file.replace("/a/b/scale", "scale"), "\t.loc\t1 59 3\n", rest].concat();
        assert_eq!(portable(&[file, code, names, hint, rest].concat()), kept);
    }
}
