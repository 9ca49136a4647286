//! Runner of one form on rows of operands, a thread for each row.

use binade_ptx::{Arg, Module};

use crate::support::gpu;

/// Returns the name of a register by its letter: p for predicates, h, w and d for 16, 32 and 64 bits.
fn register(letter: char, number: usize) -> String {
    match letter {
        'p' => format!("%p{number}"),
        'h' => format!("%rs{number}"),
        'w' => format!("%r{number}"),
        'd' => format!("%rd{number}"),
        _ => panic!("{letter}"),
    }
}

fn load(letter: char, number: usize) -> String {
    let (register, at) = (register(letter, number), 8 * (number - 1));
    match letter {
        'p' => format!("ld.global.u32 %r9, [%rd8+{at}];\nsetp.ne.s32 {register}, %r9, 0;"),
        'h' => format!("ld.global.u16 {register}, [%rd8+{at}];"),
        'w' => format!("ld.global.u32 {register}, [%rd8+{at}];"),
        _ => format!("ld.global.u64 {register}, [%rd8+{at}];"),
    }
}

fn store(letter: char) -> String {
    let register = register(letter, 0);
    match letter {
        'p' => format!("selp.u32 %r9, 1, 0, {register};\nst.global.u32 [%rd9], %r9;"),
        'h' => format!("st.global.u16 [%rd9], {register};"),
        'w' => format!("st.global.u32 [%rd9], {register};"),
        _ => format!("st.global.u64 [%rd9], {register};"),
    }
}

/// Runs a form on each row, and returns the results zero-extended. `signature` is `d=dw`: the result's letter, then the
/// operands'.
#[track_caller]
pub(crate) fn compute(form: &str, signature: &str, rows: &[[u64; 4]]) -> Vec<u64> {
    let (to, from) = signature.split_once('=').unwrap();
    let to = to.chars().next().unwrap();
    let loads: Vec<_> =
        (1..).zip(from.chars()).map(|(number, letter)| load(letter, number)).collect();
    let names: Vec<_> =
        (1..).zip(from.chars()).map(|(number, letter)| register(letter, number)).collect();
    let text = format!(
        ".version 9.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 x, .param .u64 y)\n{{\n\
        .reg .pred %p<6>; .reg .b16 %rs<6>; .reg .b32 %r<10>; .reg .b64 %rd<10>;\n\
        ld.param.u64 %rd8, [x]; ld.param.u64 %rd9, [y]; mov.u32 %r9, %tid.x;\n\
        mul.wide.u32 %rd7, %r9, 32; add.s64 %rd8, %rd8, %rd7; mul.wide.u32 %rd7, %r9, 8; add.s64 %rd9, %rd9, %rd7;\n\
        {}\n{form} {}, {};\n{}\nret;\n}}",
        loads.join("\n"),
        register(to, 0),
        names.join(", "),
        store(to),
    );
    launch(&text, rows)
}

fn launch(text: &str, rows: &[[u64; 4]]) -> Vec<u64> {
    let module = Module::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut gpu = gpu();
    let bytes: Vec<u8> = rows.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
    let (x, y) = (gpu.alloc(bytes.len()), gpu.alloc(rows.len() * 8));
    gpu.write(x, &bytes).unwrap();
    gpu.write(y, &vec![0; rows.len() * 8]).unwrap();
    let threads = u32::try_from(rows.len()).unwrap();
    gpu.launch(&module, "k", 1, threads, 0, &[Arg::U64(x), Arg::U64(y)]).unwrap();
    let bytes = gpu.read(y, rows.len() * 8).unwrap();
    bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

/// Returns every pair of two lists.
pub(crate) fn pairs(a: &[u64], b: &[u64]) -> Vec<[u64; 4]> {
    a.iter().flat_map(|a| b.iter().map(|b| [*a, *b, 0, 0])).collect()
}

/// Asserts that a form equals a function of its operands.
#[track_caller]
pub(crate) fn assert_is(
    form: &str,
    signature: &str,
    rows: &[[u64; 4]],
    expected: impl Fn([u64; 4]) -> u64,
) {
    for (row, found) in rows.iter().zip(compute(form, signature, rows)) {
        assert_eq!(
            found,
            expected(*row),
            "{form} of {row:x?}: {found:#x}, not {:#x}",
            expected(*row)
        );
    }
}
