//! `accumulate` and `materialise`, which are told no first chunk: the row's own first chunk lies as far before zero as its first
//! block is to be launched late.

use super::*;
use binade_ptx::{Arg, Capability};

/// The first chunk of a row whose chunks [`around`] an edge are to be blocks 0, 1 and so on.
fn first_chunk(edge: u64) -> u64 {
    (around(edge).start / CHUNK).wrapping_neg()
}

/// Runs `check` around each edge from each start.
fn each(check: impl Fn(&mut Gpu, u64, u64)) {
    for (edge, offset) in EDGES.into_iter().flat_map(|edge| OFFSETS.map(|offset| (edge, offset))) {
        check(&mut Gpu::new(Capability::SM_75), edge, offset);
    }
}

#[test]
fn accumulate_adds_the_elements_beyond_32_bits_and_no_others() {
    let module = module("accumulate");
    each(|gpu, edge, offset| {
        let range = around(edge);
        let sums = Window::new(gpu, &range, offset, &floats(range.clone().map(master)));
        let values = Window::new(gpu, &range, offset, &halves(range.clone().map(gradient)));
        let begun = upload(gpu, &words([1])).address();
        let addresses = longs([sums.whole, values.whole, begun, 0, LEN, first_chunk(edge)]);
        let rows = upload(gpu, &[addresses, words([F16, 0])].concat());
        let [found, owed] = [vec![0; 64], owed()].map(|bytes| Arg::Ptr(upload(gpu, &bytes)));
        let args = [Arg::Ptr(rows), Arg::U32(1), Arg::U64(CHUNK), found, owed];
        gpu.launch(&module, "accumulate", BLOCKS, THREADS, 0, &args).unwrap();
        let want = floats(range.map(|i| master(i) + gradient(i)));
        assert!(sums.read(gpu) == want, "around {edge}, {offset} off");
    });
}

#[test]
fn materialise_writes_the_elements_beyond_32_bits_and_no_others() {
    let module = module("materialise");
    each(|gpu, edge, offset| {
        let range = around(edge);
        let values = Window::new(gpu, &range, offset, &halves(range.clone().map(gradient)));
        let result = Window::new(gpu, &range, offset, &floats(range.clone().map(|_| 0.0)));
        let addresses = longs([values.whole, result.whole, 0, LEN, first_chunk(edge)]);
        let rows = upload(gpu, &[addresses, words([F16, 0])].concat());
        let owed = upload(gpu, &owed());
        let sizes = [Arg::Ptr(rows), Arg::U32(1), Arg::U64(CHUNK)];
        let args = [&sizes[..], &[Arg::Ptr(owed), Arg::F32(f32::INFINITY)]].concat();
        gpu.launch(&module, "materialise", BLOCKS, THREADS, 0, &args).unwrap();
        assert!(result.read(gpu) == floats(range.map(gradient)), "around {edge}, {offset} off");
    });
}
