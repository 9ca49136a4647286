//! `sgd` and `adam` move what is far, and count what they move.

use super::*;
use binade_ptx::{Arg, Capability};

/// Update rule of the host: from gradient and master, the new master and the new moments.
type Step = fn(f32, f32) -> (f32, [f32; 3]);

/// Flag `COPY` of `step.cuh`.
const COPY: u32 = 1;

/// Returns two `StepRow`s of `step.cuh`: gradient, parameter, master, moments.
fn step_rows(addresses: [u64; 6]) -> Vec<u8> {
    let row = |addresses: [u64; 6], len, first_chunk| {
        [longs(addresses), longs([0, len, first_chunk, 0]), words([0, F16, F16, COPY, 0, 0])]
            .concat()
    };
    [row([0; 6], SHORT, 0), row(addresses, LEN, 1)].concat()
}

/// Runs `entry` around each edge, with counts and without, with moments that begin as zeros, against `step`.
fn steps(entry: &str, constants: [f32; 9], moments: usize, step: Step) {
    let module = module(entry);
    run(&module, entry, false, constants, moments, step);
    run(&module, entry, true, constants, moments, step);
}

fn run(
    module: &Module,
    entry: &str,
    counts_moves: bool,
    constants: [f32; 9],
    moments: usize,
    step: Step,
) {
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
        let [rows, constants, found, owed] = tables.map(|bytes| Arg::U64(upload(&mut gpu, &bytes)));
        let chunks = [Arg::U32(2), Arg::U64(from(edge)), Arg::U64(CHUNK)];
        let counts = upload(&mut gpu, &[0; 16]);
        let told = if counts_moves { Arg::U64(counts) } else { Arg::U64(0) };
        let args = [&[rows], &chunks[..], &[constants, found, owed, told]].concat();
        gpu.launch(module, entry, BLOCKS, THREADS, 0, &args).unwrap();

        let after = range.clone().map(|i| step(gradient(i), master(i)));
        let what = format!("{entry} around {edge}, {offset} off");
        assert!(masters.read(&mut gpu) == floats(after.clone().map(|(x, _)| x)), "{what}");
        assert!(parameters.read(&mut gpu) == halves(after.clone().map(|(x, _)| x)), "{what}");
        for (m, window) in kept.iter().enumerate() {
            assert!(window.read(&mut gpu) == floats(after.clone().map(|(_, x)| x[m])), "{what}");
        }
        assert!(gradients.read(&mut gpu) == halves(range.clone().map(gradient)), "{what}");
        let moved =
            range.clone().filter(|i| step(gradient(*i), master(*i)).0 != master(*i)).count();
        let counted = if counts_moves { moved as u64 } else { 0 };
        assert_eq!(gpu.read(counts, 16).unwrap(), longs([0, counted]), "{what}");
    }
}

#[test]
fn sgd_moves_the_elements_beyond_32_bits_and_no_others() {
    // First, negative rate, decay, momentum, undamped, Nesterov.
    let constants = [1.0, -0.5, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0, 0.0];
    steps("sgd", constants, 1, |gradient, master| {
        (gradient.mul_add(-0.5, master), [gradient, 0.0, 0.0])
    });
}

#[test]
fn adam_moves_the_elements_beyond_32_bits_and_no_others() {
    // Correction, negative step, shrink, decay, weight of the mean, beta2, weight of the square, eps, AMSGrad.
    let constants = [1.0, -1.0, 1.0, 0.0, 0.5, 0.0, 0.25, 1.0, 1.0];
    steps("adam", constants, 3, |gradient, master| {
        let (mean, square) = (0.5 * gradient, 0.25 * gradient * gradient);
        (master - mean / (square.sqrt() + 1.0), [mean, square, square])
    });
}
