//! Elements beyond 2^31 and 2^32 of one row, by launching only the chunks around them: the row's addresses begin far before
//! the memory that is there, which holds exactly what those chunks may touch, so that any other access is a fault.

use crate::committed;
use binade_ptx::{Arg, Capability, DevicePtr, Gpu, Module};
use std::ops::Range;

/// Elements of a chunk, as the backend's shortest.
const CHUNK: u64 = 4096;

/// Elements of the far row; its last chunk ends early, as tails do.
const LEN: u64 = (1 << 32) + CHUNK + 904;

/// Of the row before the far one: a chunk of its own, which nobody launches.
const SHORT: u64 = 5;

/// Where 32 bits run out, signed and unsigned.
const EDGES: [u64; 2] = [1 << 31, 1 << 32];

/// Elements that the addresses are off alignment.
const OFFSETS: [u64; 2] = [0, 1];

const F16: u32 = 1;
const F32: u32 = 2;

/// The elements of the chunk before an edge, the one behind it and one more.
fn around(edge: u64) -> Range<u64> {
    edge - CHUNK..(edge + 2 * CHUNK).min(LEN)
}

/// The number of the first chunk of [`around`], behind the short row's.
fn from(edge: u64) -> u64 {
    1 + around(edge).start / CHUNK
}

const BLOCKS: u32 = 3;
const THREADS: u32 = 256;

fn module(name: &str) -> Module {
    let (_, text) = committed().into_iter().find(|(file, _)| file == name).unwrap();
    Module::parse(&text).unwrap()
}

fn upload(gpu: &mut Gpu, bytes: &[u8]) -> DevicePtr {
    let pointer = gpu.alloc(bytes.len());
    gpu.write(pointer, bytes).unwrap();
    pointer
}

fn words(words: impl IntoIterator<Item = u32>) -> Vec<u8> {
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

fn longs(longs: impl IntoIterator<Item = u64>) -> Vec<u8> {
    longs.into_iter().flat_map(u64::to_le_bytes).collect()
}

fn floats(values: impl IntoIterator<Item = f32>) -> Vec<u8> {
    words(values.into_iter().map(f32::to_bits))
}

/// Part of an array: memory for the elements of a range, and the address of the whole's element 0.
struct Window {
    memory: DevicePtr,
    bytes: usize,
    whole: u64,
}

impl Window {
    fn new(gpu: &mut Gpu, range: &Range<u64>, offset: u64, bytes: &[u8]) -> Self {
        let each = bytes.len() as u64 / (range.end - range.start);
        let before = vec![0xff; usize::try_from(offset * each).unwrap()];
        let memory = upload(gpu, &[&before[..], bytes].concat()).offset(offset * each);
        Self { memory, bytes: bytes.len(), whole: memory.address() - range.start * each }
    }

    fn read(&self, gpu: &mut Gpu) -> Vec<u8> {
        gpu.read(self.memory, self.bytes).unwrap().to_vec()
    }
}

/// `Owed` of `state.cuh`: nothing to unscale, nothing to clip.
fn owed() -> Vec<u8> {
    [floats([1.0, 1.0, 0.0, 0.0]), longs([0])].concat()
}

/// `Row` of `unscale.cu`, twice: the short one and the far one.
fn unscale_rows(values: u64) -> Vec<u8> {
    let row = |values, len, first_chunk, parameter| {
        [longs([values, 0, len, first_chunk]), words([parameter, F32])].concat()
    };
    [row(0, SHORT, 0, 3), row(values, LEN, 1, 4)].concat()
}

/// `Found` after a pass over the chunks around an edge with a NaN at `index`: parameter, index, and how many NaNs.
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
    let args = [Arg::Ptr(rows), Arg::U32(2), Arg::U64(from(edge)), Arg::U64(chunks)];
    let pointers = [scale, partials, done, found, owed].map(Arg::Ptr);
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

/// What a step does to a master, given its gradient: the new master, and the new moments.
type Step = fn(f32, f32) -> (f32, [f32; 3]);

/// Small numbers that differ from those around them; sixteen bits hold them.
#[expect(clippy::cast_precision_loss, reason = "below 97")]
fn number(index: u64, period: u64) -> f32 {
    (index % period) as f32 - 11.0
}

fn gradient(index: u64) -> f32 {
    number(index, 61)
}

fn master(index: u64) -> f32 {
    number(index, 97)
}

fn halves(values: impl IntoIterator<Item = f32>) -> Vec<u8> {
    values.into_iter().flat_map(|x| half::f16::from_f32(x).to_le_bytes()).collect()
}

/// `StepRow` of `step.cuh`, twice: gradient, parameter, master, moments.
fn step_rows(addresses: [u64; 6]) -> Vec<u8> {
    let row = |addresses: [u64; 6], len, first_chunk| {
        [longs(addresses), longs([0, len, first_chunk]), words([0, F16, F16, 0])].concat()
    };
    [row([0; 6], SHORT, 0), row(addresses, LEN, 1)].concat()
}

/// Runs `entry` around each edge, with moments that begin as zeros, against `step`.
fn steps(entry: &str, constants: [f32; 9], moments: usize, step: Step) {
    let module = module(entry);
    for (edge, offset) in EDGES.into_iter().flat_map(|edge| OFFSETS.map(|offset| (edge, offset))) {
        let mut gpu = Gpu::new(Capability::SM_75);
        let range = around(edge);
        let mut window = |bytes: Vec<u8>| Window::new(&mut gpu, &range, offset, &bytes);
        let gradients = window(halves(range.clone().map(gradient)));
        let parameters = window(halves(range.clone().map(master)));
        let masters = window(floats(range.clone().map(master)));
        let kept: Vec<_> =
            (0..moments).map(|_| window(floats(range.clone().map(|_| 0.0)))).collect();
        let mut addresses = [gradients.whole, parameters.whole, masters.whole, 0, 0, 0];
        kept.iter().zip(&mut addresses[3..]).for_each(|(window, address)| *address = window.whole);
        let tables = [step_rows(addresses), floats(constants), vec![0; 64], owed()];
        let [rows, constants, found, owed] = tables.map(|bytes| Arg::Ptr(upload(&mut gpu, &bytes)));
        let chunks = [Arg::U32(2), Arg::U64(from(edge)), Arg::U64(CHUNK)];
        let args = [&[rows], &chunks[..], &[constants, found, owed]].concat();
        gpu.launch(&module, entry, BLOCKS, THREADS, 0, &args).unwrap();

        let after = range.clone().map(|i| step(gradient(i), master(i)));
        let what = format!("{entry} around {edge}, {offset} off");
        assert!(masters.read(&mut gpu) == floats(after.clone().map(|(x, _)| x)), "{what}");
        assert!(parameters.read(&mut gpu) == halves(after.clone().map(|(x, _)| x)), "{what}");
        for (m, window) in kept.iter().enumerate() {
            assert!(window.read(&mut gpu) == floats(after.clone().map(|(_, x)| x[m])), "{what}");
        }
        assert!(gradients.read(&mut gpu) == halves(range.clone().map(gradient)), "{what}");
    }
}

#[test]
fn sgd_moves_the_elements_beyond_32_bits_and_no_others() {
    // Negative rate, decay, momentum, undamped, Nesterov, first.
    let constants = [-0.5, 0.0, 0.5, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0];
    steps("sgd", constants, 1, |gradient, master| {
        (gradient.mul_add(-0.5, master), [gradient, 0.0, 0.0])
    });
}

#[test]
fn adam_moves_the_elements_beyond_32_bits_and_no_others() {
    // Shrink, decay, weight of the mean, beta2, weight of the square, correction, eps, negative step, AMSGrad.
    let constants = [1.0, 0.0, 0.5, 0.0, 0.25, 1.0, 1.0, -1.0, 1.0];
    steps("adam", constants, 3, |gradient, master| {
        let (mean, square) = (0.5 * gradient, 0.25 * gradient * gradient);
        (master - mean / (square.sqrt() + 1.0), [mean, square, square])
    });
}
