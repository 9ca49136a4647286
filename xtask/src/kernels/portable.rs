//! Takes out of PTX what ties it to one machine, or to newer drivers than it needs.

/// Says to checking tools which bytes of a load are used; without it, all are. It alone would ask for PTX 8.3.
/// PTX ISA, `.pragma` strings.
const HINT: &str = ".pragma \"used_bytes_mask";

/// `ptx` with every path of a `.file` directive cut to its last part, and without hints.
pub(super) fn portable(ptx: &str) -> String {
    let lines = ptx.split_inclusive('\n').filter(|line| !line.trim_start().starts_with(HINT));
    lines.map(cut).collect()
}

/// One line; only that of a `.file` directive changes.
fn cut(line: &str) -> String {
    let directive = line.trim_start().starts_with(".file");
    match line.split('"').collect::<Vec<_>>()[..] {
        [before, path, after] if directive => {
            let name = path.rsplit('/').next().unwrap_or(path);
            format!("{before}\"{name}\"{after}")
        }
        _ => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_names_and_the_rest_stays() {
        let ptx =
            "\tret;\n}\n\t.file\t1 \"/a/b/scale.cu\"\n\t.file\t2 \"cuda_fp16.hpp\"\n// \"/a/b\"\n";
        assert_eq!(portable(ptx), ptx.replace("/a/b/scale", "scale"));
    }

    #[test]
    fn hints_go_and_other_pragmas_stay() {
        let hint = "\t.pragma \"used_bytes_mask 15\";\n";
        let kept = "\t.pragma \"nounroll\";\n\tld.global.v2.f32 \t{%f1, %f2}, [%rd1];\n";
        assert_eq!(portable(&format!("{hint}{kept}")), kept);
    }
}
