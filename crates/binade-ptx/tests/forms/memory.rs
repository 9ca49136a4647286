//! Forms of loads, stores, atomics and address conversion.

use binade_ptx::{Access, Arg, Module, ReportKind, Space};

use crate::support::{gpu, report};

/// Runs a body with `%rd1` at 64 bytes that hold their own numbers, the high bit set. Returns the bytes after, and `%rd2`.
fn run(body: &str) -> (Vec<u8>, u64) {
    let (module, mut gpu) = (module(body), gpu());
    let (x, y) = (gpu.alloc(64), gpu.alloc(8));
    gpu.write(x, &(0..64).map(|i| i | 0x80).collect::<Vec<u8>>()).unwrap();
    gpu.launch(&module, "k", 1, 1, 0, &args(x, y)).unwrap_or_else(|e| panic!("{e}\n{body}"));
    let result = gpu.read(y, 8).unwrap();
    (gpu.read(x, 64).unwrap(), u64::from_le_bytes(result.try_into().unwrap()))
}

fn args(x: u64, y: u64) -> [Arg; 3] {
    [Arg::U64(x), Arg::U64(y), Arg::Bytes((0..64).map(|i| i | 0x80).collect())]
}

fn module(body: &str) -> Module {
    let text = format!(
        ".version 9.0\n.target sm_80\n.address_size 64\n\
        .visible .entry k(.param .u64 x, .param .u64 y, .param .align 16 .b8 s[64])\n{{\n\
        .reg .pred %p<4>; .reg .b16 %rs<6>; .reg .b32 %r<9>; .reg .b64 %rd<9>;\n\
        .shared .align 16 .b8 buffer[64];\n\
        ld.param.u64 %rd1, [x]; ld.param.u64 %rd8, [y]; mov.u64 %rd2, 0;\n\
        mov.b64 %rd4, s; mov.u64 %rd6, buffer;\n\
        {body}\nst.global.u64 [%rd8], %rd2;\nret;\n}}"
    );
    Module::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Returns the bytes of an element, from the last part of a form.
fn width(form: &str) -> usize {
    let bits: String = form.rsplit('.').next().unwrap().chars().skip(1).collect();
    bits.parse::<usize>().unwrap() / 8
}

fn count(form: &str) -> usize {
    if form.contains(".v4.") { 4 } else { 1 + usize::from(form.contains(".v2.")) }
}

fn register(width: usize, number: usize) -> String {
    match width {
        1 | 2 => format!("%rs{number}"),
        4 => format!("%r{number}"),
        _ => format!("%rd{number}"),
    }
}

/// Returns the register that holds the address in this form's space. Shared memory must have been written.
fn base(form: &str) -> &'static str {
    match form {
        _ if form.contains(".param") => "%rd4",
        _ if form.contains(".shared") => "%rd6",
        _ => "%rd1",
    }
}

/// Code that copies `%rd1`'s bytes to shared memory.
const SHARE: &str = "ld.global.v2.u64 {%rd2, %rd3}, [%rd1];\nst.shared.v2.u64 [buffer], {%rd2, %rd3};\nld.global.v2.u64 {%rd2, %rd3}, [%rd1+16];\nst.shared.v2.u64 [buffer+16], {%rd2, %rd3};";

/// Holds a load's highest element, widened by the form's own rule, to the bytes.
pub(super) fn check_load(form: &str) {
    let (width, count) = (width(form), count(form));
    // Registers that hold no address here.
    let numbers = if width == 8 { &[3, 2][2 - count..] } else { &[1, 2, 3, 4][..count] };
    let to: Vec<_> = numbers.iter().map(|number| register(width, *number)).collect();
    let operand = if count == 1 { to[0].clone() } else { format!("{{{}}}", to.join(", ")) };
    let widen = match width {
        8 => String::new(),
        4 => format!("cvt.u64.u32 %rd2, {};", to[count - 1]),
        _ => format!("cvt.u64.u16 %rd2, {};", to[count - 1]),
    };
    let offset = 16;
    let body = format!("{SHARE}\n{form} {operand}, [{}+{offset}];\n{widen}", base(form));
    let first = offset + (count - 1) * width;
    let bytes = (first..first + width).rev().map(|i| i as u64 | 0x80);
    let signs = if form.contains(".s8") { 0xff00 } else { 0 };
    assert_eq!(run(&body).1, bytes.fold(0, |value, byte| value << 8 | byte) | signs, "{form}");
}

#[test]
fn a_load_fills_a_wider_register_with_its_sign_or_with_zeros() {
    assert_eq!(run("ld.param.s32 %rd2, [s+4];").1, 0xffff_ffff_8786_8584);
    assert_eq!(run("ld.global.s8 %r1, [%rd1];\ncvt.u64.u32 %rd2, %r1;").1, 0xffff_ff80);
    assert_eq!(run("ld.global.u8 %r1, [%rd1];\ncvt.u64.u32 %rd2, %r1;").1, 0x80);
    assert_eq!(run("ld.global.u32 %rd2, [%rd1];").1, 0x8382_8180);
}

/// A store writes its bytes and no others.
pub(super) fn check_store(form: &str) {
    let (width, count) = (width(form), count(form));
    let value = 0x1122_3344_5566_7788_u64;
    let low = value & (u64::MAX >> (64 - 8 * width));
    // Of eight bytes there are two at most.
    let names: Vec<_> =
        (1..=count).map(|i| register(width, if width == 8 { i + 1 } else { i })).collect();
    let kind = 8 * width.max(2);
    let moves: Vec<_> = names.iter().map(|name| format!("mov.b{kind} {name}, {low};\n")).collect();
    let list = if count == 1 { names[0].clone() } else { format!("{{{}}}", names.join(", ")) };
    let back =
        "ld.shared.v2.u64 {%rd2, %rd3}, [buffer+16];\nst.global.v2.u64 [%rd1+16], {%rd2, %rd3};";
    let (share, back) = if form.contains(".shared") { (SHARE, back) } else { ("", "") };
    let (found, _) =
        run(&format!("{share}\n{}{form} [{}+16], {list};\n{back}", moves.concat(), base(form)));
    let mut expected: Vec<u8> = (0..64).map(|i| i | 0x80).collect();
    for place in 0..count {
        expected[16 + place * width..][..width].copy_from_slice(&value.to_le_bytes()[..width]);
    }
    assert_eq!(found, expected, "{form}");
}

#[test]
fn a_vector_may_have_literals_and_drops() {
    let pack = "ld.global.u16 %rs1, [%rd1+2];\nmov.b32 %r1, {0, %rs1};\ncvt.u64.u32 %rd2, %r1;";
    assert_eq!(run(pack).1, 0x8382_0000);
    let unpack = "ld.global.u64 %rd3, [%rd1];\nmov.b64 {_, %r1}, %rd3;\ncvt.u64.u32 %rd2, %r1;";
    assert_eq!(run(unpack).1, 0x8786_8584);
    let four = "ld.global.u64 %rd3, [%rd1];\nmov.b64 {%rs1, %rs2, %rs3, %rs4}, %rd3;\nmov.b64 %rd2, {%rs4, %rs3, %rs2, %rs1};";
    assert_eq!(run(four).1, 0x8180_8382_8584_8786);
    let two = "ld.global.u32 %r1, [%rd1];\nmov.b32 {%rs1, %rs2}, %r1;\nmov.b32 %r2, {%rs2, %rs1};\nmov.b64 %rd2, {%r2, %r1};";
    assert_eq!(run(two).1, 0x8382_8180_8180_8382);
}

#[test]
fn moves_take_literals_of_their_width() {
    assert_eq!(run("mov.f64 %rd2, 0d3FF8000000000000;").1, 1.5_f64.to_bits());
    assert_eq!(run("mov.b16 %rs1, -2;\ncvt.u64.u16 %rd2, %rs1;").1, 0xfffe);
}

/// The body is compiled from `s.pointers[i]`.
#[test]
fn a_structure_by_value_is_indexed_at_run_time() {
    let body = "ld.global.u8 %r1, [%rd1+3];\nand.b32 %r1, %r1, 7;\nmul.wide.u32 %rd3, %r1, 8;\nadd.s64 %rd3, %rd4, %rd3;\nld.param.u64 %rd2, [%rd3+8];";
    assert_eq!(run(body).1, 0xa7a6_a5a4_a3a2_a1a0);
    let outcome = |body: &str| {
        let (mut gpu, module) = (gpu(), module(body));
        let (x, y) = (gpu.alloc(64), gpu.alloc(8));
        report(gpu.launch(&module, "k", 1, 1, 0, &args(x, y))).kind
    };
    let (access, space) = (Access::Read, Space::Param);
    assert_eq!(
        outcome("ld.param.u64 %rd2, [%rd4+64];"),
        ReportKind::OutOfBounds { access, space, bytes: 8 }
    );
    assert_eq!(
        outcome("ld.param.u64 %rd2, [%rd4+4];"),
        ReportKind::Misaligned { access, space, bytes: 8 }
    );
    assert_eq!(outcome("trap;"), ReportKind::Trap);
}

/// Returns memory after an atomic, from the old value and its two operands.
fn after(operation: &str, kind: &str, old: u64, b: u64, c: u64) -> u64 {
    let narrow = kind.ends_with("32");
    // Signed numbers have the order of unsigned ones with the sign bit flipped.
    let sign = if kind.starts_with('s') { 1 << if narrow { 31 } else { 63 } } else { 0 };
    let of = |choice: bool, yes: u64, no: u64| if choice { yes } else { no };
    let new = match operation {
        "add" => old.wrapping_add(b),
        "and" => old & b,
        "or" => old | b,
        "xor" => old ^ b,
        "min" => of(old ^ sign < b ^ sign, old, b),
        "max" => of(old ^ sign < b ^ sign, b, old),
        "inc" => of(old >= b, 0, old.wrapping_add(1)),
        "dec" => of(old == 0 || old > b, b, old.wrapping_sub(1)),
        "exch" => b,
        "cas" => of(old == b, c, old),
        _ => panic!("no meaning of {operation}"),
    };
    if narrow { new & 0xffff_ffff } else { new }
}

/// An atomic puts the new value and gives the old one.
pub(super) fn check_atomic(form: &str) {
    let parts: Vec<_> = form.split('.').collect();
    let [.., operation, kind] = parts[..] else { panic!("{form}") };
    for (old, b) in [(5, 5), (0, 3), (4, 3), (3, 0xffff_fffe), (0xffff_ffff, 1)] {
        let (r, width) = if kind.ends_with("32") { ("%r", 32) } else { ("%rd", 64) };
        let (at, space) = match parts[1] {
            "shared" => ("[buffer]", "shared"),
            _ => ("[%rd1]", "global"),
        };
        let last = if operation == "cas" { ", 77" } else { "" };
        let body = format!(
            "mov.b{width} {r}2, {old};\nst.{space}.b{width} {at}, {r}2;\n\
            {form} {r}3, {at}, {b}{last};\nld.{space}.b{width} {r}2, {at};\nst.global.b{width} [%rd1], {r}2;\n\
            st.global.b{width} [%rd1+8], {r}3;"
        );
        let (found, _) = run(&body);
        let word = |at: usize| {
            let bytes = found[at..at + width / 8].iter().rev();
            bytes.fold(0, |value, byte| value << 8 | u64::from(*byte))
        };
        let expected = after(operation, kind, old, b, 77);
        assert_eq!([word(0), word(8)], [expected, old], "{form} of {old:#x} and {b:#x}");
    }
}
