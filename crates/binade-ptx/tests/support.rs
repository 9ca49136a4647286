//! Fixtures and typed memory, shared by the test files.

use binade_ptx::{Arg, Capability, Fault, Gpu, Module, Report};

/// Fixtures, compiled from `kernels/faults/*.cu` by `cargo xtask kernels`.
pub(crate) const FIXTURES: [(&str, &str); 7] = [
    ("scale", include_str!("fixtures/scale.ptx")),
    ("block_sum", include_str!("fixtures/block_sum.ptx")),
    ("warp_sum", include_str!("fixtures/warp_sum.ptx")),
    ("unscale", include_str!("fixtures/unscale.ptx")),
    ("cast", include_str!("fixtures/cast.ptx")),
    ("cast_native", include_str!("fixtures/cast_native.ptx")),
    ("stage", include_str!("fixtures/stage.ptx")),
];

/// Lengths around a warp's and a block's edges.
pub(crate) const LENGTHS: [u32; 6] = [1, 31, 32, 33, 127, 1000];

pub(crate) fn fixture(name: &str) -> Module {
    let (_, text) = FIXTURES.into_iter().find(|(file, _)| *file == name).unwrap();
    Module::parse(text).unwrap()
}

pub(crate) fn gpu() -> Gpu {
    Gpu::new(Capability::SM_80)
}

pub(crate) fn upload(gpu: &mut Gpu, values: &[f32]) -> u64 {
    let pointer = gpu.alloc(values.len() * 4);
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    gpu.write(pointer, &bytes).unwrap();
    pointer
}

pub(crate) fn words(gpu: &mut Gpu, pointer: u64, count: u32) -> Vec<u32> {
    let bytes = gpu.read(pointer, count as usize * 4).unwrap();
    bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

pub(crate) fn bits(values: impl IntoIterator<Item = f32>) -> Vec<u32> {
    values.into_iter().map(f32::to_bits).collect()
}

/// Returns finite numbers of many magnitudes, subnormals among them, the same on every run.
pub(crate) fn numbers(count: u32) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(u64::from(count));
    let finite =
        std::iter::repeat_with(|| f32::from_bits(random.u32(..))).filter(|x| x.is_finite());
    finite.take(count as usize).collect()
}

/// Returns numbers from -0.25 to 0.75, whose sums round.
pub(crate) fn near_one(count: u32) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(u64::from(count));
    (0..count).map(|_| random.f32() - 0.25).collect()
}

/// Returns the report of a launch that must have one.
pub(crate) fn report<T: std::fmt::Debug>(outcome: Result<T, Fault>) -> Report {
    match outcome.unwrap_err() {
        Fault::Kernel(report) => *report,
        Fault::Call(told) => panic!("{told}"),
    }
}

/// Runs `block_sum` or a broken twin: one sum for each 128 numbers.
pub(crate) fn block_sum(gpu: &mut Gpu, entry: &str, x: &[f32]) -> Result<Vec<u32>, Fault> {
    sums(gpu, "block_sum", entry, x, 128, 128)
}

/// Runs `warp_sum` or its broken twin, 64 threads a block: one sum for each 32 numbers.
pub(crate) fn warp_sum(gpu: &mut Gpu, entry: &str, x: &[f32]) -> Result<Vec<u32>, Fault> {
    sums(gpu, "warp_sum", entry, x, 64, 32)
}

fn sums(
    gpu: &mut Gpu,
    file: &str,
    entry: &str,
    x: &[f32],
    block: u32,
    each: u32,
) -> Result<Vec<u32>, Fault> {
    let n = u32::try_from(x.len()).unwrap();
    let grid = n.div_ceil(block);
    let (x, y) = (upload(gpu, x), gpu.alloc((grid * block / each * 4) as usize));
    gpu.launch(&fixture(file), entry, grid, block, 0, &[Arg::U64(x), Arg::U64(y), Arg::U32(n)])?;
    Ok(words(gpu, y, grid * block / each))
}

/// Runs `unscale` or a variant on two blocks of 64 threads. Returns the gradients, and 1 if one was not finite.
pub(crate) fn unscale(
    gpu: &mut Gpu,
    entry: &str,
    x: &[f32],
    inverse: f32,
) -> Result<(Vec<u32>, u32), Fault> {
    let n = u32::try_from(x.len()).unwrap();
    let (x, found) = (upload(gpu, x), upload(gpu, &[0.0]));
    let args = [Arg::U64(x), Arg::F32(inverse), Arg::U64(found), Arg::U32(n)];
    gpu.launch(&fixture("unscale"), entry, 2, 64, 0, &args)?;
    Ok((words(gpu, x, n), words(gpu, found, 1)[0]))
}

/// Runs `scale` or its broken twin, 32 threads a block.
pub(crate) fn scale(gpu: &mut Gpu, entry: &str, x: &[f32]) -> Result<Vec<u32>, Fault> {
    let n = u32::try_from(x.len()).unwrap();
    let (x, y) = (upload(gpu, x), gpu.alloc(x.len() * 4));
    let args = [Arg::U64(x), Arg::U64(y), Arg::F32(0.3), Arg::U32(n)];
    gpu.launch(&fixture("scale"), entry, n / 32 + 1, 32, 0, &args)?;
    Ok(words(gpu, y, n))
}

/// Runs `stage` or its broken twin: each group of four numbers of a block of 64, last group first.
pub(crate) fn stage(gpu: &mut Gpu, entry: &str, x: &[f32]) -> Result<Vec<u32>, Fault> {
    let blocks = u32::try_from(x.len() / 256).unwrap();
    let (x, y) = (upload(gpu, x), gpu.alloc(x.len() * 4));
    gpu.launch(&fixture("stage"), entry, blocks, 64, 0, &[Arg::U64(x), Arg::U64(y)])?;
    Ok(words(gpu, y, blocks * 256))
}

/// Returns PTX with an entry of two parameters and this body, which begins at line 6.
pub(crate) fn kernel(body: &str) -> String {
    let head = ".version 9.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 x, .param .u32 n)\n{";
    let registers =
        ".reg .pred %p<4>; .reg .b16 %rs<4>; .reg .f32 %f<4>; .reg .b32 %r<9>; .reg .b64 %rd<4>;";
    format!("{head} {registers}\n{body}\nret;\n}}\n")
}

/// Runs a body of one block, with the lane in `%r7`, that leaves a word in `%r1`. Returns each thread's word.
pub(crate) fn run(body: &str, threads: u32) -> Result<Vec<u32>, Fault> {
    let store = "ld.param.u64 %rd1, [x]; mov.u32 %r8, %tid.x; mul.wide.u32 %rd2, %r8, 4;\nadd.s64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r1;";
    let text = kernel(&format!("mov.u32 %r7, %laneid;\n{body}\n{store}")).replace("sm_75", "sm_80");
    let (module, mut gpu) = (Module::parse(&text).unwrap(), gpu());
    let x = gpu.alloc(4 * threads as usize);
    gpu.launch(&module, "k", 1, threads, 0, &[Arg::U64(x), Arg::U32(0)])?;
    Ok(words(&mut gpu, x, threads))
}

/// Returns the words of one warp.
pub(crate) fn lanes(body: &str) -> Vec<u32> {
    run(body, 32).unwrap()
}
