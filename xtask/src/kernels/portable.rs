//! Takes out of PTX what ties it to one machine, or to newer drivers than it needs.

/// Says to checking tools which bytes of a load are used; without it, all are. It alone would ask for PTX 8.3.
/// PTX ISA, `.pragma` strings.
const HINT: &str = ".pragma \"used_bytes_mask";

/// What a `.loc` says of the call that a line was inlined by: a third of all bytes. The line itself stays.
const INLINED: &str = ", function_name";

/// The names that those calls have.
const NAMES: &str = ".debug_str";

/// `ptx` with every path of a `.file` directive cut to its last part, without hints, and without the calls that lines were
/// inlined by.
pub(super) fn portable(ptx: &str) -> String {
    let lines = ptx.split_inclusive('\n').filter(|line| !line.trim_start().starts_with(HINT));
    let mut names = false;
    let outside = lines.filter(|line| {
        names |= line.trim_start().starts_with(".section") && line.contains(NAMES);
        let inside = names;
        names &= line.trim() != "}";
        !inside
    });
    outside.map(cut).collect()
}

/// One line; only that of a `.file` or a `.loc` directive changes.
fn cut(line: &str) -> String {
    if let Some((place, _)) = line.split_once(INLINED)
        && place.trim_start().starts_with(".loc")
    {
        return format!("{place}\n");
    }
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
    fn lines_stay_and_the_calls_they_were_inlined_by_go() {
        let code =
            "\t.loc\t1 59 3, function_name $L__info_string0, inlined_at 1 113 80\n\tret;\n}\n";
        let names = "\t.section\t.debug_str\n\t{\n$L__info_string0:\n.b8 95,0\n\n\t}\n";
        let rest = "\t.section\t.other\n\t{\n\t}\n";
        let kept = format!("\t.loc\t1 59 3\n\tret;\n}}\n{rest}");
        assert_eq!(portable(&format!("{code}{names}{rest}")), kept);
    }

    #[test]
    fn hints_go_and_other_pragmas_stay() {
        let hint = "\t.pragma \"used_bytes_mask 15\";\n";
        let kept = "\t.pragma \"nounroll\";\n\tld.global.v2.f32 \t{%f1, %f2}, [%rd1];\n";
        assert_eq!(portable(&format!("{hint}{kept}")), kept);
    }
}
