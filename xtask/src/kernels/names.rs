//! File names in PTX: the compiler writes whole paths, which differ from machine to machine.

/// `ptx` with every path of a `.file` directive cut to its last part.
pub(super) fn bare(ptx: &str) -> String {
    ptx.split_inclusive('\n').map(cut).collect()
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
        assert_eq!(bare(ptx), ptx.replace("/a/b/scale", "scale"));
    }
}
