//! Tests of training on a device, which may be absent: ignored then, or failed where `BINADE_REQUIRE` names it.

#[cfg(feature = "program")]
use crate::program::{DeviceKind, OnDevice, Result as Outcome, Trains, open};
use libtest_mimic::{Arguments, Failed, Trial};
use std::fmt::Display;

/// Arguments of a run, and a bound on the relative difference of losses: products are summed in another order, and 16-bit results then
/// round the other way now and then.
pub type Line = (&'static str, f32);

/// Check of a run within a bound.
pub type Test<D> = fn(&D, &str, f32);

/// Returns every test on each of its lines. Without the device they are ignored, and say so; if `BINADE_REQUIRE` has one of the
/// device's `names` they fail.
pub fn trials<D, E>(
    device: &Result<D, E>,
    names: &[&str],
    tests: &[(&str, Test<D>, &[Line])],
) -> Vec<Trial>
where
    D: Clone + Send + 'static,
    E: Display + Clone + Send + 'static,
{
    let required = std::env::var("BINADE_REQUIRE").unwrap_or_default();
    let is_required = required.split(',').any(|name| names.contains(&name.trim()));
    let absent = device.as_ref().err().filter(|_| !is_required);
    if let Some(reason) = absent {
        eprintln!("training on {} is not tested: {}", names[0], reason);
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
    trials.map(|(name, test, line)| trial(name, test, line)).collect()
}

/// Returns the test of a program on CUDA and by wgpu, on each of its lines.
#[cfg(feature = "program")]
pub fn on_devices(test: Test<DeviceKind>, lines: &[Line]) -> Vec<Trial> {
    /// Work that only asks whether the device is there.
    struct Nothing;

    impl OnDevice for Nothing {
        fn on<D: Trains>(self, _: &D) -> Outcome<()> {
            Ok(())
        }
    }

    let devices: [(_, &str, &[&str]); 2] = [
        (DeviceKind::Cuda, "cuda_agrees_with_the_cpu", &["cuda", "ptx"]),
        (DeviceKind::Wgpu, "wgpu_agrees_with_the_cpu", &["wgpu"]),
    ];
    let each = devices.into_iter().flat_map(|(kind, name, names)| {
        let opened = open(kind, "", Nothing).map(|()| kind).map_err(|error| error.to_string());
        trials(&opened, names, &[(name, test, lines)])
    });
    each.collect()
}

/// Runs the tests one after the other, and ends the program.
pub fn main(trials: Vec<Trial>) -> ! {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    libtest_mimic::run(&arguments, trials).exit()
}

/// Returns true if the values differ by at most `share` of `a`; false with NaN.
pub fn is_within(a: f32, b: f32, share: f32) -> bool {
    (a - b).abs() <= share * a.abs()
}
