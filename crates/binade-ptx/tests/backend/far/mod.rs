//! Elements beyond 2^31 and 2^32 of one row. Only the chunks around them are launched: the row's addresses begin far before the
//! memory that is there, which holds exactly those chunks, so that any other access is a fault.

mod findings;
mod steps;
mod sums;

use crate::backend::committed;
use binade_ptx::{Gpu, Module};
use std::ops::Range;

/// Elements of a chunk, as in the backend's shortest.
const CHUNK: u64 = 4096;

/// Elements of the far row; its last chunk ends early, as tails do.
const LEN: u64 = (1 << 32) + CHUNK + 904;

/// Indices at which 32 bits run out, signed and unsigned.
const EDGES: [u64; 2] = [1 << 31, 1 << 32];

/// Elements by which addresses are misaligned.
const OFFSETS: [u64; 2] = [0, 1];

const F16: u32 = 1;
const F32: u32 = 2;

/// Returns the indices of three chunks around an edge: one before it and two behind, cut at the row's end.
fn around(edge: u64) -> Range<u64> {
    edge - CHUNK..(edge + 2 * CHUNK).min(LEN)
}

/// Elements of the row before the far one, which is a chunk of its own and is not launched.
const SHORT: u64 = 5;

/// Returns the number of the first chunk of [`around`], behind the short row's.
fn from(edge: u64) -> u64 {
    1 + around(edge).start / CHUNK
}

const BLOCKS: u32 = 3;
const THREADS: u32 = 256;

fn module(name: &str) -> Module {
    let (_, text) = committed().into_iter().find(|(file, _)| file == name).unwrap();
    Module::parse(&text).unwrap()
}

fn upload(gpu: &mut Gpu, bytes: &[u8]) -> u64 {
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

/// Part of an array: memory for the elements of a range, and the address of the whole array's element 0.
struct Window {
    memory: u64,
    bytes: usize,
    whole: u64,
}

impl Window {
    fn new(gpu: &mut Gpu, range: &Range<u64>, offset: u64, bytes: &[u8]) -> Self {
        let each = bytes.len() as u64 / (range.end - range.start);
        let before = vec![0xff; usize::try_from(offset * each).unwrap()];
        let memory = upload(gpu, &[&before[..], bytes].concat()) + offset * each;
        Self { memory, bytes: bytes.len(), whole: memory - range.start * each }
    }

    fn read(&self, gpu: &mut Gpu) -> Vec<u8> {
        gpu.read(self.memory, self.bytes).unwrap()
    }
}

/// Returns `Owed` of `state.cuh` with nothing to unscale and nothing to clip.
fn owed() -> Vec<u8> {
    [floats([1.0, 1.0, 0.0, 0.0]), longs([0])].concat()
}

/// Returns a small number, exact in sixteen bits, that differs from those around it.
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
