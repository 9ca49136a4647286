//! Forms of logic, shifts and bit fields, bit by bit.

use crate::compute::{assert_is, compute, compute_with, pairs};
use crate::integer::letter;

const WORDS: [u64; 6] = [0, 1, 0x8000_0001, 0xffff_ffff, 0x1234_5678, 0xf0e1_d2c3_b4a5_9687];

fn mask(width: u32) -> u64 {
    u64::MAX >> (64 - width)
}

fn words(width: u32) -> Vec<u64> {
    WORDS.iter().map(|word| word & mask(width)).collect()
}

#[test]
fn logic_is_bit_by_bit() {
    for width in [16, 32, 64] {
        let (letter, rows) = (letter(width), pairs(&words(width), &words(width)));
        let signature = format!("{letter}={letter}{letter}");
        assert_is(&format!("and.b{width}"), &signature, &rows, |[a, b, ..]| a & b);
        assert_is(&format!("or.b{width}"), &signature, &rows, |[a, b, ..]| a | b);
        assert_is(&format!("xor.b{width}"), &signature, &rows, |[a, b, ..]| a ^ b);
        let signature = format!("{letter}={letter}");
        assert_is(&format!("not.b{width}"), &signature, &rows, |[a, ..]| !a & mask(width));
    }
    let rows = pairs(&[0, 1], &[0, 1]);
    assert_is("xor.pred", "p=pp", &rows, |[a, b, ..]| a ^ b);
    assert_is("or.pred", "p=pp", &rows, |[a, b, ..]| a | b);
    assert_is("not.pred", "p=p", &rows, |[a, ..]| 1 - a);
    assert_eq!(compute("mov.pred", "p=p", &rows), [0, 0, 1, 1]);
}

#[test]
fn shifts_by_the_width_or_more_leave_zeros_or_signs() {
    for width in [16, 32, 64] {
        let letter = letter(width);
        let signature = format!("{letter}={letter}w");
        let by = [0, 1, 15, 16, 31, 32, 63, 64, 65, 0x8000_0000, 0xffff_ffff];
        let rows = pairs(&words(width), &by);
        let left = |[a, b, ..]: [u64; 4]| if b < 64 { a << b & mask(width) } else { 0 };
        let right = |[a, b, ..]: [u64; 4]| if b < 64 { a >> b } else { 0 };
        assert_is(&format!("shl.b{width}"), &signature, &rows, left);
        assert_is(&format!("shr.u{width}"), &signature, &rows, right);
        if width > 16 {
            assert_is(&format!("shr.b{width}"), &signature, &rows, right);
        }
        assert_is(&format!("shr.s{width}"), &signature, &rows, |[a, b, ..]| {
            let signs = if a >> (width - 1) == 1 { u128::from(mask(width)) << width } else { 0 };
            let wide = (u128::from(a) | signs) >> b.min(u64::from(width));
            u64::try_from(wide & u128::from(mask(width))).unwrap()
        });
    }
}

#[test]
fn funnels_shift_two_words_as_one() {
    let by = [0, 1, 31, 32, 33, 64];
    let rows: Vec<_> = by.map(|by| [0x1234_5678, 0x9abc_def0, by, 0]).into();
    let (low, high) = (0x1234_5678, 0x9abc_def0);
    let clamp_left = [high, 0x3579_bde0, 0x091a_2b3c, low, low, low];
    assert_eq!(compute("shf.l.clamp.b32", "w=www", &rows), clamp_left);
    assert_eq!(
        compute("shf.l.wrap.b32", "w=www", &rows),
        [high, 0x3579_bde0, 0x091a_2b3c, high, 0x3579_bde0, high]
    );
    let clamp_right = [low, 0x091a_2b3c, 0x3579_bde0, high, high, high];
    assert_eq!(compute("shf.r.clamp.b32", "w=www", &rows), clamp_right);
    assert_eq!(
        compute("shf.r.wrap.b32", "w=www", &rows),
        [low, 0x091a_2b3c, 0x3579_bde0, low, 0x091a_2b3c, low]
    );
}

#[test]
fn bits_are_counted_found_and_turned_round() {
    let rows = pairs(&words(32), &[0]);
    assert_eq!(compute("popc.b32", "w=w", &rows), [0, 1, 2, 32, 13, 16]);
    assert_eq!(compute("clz.b32", "w=w", &rows), [32, 31, 0, 0, 3, 0]);
    assert_eq!(compute("bfind.u32", "w=w", &rows), [0xffff_ffff, 0, 31, 31, 28, 31]);
    assert_eq!(compute("bfind.shiftamt.u32", "w=w", &rows), [0xffff_ffff, 31, 0, 0, 3, 0]);
    assert_eq!(compute("brev.b32", "w=w", &rows[..3]), [0, 0x8000_0000, 0x8000_0001]);
    let rows = pairs(&[0, 1, 1 << 63, u64::MAX], &[0]);
    assert_eq!(compute("popc.b64", "w=d", &rows), [0, 1, 1, 64]);
    assert_eq!(compute("clz.b64", "w=d", &rows), [64, 63, 0, 0]);
    assert_eq!(compute("brev.b64", "d=d", &rows), [0, 1 << 63, 1, u64::MAX]);
}

/// Returns a bit field by the ISA's pseudocode, a bit at a time.
fn field(a: u64, place: u64, length: u64, width: u64, is_signed: bool) -> u64 {
    let top = (place + length).wrapping_sub(1).min(width - 1);
    let sign = is_signed && length != 0 && a >> top & 1 == 1;
    let bit = |i: u64| {
        let is_inside = i < length && place + i < width;
        if is_inside { a >> (place + i) & 1 } else { u64::from(sign) }
    };
    (0..width).fold(0, |result, i| result | bit(i) << i)
}

#[test]
fn fields_are_taken_and_put_bit_by_bit() {
    let mut rows = Vec::new();
    for place in [0, 1, 8, 31, 32, 40, 63, 255] {
        for length in [0, 1, 7, 31, 32, 33, 64, 255] {
            rows.push([0xf0e1_d2c3_b4a5_9687, place, length, 0]);
        }
    }
    let narrow: Vec<_> = rows.iter().map(|row| [row[0] & 0xffff_ffff, row[1], row[2], 0]).collect();
    assert_is("bfe.u32", "w=www", &narrow, |[a, b, c, _]| field(a, b, c, 32, false));
    assert_is("bfe.s32", "w=www", &narrow, |[a, b, c, _]| field(a, b, c, 32, true));
    assert_is("bfe.u64", "d=dww", &rows, |[a, b, c, _]| field(a, b, c, 64, false));
    let put = |[a, b, c, d]: [u64; 4], width: u64| {
        let is_inside = |i: u64| i >= c && i - c < d;
        let bit = |i: u64| if is_inside(i) { a >> (i - c) & 1 } else { b >> i & 1 };
        (0..width).fold(0, |result, i| result | bit(i) << i)
    };
    let into = |row: &[u64; 4], base: u64| [row[0], base, row[1], row[2]];
    let wide: Vec<_> = rows.iter().map(|row| into(row, 0x0123_4567_89ab_cdef)).collect();
    let narrow: Vec<_> = narrow.iter().map(|row| into(row, 0x89ab_cdef)).collect();
    assert_is("bfi.b32", "w=wwww", &narrow, |row| put(row, 32));
    assert_is("bfi.b64", "d=ddww", &wide, |row| put(row, 64));
}

#[test]
fn three_inputs_are_looked_up_in_a_table() {
    let rows = [[0xf0f0, 0xcccc, 0xaaaa, 0]];
    for table in [0x00_u64, 0x01, 0x80, 0x96, 0xe8, 0xfe] {
        let bit = |i: u64| {
            let index = (0xf0f0 >> i & 1) << 2 | (0xcccc >> i & 1) << 1 | (0xaaaa >> i & 1);
            table >> index & 1
        };
        let expected = (0..32).fold(0, |result, i| result | bit(i) << i);
        assert_eq!(compute_with("lop3.b32", "w=www", &format!(", {table}"), &rows), [expected]);
    }
}

#[test]
fn bytes_are_picked_and_signs_spread() {
    let digits = [0x3210, 0x7654, 0x0123, 0xfb84, 0x5140];
    let rows: Vec<_> = digits.map(|digits| [0x8122_3344, 0x5566_f788, digits, 0]).into();
    let expected = [0x8122_3344, 0x5566_f788, 0x4433_2281, 0x00ff_0088, 0xf733_8844];
    assert_eq!(compute("prmt.b32", "w=www", &rows), expected);
}

pub(crate) fn forms() -> Vec<String> {
    let logic = ["and", "or", "xor", "not"];
    let by_width = |width: u32| {
        let logic = logic.map(|name| format!("{name}.b{width}"));
        logic
            .into_iter()
            .chain(["shl.b", "shr.u", "shr.b", "shr.s"].map(|name| format!("{name}{width}")))
    };
    let others = [
        "or.pred",
        "xor.pred",
        "not.pred",
        "mov.pred",
        "shf.l.wrap.b32",
        "shf.l.clamp.b32",
        "shf.r.wrap.b32",
        "shf.r.clamp.b32",
        "popc.b32",
        "popc.b64",
        "clz.b32",
        "clz.b64",
        "brev.b32",
        "brev.b64",
        "bfind.u32",
        "bfind.shiftamt.u32",
        "bfe.u32",
        "bfe.s32",
        "bfe.u64",
        "bfi.b32",
        "bfi.b64",
        "lop3.b32",
        "prmt.b32",
    ];
    [16, 32, 64].into_iter().flat_map(by_width).chain(others.map(str::to_owned)).collect()
}
