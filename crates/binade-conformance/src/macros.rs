//! `conformance_tests!` and `conformance_main!`, which make tests of the kit's cases in whatever crate they are called.

/// Makes a module `$name` of tests that hold `$subject` to the kit: one for each operation, so that a test that fails says
/// where, and `something_passes`, which fails where the subject has nothing at all that passes.
///
/// ```
/// # use binade_conformance::{Result, Subject, SubjectError};
/// # use binade_conformance::core::{DType, HostTensor, HostDevice};
/// # struct MyDevice;
/// # impl Subject for MyDevice {
/// #     type Handle = HostDevice<HostTensor>;
/// #     fn from_bits(&self, bits: &[u8], dtype: DType, _: &[usize]) -> Result<HostTensor> {
/// #         if dtype != DType::F32 {
/// #             return Err(SubjectError::unsupported("a tensor of sixteen bits from bits"));
/// #         }
/// #         let (elements, _) = bits.as_chunks();
/// #         let values: Vec<f32> = elements.iter().map(|bits| f32::from_le_bytes(*bits)).collect();
/// #         Ok(HostTensor::from(values))
/// #     }
/// #     fn to_bits(&self, tensor: &HostTensor) -> Result<Vec<u8>> {
/// #         Ok(tensor.to_f32().iter().flat_map(|x| x.to_le_bytes()).collect())
/// #     }
/// # }
/// binade_conformance::conformance_tests!(mine, MyDevice, suites = [Storage]);
///
/// binade_conformance::conformance_tests!(
///     only_the_scaler,
///     MyDevice,
///     suites = [Storage, GradScaler],
///     known = [("unscale/bf16/every_nan_is_counted", "our bf16 has one NaN")],
///     excused = [("iterate/", "there is nothing here that stays on a device")],
///     required = std::env::var_os("CI").is_some(),
/// );
/// ```
///
/// The options may be left out, and stand in this order:
///
/// * `suites`: traits, such as `GradScaler` or `Gelu`, `Ops` for all operations, and `Storage`, `Scaler` and `Convergence`, which are
///   no traits; without it, every one. The README has the list. Another name does not compile.
/// * `known`: failures that are known, as [`Runner::known`](crate::Runner::known) takes them.
/// * `excused`: skips that are let pass where they are failures, as [`Runner::excuse`](crate::Runner::excuse) takes them.
/// * `required`: whether a skip is a failure. Where it is none, it is told on the standard error, in a test that passes too.
///
/// A test of which every case is skipped, and not excused, fails: `cargo test` would call it `ok`, although nothing ran. Leave its
/// suite out, or take [`conformance_main!`](crate::conformance_main), where such a test is `ignored`.
///
/// `$subject` is an expression, and evaluated in each test by itself. A device that is opened once is a static:
/// `*DEVICE`, of `static DEVICE: LazyLock<MyDevice>`. Tests go by the environment as [`Runner::from_env`](crate::Runner::from_env)
/// does. Nothing but this crate has to be imported.
#[macro_export]
macro_rules! conformance_tests {
    ($($given:tt)*) => { $crate::__conformance! { __conformance_module ($) $($given)* } };
}

/// Makes the `main` of a test target that has `harness = false`: the tests of [`conformance_tests!`](crate::conformance_tests), of the
/// same options, of which one whose every case is skipped is `ignored`, with the reason.
///
/// It takes the feature `harness`, which brings `libtest-mimic`.
///
/// ```toml
/// [[test]]
/// name = "kit"
/// harness = false
/// ```
///
/// ```
/// # use binade_conformance::{Result, Subject, SubjectError};
/// # use binade_conformance::core::{DType, HostTensor, HostDevice};
/// # struct MyDevice;
/// # impl Subject for MyDevice {
/// #     type Handle = HostDevice<HostTensor>;
/// #     fn from_bits(&self, bits: &[u8], dtype: DType, _: &[usize]) -> Result<HostTensor> {
/// #         if dtype != DType::F32 { return Err(SubjectError::unsupported(dtype.name())); }
/// #         Ok(bits.as_chunks().0.iter().map(|bits| f32::from_le_bytes(*bits)).collect::<Vec<f32>>().into())
/// #     }
/// #     fn to_bits(&self, tensor: &HostTensor) -> Result<Vec<u8>> {
/// #         Ok(tensor.to_f32().iter().flat_map(|x| x.to_le_bytes()).collect())
/// #     }
/// # }
/// binade_conformance::conformance_main!(mine, MyDevice);
/// ```
#[cfg(feature = "harness")]
#[macro_export]
macro_rules! conformance_main {
    ($($given:tt)*) => { $crate::__conformance! { __conformance_main ($) $($given)* } };
}

/// Reads the options, and calls `$then` with them; without suites the list is empty.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance {
    (
        $then:ident $dollar:tt $name:ident, $subject:expr
        $(, suites = [$($suite:ident),+ $(,)?])?
        $(, known = [$($known:tt),* $(,)?])?
        $(, excused = [$($excused:tt),* $(,)?])?
        $(, required = $required:expr)?
        $(,)?
    ) => {
        $crate::$then! {
            $dollar $name ($subject) [$($($suite)+)?] [$($($known)*)?] [$($($excused)*)?] [$($required)?]
        }
        $($($crate::__conformance_suite!($suite);)+)?
    };
}

/// Refuses a name that is no suite, when it is compiled.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_suite {
    ($suite:ident) => {
        const _: () = ::core::assert!(
            $crate::testing::is_suite(::core::stringify!($suite)),
            ::core::concat!(
                "`", ::core::stringify!($suite),
                "` is no suite: name a trait such as `GradScaler`, or `Ops`, `Storage`, `Scaler` or `Convergence`"
            ),
        );
    };
}

/// A runner that goes by the environment and these lists.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_runner {
    ([$($known:tt)*] [$($excused:tt)*] [$($required:expr)?]) => {{
        let runner = $crate::Runner::from_env();
        $(let runner = runner.known $known;)*
        $(let runner = runner.excuse $excused;)*
        $(let runner = if $required { runner.require_all() } else { runner };)?
        runner
    }};
}

/// The whole target.
#[cfg(feature = "harness")]
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_main {
    (
        $dollar:tt $name:ident ($subject:expr) [$($suite:ident)*] $known:tt $excused:tt $required:tt
    ) => {
        fn main() -> ::std::process::ExitCode {
            $crate::testing::main(
                ::core::stringify!($name),
                || $crate::__conformance_runner!($known $excused $required),
                || $subject,
                &[$(::core::stringify!($suite)),*],
            )
        }

        /// Where the manifest leaves `harness = false` out, `main` does not run.
        #[test]
        fn the_target_of_conformance_main_has_harness_false_in_its_manifest() {
            ::core::panic!("`conformance_main!` does not run: add `harness = false` to this target's `[[test]]`");
        }
    };
}

/// The module: a test for each group of the suites.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_module {
    (
        $dollar:tt $name:ident ($subject:expr) [$($suite:ident)*] $known:tt $excused:tt $required:tt
    ) => {
        #[cfg(test)]
        mod $name {
            #[allow(unused_imports, reason = "the subject may name nothing from outside")]
            use super::*;

            fn __runner() -> $crate::Runner {
                $crate::__conformance_runner!($known $excused $required)
            }

            $crate::__conformance_choice! { $dollar [$($suite)*] }
            $crate::for_each_group! { [$crate::__conformance_each] ($subject) }

            #[test]
            fn something_passes() {
                let groups = $crate::testing::groups(&[$(::core::stringify!($suite)),*]);
                $crate::testing::something(&__runner(), &$subject, &groups);
            }
        }
    };
}

/// Defines `__choice!`, which keeps a test where one of its group's suites was asked for. A macro that can compare names has to be
/// made of them; `$dollar` is the sign that a macro inside a macro cannot write.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_choice {
    (($dollar:tt) []) => {
        macro_rules! __choice {
            ($dollar suites:tt $dollar($dollar test:tt)*) => { $dollar($dollar test)* };
        }
    };
    (($dollar:tt) [$($suite:ident)+]) => {
        macro_rules! __choice {
            $(
                ([$suite] $dollar($dollar test:tt)*) => { $dollar($dollar test)* };
                ([$suite $dollar narrower:ident] $dollar($dollar test:tt)*) => { $dollar($dollar test)* };
                ([$dollar wider:ident $suite] $dollar($dollar test:tt)*) => { $dollar($dollar test)* };
            )+
            ($dollar suites:tt $dollar($dollar test:tt)*) => {};
        }
    };
}

/// The tests, a group each.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_each {
    ({ ($subject:expr) } $($(#[$doc:meta])* [$($suite:ident)+] $group:ident $name:ident)*) => {$(
        __choice! { [$($suite)+]
            #[test]
            fn $name() {
                let test = ::core::concat!(::core::module_path!(), "::", ::core::stringify!($name));
                $crate::testing::group(test, &__runner(), &$subject, $crate::CaseGroup::$group);
            }
        }
    )*};
}
