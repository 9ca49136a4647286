//! Agreement of a run on another device with the CPU's, and the program that tests it: without the device its tests are ignored, and say
//! so; if `BINADE_REQUIRE` names it they fail.

use super::{digits, run, short};
use binade_example_digits::model::Trains;
use binade_example_digits::record::Run;
use binade_example_digits::{config, train};
use indicatif::ProgressBar;
use libtest_mimic::{Arguments, Failed, Trial};

/// Arguments of a run, and a bound on the relative difference of losses: products are summed in another order, and 16-bit results then
/// round the other way now and then.
pub(crate) type Line = (&'static str, f32);

/// Check of a run within a bound.
pub(crate) type Test<D> = fn(&D, &str, f32);

/// Runs every test on each of its lines, one after the other.
pub(crate) fn main<D, E>(device: &Result<D, E>, names: &[&str], tests: &[(&str, Test<D>, &[Line])])
where
    D: Clone + Send + 'static,
    E: std::error::Error + Clone + Send + 'static,
{
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    let required = std::env::var("BINADE_REQUIRE").unwrap_or_default();
    let is_required = required.split(',').any(|name| names.contains(&name.trim()));
    let absent = device.as_ref().err().filter(|_| !is_required);
    if let Some(reason) = absent {
        eprintln!("training on {} is not tested: {reason}", names[0]);
    }
    let trial = |name: &str, test: Test<D>, (line, share): Line| {
        let device = device.clone();
        let run = move || {
            test(&device?, line, share);
            Ok::<_, Failed>(())
        };
        Trial::test(format!("{name}: {line}"), run).with_ignored_flag(absent.is_some())
    };
    let trials = tests
        .iter()
        .flat_map(|&(name, test, lines)| lines.iter().map(move |line| (name, test, *line)));
    let trials = trials.map(|(name, test, line)| trial(name, test, line)).collect();
    libtest_mimic::run(&arguments, trials).exit();
}

/// Asserts that a run on the device and on the CPU agree: each epoch's mean loss within `share` of the other, equal counts of applied and
/// skipped steps, and the same scale throughout.
pub(crate) fn agree<D: Trains>(device: &D, line: &str, share: f32) {
    let args = short(line);
    let [setting] = config::settings(&args).try_into().unwrap();
    let bar = ProgressBar::hidden();
    let there: Run = train::run(device, &args, setting, &digits(&args), &bar).unwrap();
    let here = run(&args, setting);
    assert_eq!(here.losses.len(), there.losses.len(), "epochs");
    for (a, b) in here.losses.iter().zip(&there.losses) {
        assert!(is_within(*a, *b, share), "losses {:?} and {:?}", here.losses, there.losses);
    }
    assert_eq!(here.outcomes.steps, there.outcomes.steps);
    assert_eq!(here.outcomes.scales, there.outcomes.scales);
    assert_eq!(here.outcomes.first_skip.is_some(), there.outcomes.first_skip.is_some());
}

/// Returns true if the values differ by at most `share` of `a`; false with NaN.
pub(crate) fn is_within(a: f32, b: f32, share: f32) -> bool {
    (a - b).abs() <= share * a.abs()
}
