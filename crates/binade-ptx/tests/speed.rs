//! Speed of the interpreter. This is no check; run it by hand: `cargo test --release -p binade-ptx --test all speed -- --ignored
//! --nocapture`.

use std::time::Instant;

use crate::support::{fixture, gpu, near_one, upload};
use binade_ptx::{Arg, Gpu};

const BLOCKS: u32 = 8192;
const THREADS: u32 = 128;

/// Returns the number of warp instructions that one block executes.
fn steps(run: impl Fn(&mut Gpu) -> bool) -> u64 {
    let (mut enough, mut low) = (1_u64 << 16, 0);
    while enough - low > 1 {
        let middle = low.midpoint(enough);
        let mut gpu = gpu();
        gpu.limit_steps(middle);
        (enough, low) = if run(&mut gpu) { (middle, low) } else { (enough, middle) };
    }
    enough
}

fn measure(name: &str, entry: &str, args: impl Fn(&mut Gpu, u32) -> Vec<Arg>) {
    let module = fixture(name);
    let launch = |gpu: &mut Gpu, blocks: u32| {
        let args = args(gpu, blocks * THREADS);
        let start = Instant::now();
        let is_done = gpu.launch(&module, entry, blocks, THREADS, 0, &args).is_ok();
        (is_done, start.elapsed())
    };
    let steps = steps(|gpu| launch(gpu, 1).0);
    let (is_done, time) = launch(&mut gpu(), BLOCKS);
    assert!(is_done);
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    let rate = (steps * 32 * u64::from(BLOCKS)) as f64 / time.as_secs_f64() / 1e6;
    println!("{entry}: {rate:.0} M lane-instructions/s, {time:?}");
}

#[test]
#[ignore = "a figure, not a check"]
fn lane_instructions_a_second() {
    measure("scale", "scale", |gpu, n| {
        let (x, y) = (upload(gpu, &near_one(n)), gpu.alloc(n as usize * 4));
        vec![Arg::Ptr(x), Arg::Ptr(y), Arg::F32(0.5), Arg::U32(n)]
    });
    measure("block_sum", "block_sum", |gpu, n| {
        let (x, y) = (upload(gpu, &near_one(n)), gpu.alloc(n as usize * 4));
        vec![Arg::Ptr(x), Arg::Ptr(y), Arg::U32(n)]
    });
    measure("cast", "cast_f32_bf16", |gpu, n| {
        let (x, y) = (upload(gpu, &near_one(n)), gpu.alloc(n as usize * 2));
        vec![Arg::Ptr(x), Arg::Ptr(y), Arg::U32(n)]
    });
}
