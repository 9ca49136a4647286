//! Mistakes on the command line: each is refused before anything is trained, with the value and what to do.

use crate::common::{PICTURES, parse, small};
use binade::OptLevel;
use binade::grad_scaler::LossScale;
use binade_example_imagenet::args::Sizes;
use binade_example_imagenet::model::Arch;
use binade_example_imagenet::session;

/// Asserts the session's refusal of `line`.
fn unfollowed(line: &str, expected: &str) {
    let refused = session::train(&small(line)).expect_err(line).to_string();
    assert!(refused.contains(expected), "{line}: {refused}");
}

#[test]
fn the_flags_of_main_amp_are_read_as_it_reads_them() {
    let args = parse(
        "-a resnet50 -b 224 -j 5 -p 7 --opt-level O2 --keep-batchnorm-fp32 True --loss-scale 128.0 --wd 0.5 --channels-last DIR",
    );
    let args = args.unwrap();
    assert_eq!((args.arch, args.opt_level, args.workers), (Arch::Resnet50, OptLevel::O2, 5));
    assert_eq!(
        (args.keep_batchnorm_fp32, args.print_freq, args.channels_last),
        (Some(true), 7, true)
    );
    assert_eq!((args.loss_scale, args.weight_decay), (Some(LossScale::fixed(128.0).unwrap()), 0.5));
    assert_eq!(args.sizes(), Sizes { epochs: 90, batch: 224, image: 224, width: 64 });
    let args = parse("--loss-scale dynamic --ranks 2 --sync_bn").unwrap();
    assert_eq!((args.loss_scale, args.sync_bn), (Some(LossScale::dynamic()), true));
    assert_eq!(args.sizes(), Sizes { epochs: 8, batch: 64, image: 32, width: 16 });
}

#[test]
fn values_that_no_argument_takes() {
    for (argument, value, told) in [
        ("--keep-batchnorm-fp32 <BOOL>", "2", "take True or False"),
        (
            "--loss-scale <SCALE>",
            "100",
            "a loss scale is a power of two from 2^-126 to 2^126, such as 65536 or 2^16; or dynamic",
        ),
        ("--momentum <X>", "1", "take a number from 0 to below 1, such as 0.9"),
        ("--weight-decay <X>", "NaN", "take 0 or a finite number above it, such as 0.0001"),
        ("--image-size <N>", "7", "7 is not in 8..=4096"),
        ("--batch-size <N>", "1", "1 is not in 2..=65536"),
    ] {
        let line = format!("{} {value}", argument.split(' ').next().unwrap());
        let refused = parse(&line).expect_err(&line).to_string();
        let told = format!("error: invalid value '{value}' for '{argument}': {told}");
        assert_eq!(refused.lines().next(), Some(&*told), "{line}");
    }
    for line in ["--sync-bn", "--generate a b", "--pretrained a --resume b"] {
        parse(line).expect_err(line);
    }
}

#[test]
fn arguments_that_do_not_go_together() {
    unfollowed(
        "--ranks 2 --device wgpu",
        "--ranks 2: ranks are the CPU's threads; take --device cpu",
    );
    unfollowed(
        "--batch-size 20 --ranks 2",
        "--batch-size 20: a step has 40 images on all ranks, and there are 32 to train on; take 2 to 16",
    );
    unfollowed(
        "--batch-size 2 --ranks 20",
        "--batch-size 2: a step has 40 images on all ranks, and there are 32 to train on; each rank needs 2, so put more in train",
    );
    unfollowed("--evaluate", "--evaluate: there is no model to validate; add --resume FILE");
    for (flag, what) in
        [("--checkpoint", "trains nothing to save"), ("--svg", "has no curve to draw")]
    {
        let told = format!("{flag}: --evaluate {what}; leave one of them out");
        unfollowed(&format!("--evaluate --resume a.ckpt {flag} a"), &told);
    }
    unfollowed("--checkpoint none/a.ckpt", "--checkpoint: there is no folder none; make it");
    unfollowed("--svg none/a.svg", "--svg none/a.svg: ");
    unfollowed("--resume gone.ckpt", "--resume gone.ckpt: ");
    unfollowed("--opt-level O1 --keep-batchnorm-fp32 True", "O1");
}

#[test]
fn a_folder_that_has_files_is_not_written_over() {
    let args = binade_example_imagenet::args::Args {
        generate: Some(PICTURES.clone()),
        ..parse("").unwrap()
    };
    let refused = session::run(&args).unwrap_err().to_string();
    assert!(
        refused.ends_with("it has files already; name a folder that is not there, or empty"),
        "{refused}"
    );
}
