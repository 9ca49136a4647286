//! Mistakes on the command line: each is refused before anything is trained, with the value and what to do.

use crate::common::{parse, short};
use binade_example_digits::session;
use binade_example_shared::program::not_built;

/// Asserts the first paragraph of clap's refusal of `line`.
fn unread(line: &str, expected: &str) {
    let text = parse(line).expect_err(line).to_string();
    let told: Vec<_> = text.lines().take_while(|line| !line.is_empty()).map(str::trim).collect();
    assert_eq!(told.join(" "), format!("error: {expected}"), "{line}");
}

/// Asserts the session's refusal of `line`, and that nothing ran.
fn unfollowed(line: &str, expected: &str) {
    let mut runs = Vec::new();
    let refused = session::run(&short(line), &mut runs).expect_err(line);
    assert_eq!(refused.to_string(), expected, "{line}");
    assert!(runs.is_empty(), "{line}");
}

/// The variant is built by name, since CI builds the tests with every device.
#[test]
fn a_device_that_was_not_built_tells_the_command_that_builds_it() {
    for (device, is_built) in [("cuda", cfg!(feature = "cuda")), ("wgpu", cfg!(feature = "wgpu"))] {
        let text = not_built("digits", device);
        let command = format!(
            "`cargo run --release --example digits --features {device} -- --device {device}`"
        );
        assert!(text.starts_with(&format!("--device {device}: ")), "{text}");
        assert!(text.contains(&command), "{text}");
        if !is_built {
            unfollowed(&format!("--device {device}"), &text);
        }
    }
}

/// With a driver, `cuda/main.rs` trains on it.
#[cfg(feature = "cuda")]
#[test]
fn a_gpu_that_is_not_there() {
    if let Err(error) = binade_cuda::Cuda::open(0) {
        unfollowed("--device cuda", &format!("--device cuda: {error}"));
    }
}

/// With a driver, `wgpu/main.rs` trains on it.
#[cfg(feature = "wgpu")]
#[test]
fn an_adapter_that_is_not_there() {
    if let Err(error) = binade_wgpu::Wgpu::open() {
        unfollowed("--device wgpu", &format!("--device wgpu: {error}"));
    }
}

/// Values that clap itself refuses by its list or range are in the help.
#[test]
fn values_that_no_argument_takes() {
    const NUMBER: &str = "take a finite number above 0, such as 0.5, or leave it out";
    const SCALE: &str =
        "a loss scale is a power of two from 2^-126 to 2^126, such as 65536 or 2^16";
    const LEVEL: &str =
        "`02` is no opt level; take O0, O1, O2 or O3, with the letter O and not a zero; or all";
    for (argument, value, told) in [
        ("--level <LEVEL>", "02", LEVEL),
        ("--lr <X>", "-1", NUMBER),
        ("--lr <X>", "NaN", NUMBER),
        ("--clip-norm <X>", "0", NUMBER),
        ("--lr <X>", "1e999", NUMBER),
        ("--init-scale <X>", "1000", SCALE),
        ("--init-scale <X>", "2^", SCALE),
        ("--init-scale <X>", "2^-999", SCALE),
        ("--seed <N>", "-1", "invalid digit found in string"),
        ("--growth-interval <N>", "-1", "-1 is not in 1..=4294967295"),
        ("--epochs <N>", "0", "0 is not in 1..=4294967295"),
        ("--batch <N>", "1", "1 is not in 2..=4294967295"),
        ("--accumulate <N>", "0", "0 is not in 1..=64"),
        ("--ranks <N>", "0", "0 is not in 1..=4294967295"),
        ("--inject-overflow <STEP>", "0", "0 is not in 1..18446744073709551615"),
    ] {
        let line = argument.split(' ').next().unwrap_or_default();
        unread(
            &format!("{line} {value}"),
            &format!("invalid value '{value}' for '{argument}': {told}"),
        );
    }
}

#[test]
fn a_scale_where_nothing_is_scaled() {
    for (line, flag) in [
        ("--level O0 --init-scale 1024", "--init-scale"),
        ("--level O3 --growth-interval 10", "--growth-interval"),
        ("--level O0 --loss-scale deepspeed", "--loss-scale"),
        ("--dtype bf16 --init-scale 1024", "--init-scale"),
    ] {
        let text = format!(
            "{flag}: no level asked for scales its loss; leave it out, or take --level O1 or O2 with --dtype f16"
        );
        unfollowed(line, &text);
    }
}

#[test]
fn ranks_that_cannot_be() {
    for (line, told) in [
        (
            "--ranks 3",
            "--ranks 3: the 8 shards of a batch do not go evenly on them; take 1, 2, 4 or 8",
        ),
        (
            "--ranks 2 --sync-bn",
            "--sync-bn: --model mlp has no batch normalisation; take --model cnn, or leave it out",
        ),
        ("--model cnn --sync-bn", "--sync-bn: one device has the whole batch; add --ranks N"),
        (
            "--ranks 2 --device wgpu",
            "--ranks 2: ranks are the CPU's threads or NVIDIA's GPUs; take --device cpu or cuda",
        ),
        (
            "--ranks 2 --device cuda --overlap",
            "--ranks 2: --slices, --overlap and --sync-bn are the CPU's; take --device cpu, or leave them out",
        ),
        (
            "--ranks 2 --model cnn",
            "--ranks 2: each shard would have a batch normalisation of its own; add --sync-bn, or take --model mlp",
        ),
        (
            "--ranks 2 --batch 4",
            "--ranks 2: each of the 8 shards needs an image; take --batch 8 or more",
        ),
        ("--slices", "--slices: there are no ranks to divide among; add --ranks N"),
        ("--overlap", "--overlap: there are no ranks to send to; add --ranks N"),
        (
            "--checkpoint-by-rank run",
            "--checkpoint-by-rank: there are no ranks to write files; add --ranks N",
        ),
        (
            "--ranks 2 --checkpoint-by-rank run --level O1",
            "--checkpoint-by-rank: 2 runs would write to one path; take one --level and one --dtype",
        ),
        (
            "--ranks 2 --checkpoint-by-rank run --level O0 --unwatched",
            "--checkpoint-by-rank: a checkpoint begins with a step's outcome; leave --unwatched out",
        ),
    ] {
        unfollowed(line, told);
    }
}

#[test]
fn a_step_or_a_batch_beyond_the_images() {
    for (line, told) in [
        ("--inject-overflow 91", "a run has 90 steps; take 1 to 90, or more --epochs"),
        (
            "--accumulate 2 --inject-overflow 91",
            "a run has 46 steps; take 1 to 46, or more --epochs",
        ),
        ("--batch 1438", "there are 1437 images to train on; take 2 to 1437"),
    ] {
        let words: Vec<_> = line.split(' ').collect();
        let argument = words[words.len() - 2..].join(" ");
        unfollowed(line, &format!("{argument}: {told}"));
    }
}
