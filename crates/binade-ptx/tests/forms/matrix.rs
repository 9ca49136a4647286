//! Matrices of a warp: the lane of each element, products, and faults.

use binade_ptx::{Access, Arg, Fault, Module, ReportKind, Space, known_forms};
use half::{bf16, f16};

use crate::support::{gpu, report, words};

/// Runs a body in one warp, with `%rd1` at a copy of `given` and `%r1` as the lane. Returns the eight words a lane that it stored
/// at `%rd2`.
fn run(target: &str, body: &str, given: &[u32]) -> Result<Vec<u32>, Fault> {
    let text = format!(
        ".version 9.0\n.target {target}\n.address_size 64\n\
        .visible .entry k(.param .u64 x, .param .u64 y)\n{{\n\
        .reg .pred %p<4>; .reg .b32 %r<20>; .reg .f32 %f<9>; .reg .b64 %rd<9>;\n\
        .shared .align 16 .b8 buffer[512];\n\
        ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; mov.u32 %r1, %tid.x;\n\
        mul.wide.u32 %rd3, %r1, 32; add.s64 %rd2, %rd2, %rd3;\n{body}\nret;\n}}"
    );
    let module = Module::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut gpu = gpu();
    let (x, y) = (gpu.alloc(4 * given.len()), gpu.alloc(4 * 8 * 32));
    gpu.write(x, &given.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>()).unwrap();
    gpu.launch(&module, "k", 1, 32, 0, &[Arg::U64(x), Arg::U64(y)])?;
    Ok(words(&mut gpu, y, 8 * 32))
}

/// Code that puts rows of eight numbers into shared memory and leaves in `%r8` the address of row `5·l + 3` for lane `l`.
const ROWS: &str = "shl.b32 %r2, %r1, 4; cvt.u64.u32 %rd3, %r2; add.s64 %rd3, %rd1, %rd3;\n\
    ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%rd3];\n\
    mov.u32 %r7, buffer; add.s32 %r2, %r7, %r2; st.shared.v4.u32 [%r2], {%r3, %r4, %r5, %r6};\n\
    mad.lo.s32 %r8, %r1, 5, 3; and.b32 %r8, %r8, 31; shl.b32 %r8, %r8, 4; add.s32 %r8, %r7, %r8;";

/// Returns the numbers from 0 to 255, two a word.
fn numbers() -> Vec<u32> {
    (0..128).map(|i| (2 * i) | ((2 * i + 1) << 16)).collect()
}

fn loads() -> impl Iterator<Item = &'static str> {
    known_forms().filter(|form| form.starts_with("ldmatrix"))
}

fn count(form: &str) -> usize {
    form.split('.').find_map(|part| part.strip_prefix('x')?.parse().ok()).unwrap()
}

fn registers(first: usize, count: usize, kind: &str) -> String {
    let names: Vec<_> = (first..first + count).map(|number| format!("%{kind}{number}")).collect();
    format!("{{{}}}", names.join(", "))
}

#[test]
fn each_load_gives_each_lane_the_elements_that_the_isa_names() {
    for form in loads() {
        let count = count(form);
        let stores: Vec<_> =
            (0..count).map(|i| format!("st.global.u32 [%rd2+{}], %r{};", 4 * i, 11 + i)).collect();
        let body = format!(
            "{ROWS}\nbar.warp.sync -1;\n{form} {}, [%r8];\n{}",
            registers(11, count, "r"),
            stores.join("\n")
        );
        let found = run("sm_75", &body, &numbers()).unwrap();
        for (matrix, row, column) in every(count, 8, 8) {
            let number = (5 * (8 * matrix + row) + 3) % 32 * 8 + column;
            // Transposed, rows are columns.
            let (line, place) = if form.contains(".trans") { (column, row) } else { (row, column) };
            let word = found[8 * (4 * line + place / 2) + matrix];
            let half = word >> (16 * (place % 2)) & 0xffff;
            assert_eq!(half as usize, number, "{form}: matrix {matrix}, {row}, {column}");
        }
    }
}

/// Returns all triples below these.
fn every(a: usize, b: usize, c: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..a).flat_map(move |i| (0..b).flat_map(move |j| (0..c).map(move |k| (i, j, k))))
}

/// Name of a product's form, its terms a sum, and the function that encodes a number.
type Product = (&'static str, usize, fn(f32) -> u16);

const PRODUCTS: [Product; 3] = [
    ("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", 8, f16_code),
    ("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 16, bf16_code),
    ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 16, f16_code),
];

fn f16_code(value: f32) -> u16 {
    f16::from_f32(value).to_bits()
}

fn bf16_code(value: f32) -> u16 {
    bf16::from_f32(value).to_bits()
}

#[expect(clippy::cast_precision_loss, reason = "below 2^24")]
fn number(n: usize) -> f32 {
    n as f32
}

/// Returns D by rows, for A, B and C given as functions of row and column.
fn product(
    (form, depth, code): Product,
    a: impl Fn(usize, usize) -> f32,
    b: impl Fn(usize, usize) -> f32,
    c: impl Fn(usize, usize) -> f32,
) -> Vec<f32> {
    // Each lane has ten words: four of A, two of B, four of C.
    let mut given = vec![0; 10 * 32];
    let mut put = |lane: usize, register: usize, half: usize, value: f32| {
        given[10 * lane + register] |= u32::from(code(value)) << (16 * half);
    };
    for (_, row, k) in every(1, 16, depth) {
        put(row % 8 * 4 + k % 8 / 2, row / 8 + k / 8 * 2, k % 2, a(row, k));
    }
    for (_, k, column) in every(1, depth, 8) {
        put(column * 4 + k % 8 / 2, 4 + k / 8, k % 2, b(k, column));
    }
    let place = |row: usize, column: usize| (row % 8 * 4 + column / 2, row / 8 * 2 + column % 2);
    for (_, row, column) in every(1, 16, 8) {
        let (lane, register) = place(row, column);
        given[10 * lane + 6 + register] = c(row, column).to_bits();
    }
    let body = format!(
        "mul.wide.u32 %rd3, %r1, 40; add.s64 %rd3, %rd1, %rd3;\n\
        ld.global.v2.u32 {{%r2, %r3}}, [%rd3]; ld.global.v2.u32 {{%r4, %r5}}, [%rd3+8];\n\
        ld.global.v2.u32 {{%r6, %r7}}, [%rd3+16];\n\
        ld.global.v2.f32 {{%f1, %f2}}, [%rd3+24]; ld.global.v2.f32 {{%f3, %f4}}, [%rd3+32];\n\
        {form} {{%f1, %f2, %f3, %f4}}, {}, {}, {{%f1, %f2, %f3, %f4}};\n\
        st.global.v4.f32 [%rd2], {{%f1, %f2, %f3, %f4}};",
        registers(2, depth / 4, "r"),
        registers(6, depth / 8, "r"),
    );
    let target = if depth == 8 { "sm_75" } else { "sm_80" };
    let found = run(target, &body, &given).unwrap();
    let at = |(_, row, column)| {
        let (lane, register) = place(row, column);
        f32::from_bits(found[8 * lane + register])
    };
    every(1, 16, 8).map(at).collect()
}

/// Elements are all different, and small enough to be exact everywhere.
#[test]
fn each_product_takes_its_operands_from_the_lanes_that_the_isa_names() {
    for form in PRODUCTS {
        let (_, depth, _) = form;
        let (a, b) = (|row, k| row * depth + k + 1, |k, column| k * 8 + column + 1);
        let c = |row, column| 100_000 * row + column;
        let found = product(
            form,
            |row, k| number(a(row, k)),
            |k, column| number(b(k, column)),
            |row, column| number(c(row, column)),
        );
        for ((_, row, column), found) in every(1, 16, 8).zip(found) {
            let sum: usize = (0..depth).map(|k| a(row, k) * b(k, column)).sum();
            assert_eq!(
                found.to_bits(),
                number(sum + c(row, column)).to_bits(),
                "{form:?} {row} {column}"
            );
        }
    }
}

#[test]
fn a_sum_of_products_is_rounded_once() {
    for form in PRODUCTS {
        // Each term is a quarter of 1's last place. Two are a tie, which rounds to 1; three round up.
        let sum = |terms: usize| {
            let a = move |_, k: usize| if k < terms { 2.0_f32.powi(-12) } else { 0.0 };
            product(form, a, |_, _| 2.0_f32.powi(-13), |_, _| 1.0)[0]
        };
        assert_eq!([sum(2), sum(3)].map(f32::to_bits), [0x3f80_0000, 0x3f80_0001], "{form:?}");
        let zeros = |_, _| 0.0;
        let one = |a: f32, b: f32, c: f32| product(form, |_, _| a, move |_, _| b, |_, _| c)[0];
        assert!(one(f32::INFINITY, 0.0, 1.0).is_nan() && one(1.0, 1.0, f32::NAN).is_nan());
        assert_eq!(one(1.0, 2.0, f32::NEG_INFINITY), f32::NEG_INFINITY);
        assert_eq!(one(f32::INFINITY, 2.0, 1.0), f32::INFINITY);
        let least = if form.0.contains(".bf16") { 2.0_f32.powi(-133) } else { 2.0_f32.powi(-24) };
        let first = |_, k: usize| if k == 0 { least } else { 0.0 };
        assert_eq!(product(form, first, |_, _| 1.0, zeros)[0], least, "{form:?}: a subnormal");
    }
}

#[test]
fn a_matrix_instruction_that_a_lane_skips_is_divergent() {
    let skip = |form: &str, operands: &str| {
        let body = format!("{ROWS}\nsetp.ne.u32 %p1, %r1, 3;\n@%p1 {form} {operands};");
        report(run("sm_80", &body, &numbers())).kind
    };
    for (form, operands) in [
        ("ldmatrix.sync.aligned.m8n8.x1.shared.b16", "{%r11}, [%r8]"),
        (PRODUCTS[0].0, "{%f1, %f2, %f3, %f4}, {%r3, %r4}, {%r5}, {%f1, %f2, %f3, %f4}"),
    ] {
        assert_eq!(skip(form, operands), ReportKind::Divergent { form, lane: 3 });
    }
}

#[test]
fn a_load_of_matrices_is_held_to_bounds_alignment_and_barriers() {
    let found = |target: &str, between: &str, number: usize| {
        let to = registers(11, number, "r");
        let load = format!("ldmatrix.sync.aligned.m8n8.x{number}.shared.b16 {to}, [%r8];");
        run(target, &format!("{ROWS}\n{between}\n{load}"), &numbers())
    };
    let sync = "bar.warp.sync -1;";
    assert!(found("sm_80", sync, 4).is_ok());
    let kind = |between: &str| report(found("sm_80", between, 4)).kind;
    let (access, space, bytes) = (Access::Read, Space::Shared, 16);
    assert!(matches!(kind(""), ReportKind::SharedRace { access: Access::Read, .. }));
    let misaligned = ReportKind::Misaligned { access, space, bytes };
    assert_eq!(kind(&format!("{sync} add.s32 %r8, %r8, 8;")), misaligned);
    let outside = ReportKind::OutOfBounds { access, space, bytes };
    assert_eq!(kind(&format!("{sync} add.s32 %r8, %r8, 512;")), outside);
    // Lanes from 8 on give no address to a load of one matrix, yet 7.5 requires valid ones.
    let far = format!("{sync} setp.gt.u32 %p1, %r1, 7; @%p1 mov.u32 %r8, 4096;");
    assert!(found("sm_80", &far, 1).is_ok());
    assert_eq!(report(found("sm_75", &far, 1)).kind, outside);
}

const COPY: &str = "shl.b32 %r2, %r1, 4; cvt.u64.u32 %rd3, %r2; add.s64 %rd3, %rd1, %rd3;\n\
    mov.u32 %r8, buffer; add.s32 %r8, %r8, %r2;";
const LOAD: &str = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r11, %r12, %r13, %r14}, [%r8];";

#[test]
fn a_copy_that_was_not_waited_for_is_not_there_yet() {
    let copy = "cp.async.cg.shared.global [%r8], [%rd3], 16;\ncp.async.commit_group;";
    let late = format!("{COPY}\n{copy}\nbar.sync 0;\n{LOAD}");
    let found = report(run("sm_80", &late, &numbers())).kind;
    assert!(matches!(found, ReportKind::UnfinishedCopy { access: Access::Read, .. }), "{found}");
    let waited = format!("{COPY}\n{copy}\ncp.async.wait_group 0;\nbar.sync 0;\n{LOAD}");
    assert!(run("sm_80", &waited, &numbers()).is_ok());
}

/// A row is copied in parts of 4, 8 or 16 bytes, the last part two bytes short.
#[test]
fn copies_of_every_width_bring_what_they_say() {
    let given = numbers();
    for width in [4_usize, 8, 16] {
        let parts = (0..16 / width).map(|part| {
            let at = part * width;
            let fewer =
                if part + 1 < 16 / width { String::new() } else { format!(", {}", width - 2) };
            format!("cp.async.ca.shared.global [%r8+{at}], [%rd3+{at}], {width}{fewer};\n")
        });
        let body = format!(
            "{COPY}\n{}cp.async.commit_group;\ncp.async.wait_group 0;\n\
            ld.shared.v4.u32 {{%r3, %r4, %r5, %r6}}, [%r8];\nst.global.v4.u32 [%rd2], {{%r3, %r4, %r5, %r6}};",
            parts.collect::<String>()
        );
        let found = run("sm_80", &body, &numbers()).unwrap();
        for lane in 0..32 {
            let mut expected = given[4 * lane..4 * lane + 4].to_vec();
            expected[3] &= 0xffff;
            assert_eq!(found[8 * lane..8 * lane + 4], expected, "lane {lane}, by {width}");
        }
        let many = body.replace(&format!(", {};", width - 2), ", 17;");
        let many = report(run("sm_80", &many, &numbers())).kind;
        assert!(matches!(many, ReportKind::OutOfBounds { bytes: 17, .. }), "{many}");
        let (access, space, bytes) = (Access::Read, Space::Global, width as u64);
        let off = body.replacen("[%rd3+0]", "[%rd3+2]", 1);
        let misaligned = ReportKind::Misaligned { access, space, bytes };
        assert_eq!(report(run("sm_80", &off, &numbers())).kind, misaligned, "by {width}");
    }
}

/// Returns the forms that the tests above run.
pub(super) fn forms() -> impl Iterator<Item = &'static str> {
    loads().chain(PRODUCTS.iter().map(|(form, ..)| *form))
}
