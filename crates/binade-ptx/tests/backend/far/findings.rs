//! `unscale` finds and names non-finite elements at far indices.

use super::*;
use binade_ptx::{Arg, Capability};

/// Returns two `Row`s of `unscale.cu`: the short one and the far one.
fn unscale_rows(values: u64) -> Vec<u8> {
    let row = |values, len, first_chunk, parameter| {
        [longs([values, 0, len, first_chunk]), words([parameter, F32])].concat()
    };
    [row(0, SHORT, 0, 3), row(values, LEN, 1, 4)].concat()
}

/// Returns `Found` after a pass over the chunks around an edge with a NaN at `index`: parameter, index, and number of NaNs.
fn unscale(edge: u64, offset: u64, index: u64) -> (u32, u64, u64) {
    let (module, mut gpu) = (module("unscale"), Gpu::new(Capability::SM_75));
    let range = around(edge);
    let values = range.clone().map(|i| if i == index { f32::NAN } else { 1.0 });
    let values = Window::new(&mut gpu, &range, offset, &floats(values));
    let rows = upload(&mut gpu, &unscale_rows(values.whole));
    let scale = upload(&mut gpu, &[floats([1.0, 1.0]), vec![0; 56]].concat());
    let (partials, done) = (gpu.alloc(40 * BLOCKS as usize), upload(&mut gpu, &[0; 4]));
    let (found, owed) = (gpu.alloc(64), gpu.alloc(24));
    let chunks = 1 + LEN.div_ceil(CHUNK);
    let args = [Arg::U64(rows), Arg::U32(2), Arg::U64(from(edge)), Arg::U64(chunks)];
    let pointers = [scale, partials, done, found, owed].map(Arg::U64);
    let args = [&args[..], &[Arg::U64(CHUNK)], &pointers].concat();
    gpu.launch(&module, "unscale", BLOCKS, THREADS, 0, &args).unwrap();
    let found = gpu.read(found, 64).unwrap();
    let long = |at: usize| u64::from_le_bytes(found[at..at + 8].try_into().unwrap());
    (u32::from_le_bytes(found[8..12].try_into().unwrap()), long(16), long(40))
}

#[test]
fn unscale_names_a_nan_beyond_32_bits_by_its_index() {
    for (edge, offset) in EDGES.into_iter().flat_map(|edge| OFFSETS.map(|offset| (edge, offset))) {
        let last = around(edge).end - 1;
        for index in [edge - CHUNK, edge - 1, edge, edge + 1, last] {
            assert_eq!(unscale(edge, offset, index), (4, index, 1), "{edge} + {offset}");
        }
    }
}
