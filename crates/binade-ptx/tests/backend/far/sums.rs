//! `accumulate`, `clip_groups`, `materialise` and the passes of `scaled_f16` on far elements. These kernels take no first chunk:
//! the row's own first chunk is a negative number, by which its first launched block is far inside.

use super::*;
use binade_ptx::{Arg, Capability};

/// Returns the row's first chunk for which the chunks [`around`] an edge are blocks 0, 1 and so on.
fn first_chunk(edge: u64) -> u64 {
    (around(edge).start / CHUNK).wrapping_neg()
}

/// Calls `check` for each edge and each offset.
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
        let begun = upload(gpu, &words([1]));
        let addresses = longs([sums.whole, values.whole, begun, 0, LEN, first_chunk(edge)]);
        let rows = upload(gpu, &[addresses, words([F16, 0])].concat());
        let [found, owed] = [vec![0; 64], owed()].map(|bytes| Arg::U64(upload(gpu, &bytes)));
        let args = [Arg::U64(rows), Arg::U32(1), Arg::U64(CHUNK), found, owed];
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
        let rows = upload(gpu, &[addresses, words([F16, u32::MAX])].concat());
        let owed = upload(gpu, &owed());
        let sizes = [Arg::U64(rows), Arg::U32(1), Arg::U64(CHUNK)];
        let factors = [Arg::U64(owed), Arg::U64(0), Arg::F32(f32::INFINITY)];
        let args = [&sizes[..], &factors].concat();
        gpu.launch(&module, "materialise", BLOCKS, THREADS, 0, &args).unwrap();
        assert!(result.read(gpu) == floats(range.map(gradient)), "around {edge}, {offset} off");
    });
}

#[test]
fn clip_groups_measures_the_elements_beyond_32_bits_and_no_others() {
    let module = module("clip_groups");
    each(|gpu, edge, offset| {
        let range = around(edge);
        let values = Window::new(gpu, &range, offset, &halves(range.clone().map(gradient)));
        let row = [longs([values.whole, 0, LEN, first_chunk(edge)]), words([F16, 0])].concat();
        // Clips to a norm of at most 1, by all squares and by the largest, in a group of its own without a chunk.
        let groups = [(0, 0), (u64::from(BLOCKS), 1)]
            .map(|(first, norm)| [longs([first]), words([norm, 1.0_f32.to_bits(), 7, 0])].concat());
        let factors = upload(gpu, &[0xff; 8]);
        let [rows, groups, owed, partials, done, found] =
            [row, groups.concat(), owed(), vec![0; 16 * BLOCKS as usize], vec![0; 4], vec![0; 64]]
                .map(|bytes| Arg::U64(upload(gpu, &bytes)));
        let sizes = [Arg::U64(u64::from(BLOCKS)), Arg::U64(CHUNK)];
        let args = [
            &[rows, Arg::U32(1)],
            &sizes[..],
            &[groups, Arg::U32(2), owed, partials, done, found, Arg::U64(factors)],
        ];
        gpu.launch(&module, "clip_groups", BLOCKS, THREADS, 0, &args.concat()).unwrap();
        let squares: f64 = range.map(|i| f64::from(gradient(i)).powi(2)).sum();
        let want = floats([narrow(1.0 / squares.sqrt()), 1.0]);
        assert!(gpu.read(factors, 8).unwrap() == want, "around {edge}, {offset} off");
    });
}

#[expect(clippy::cast_possible_truncation, reason = "rounds to f32 as the kernel does")]
fn narrow(x: f64) -> f32 {
    x as f32
}

/// Returns a `Row` of `scaled_f16.cu`.
fn scaled_row(values: u64, exponent: u64, wide: u64, between: u64, first: u64) -> Vec<u8> {
    let addresses = [values, exponent, wide, between, 0, LEN, first];
    [longs(addresses), words([0; 2])].concat()
}

#[test]
fn scaled_f16_opens_and_packs_the_elements_beyond_32_bits_and_no_others() {
    let module = module("scaled_f16");
    each(|gpu, edge, offset| {
        let range = around(edge);
        // Values are halves, by an exponent of -1. The largest, 85, is at least 2^6, and scaled to 2^14: times 2^8.
        let values =
            Window::new(gpu, &range, offset, &halves(range.clone().map(|i| 0.5 * master(i))));
        let wide = Window::new(gpu, &range, offset, &floats(range.clone().map(|_| 0.0)));
        let (exponent, between) =
            (upload(gpu, &words([1_u32.wrapping_neg()])), upload(gpu, &[0; 8]));
        let row = scaled_row(values.whole, exponent, wide.whole, between, first_chunk(edge));
        let [rows, found] = [row, vec![0; 64]].map(|bytes| Arg::U64(upload(gpu, &bytes)));
        let args = [rows, Arg::U32(1), Arg::U64(CHUNK), found];
        gpu.launch(&module, "scaled_f16_open", BLOCKS, THREADS, 0, &args).unwrap();
        assert!(wide.read(gpu) == floats(range.clone().map(master)), "opened around {edge}");
        gpu.write(between, &[0; 8]).unwrap();
        gpu.launch(&module, "scaled_f16_largest", BLOCKS, THREADS, 0, &args).unwrap();
        let args = [&args[..], &[Arg::U64(0)]].concat();
        gpu.launch(&module, "scaled_f16_pack", BLOCKS, THREADS, 0, &args).unwrap();
        let want = halves(range.map(|i| 256.0 * master(i)));
        assert!(values.read(gpu) == want, "packed around {edge}, {offset} off");
    });
}
