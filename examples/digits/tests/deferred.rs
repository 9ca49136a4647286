//! A run on the device that runs late: nothing is read while it trains, and every figure is the CPU's.

mod common;

use binade_deferred::Deferred;
use binade_example_digits::config;
use binade_example_digits::train;
use common::{digits, only, short};
use indicatif::ProgressBar;

#[test]
fn no_step_reads_anything_and_the_figures_are_the_cpus() {
    for level in ["O1 --dtype f16", "O2 --dtype f16", "O2 --dtype bf16"] {
        let line = format!("--level {level} --inject-overflow 3 --clip-norm 1 --accumulate 2");
        let args = short(&line);
        let (device, digits) = (Deferred::new(), digits(&args));
        let setting = config::settings(&args)[0];
        let late =
            train::run(&device, &args, setting, &digits, false, &ProgressBar::hidden()).unwrap();
        let reads = u64::from(args.epochs) + 2;
        assert_eq!(device.reads(), reads, "a loss an epoch, the test's logits, the final scale");

        let now = only(&line);
        assert_eq!(late.steps, now.steps, "{level}");
        assert_eq!((late.accuracy, late.losses), (now.accuracy, now.losses), "{level}");
        assert_eq!(late.scale.last, now.scale.last, "{level}");
        assert_eq!(late.steps.skipped, 1, "{level}");
    }
}
