//! `conformance_tests!` and `conformance_main!`, which make tests of the kit's cases in whatever crate they are called.

/// Makes a module `$name` of tests that hold `$subject` to the kit: one for each operation, so that a test that fails says
/// where, and `something_passes`, which fails where the subject has nothing at all that passes.
///
/// ```
/// # use binade_conformance::{Arithmetic, Refusal, Subject};
/// # use binade_conformance::core::DType;
/// # struct MyDevice;
/// # impl Subject for MyDevice {
/// #     type Tensor = Vec<u8>;
/// #     fn name(&self) -> &str { "mine" }
/// #     fn arithmetic(&self) -> Arithmetic { Arithmetic::IEEE }
/// #     fn from_bits(&self, bits: &[u8], _: DType, _: &[usize]) -> Result<Vec<u8>, Refusal> { Ok(bits.to_vec()) }
/// #     fn to_bits(&self, tensor: &Vec<u8>) -> Result<Vec<u8>, Refusal> { Ok(tensor.clone()) }
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
/// * `suites`: names of [`Suite`](crate::Suite), and `Ops` for all of [`Suite::OPS`](crate::Suite::OPS); without it, every one.
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
    ($($given:tt)*) => { $crate::__conformance! { __conformance_module $($given)* } };
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
/// # use binade_conformance::{Arithmetic, Refusal, Subject};
/// # use binade_conformance::core::DType;
/// # struct MyDevice;
/// # impl Subject for MyDevice {
/// #     type Tensor = Vec<u8>;
/// #     fn name(&self) -> &str { "mine" }
/// #     fn arithmetic(&self) -> Arithmetic { Arithmetic::IEEE }
/// #     fn from_bits(&self, bits: &[u8], _: DType, _: &[usize]) -> Result<Vec<u8>, Refusal> { Ok(bits.to_vec()) }
/// #     fn to_bits(&self, tensor: &Vec<u8>) -> Result<Vec<u8>, Refusal> { Ok(tensor.clone()) }
/// # }
/// binade_conformance::conformance_main!(mine, MyDevice);
/// ```
#[cfg(feature = "harness")]
#[macro_export]
macro_rules! conformance_main {
    ($($given:tt)*) => { $crate::__conformance! { __conformance_main $($given)* } };
}

/// Reads the options, and calls `$then` with what they say.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance {
    (
        $then:ident $name:ident, $subject:expr, suites = [$($suite:ident),+ $(,)?]
        $(, known = [$($known:tt),* $(,)?])?
        $(, excused = [$($excused:tt),* $(,)?])?
        $(, required = $required:expr)?
        $(,)?
    ) => {
        $crate::__conformance_suites! {
            $then
            { $name ($subject) [$($($known)*)?] [$($($excused)*)?] [$($required)?] }
            [] $($suite)+
        }
    };
    (
        $then:ident $name:ident, $subject:expr
        $(, known = [$($known:tt),* $(,)?])?
        $(, excused = [$($excused:tt),* $(,)?])?
        $(, required = $required:expr)?
        $(,)?
    ) => {
        $crate::__conformance_suites! {
            $then
            { $name ($subject) [$($($known)*)?] [$($($excused)*)?] [$($required)?] }
            []
            Storage Autocast StochasticCast GradScaler GradOps ClipGroups MasterWeights Scaler Convergence Ops
        }
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

/// The whole target, once the operations of all suites are collected.
#[cfg(feature = "harness")]
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_main {
    (
        { $name:ident ($subject:expr) $known:tt $excused:tt $required:tt }
        [$(($test:ident $operation:ident))*]
    ) => {
        fn main() -> ::std::process::ExitCode {
            $crate::testing::main(
                ::core::stringify!($name),
                || $crate::__conformance_runner!($known $excused $required),
                || $subject,
                &[$($crate::Operation::$operation),*],
            )
        }

        /// Where the manifest leaves `harness = false` out, `main` does not run.
        #[test]
        fn the_target_of_conformance_main_has_harness_false_in_its_manifest() {
            ::core::panic!("`conformance_main!` does not run: add `harness = false` to this target's `[[test]]`");
        }
    };
}

/// The module, once the operations of all suites are collected.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_module {
    (
        { $name:ident ($subject:expr) $known:tt $excused:tt $required:tt }
        [$(($test:ident $operation:ident))*]
    ) => {
        #[cfg(test)]
        mod $name {
            #[allow(unused_imports, reason = "the subject may name nothing from outside")]
            use super::*;

            fn __runner() -> $crate::Runner {
                $crate::__conformance_runner!($known $excused $required)
            }

            $(
                #[test]
                fn $test() {
                    let test = ::core::concat!(::core::module_path!(), "::", ::core::stringify!($test));
                    let operation = $crate::Operation::$operation;
                    $crate::testing::operation(test, &__runner(), &$subject, operation);
                }
            )*

            #[test]
            fn something_passes() {
                let operations = [$($crate::Operation::$operation),*];
                $crate::testing::something(&__runner(), &$subject, &operations);
            }
        }
    };
}

/// The tests as names and operations: what holds the macro to [`Suite`](crate::Suite).
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_pairs {
    ({} [$(($test:ident $operation:ident))*]) => {
        [$((::core::stringify!($test), $crate::Operation::$operation)),*]
    };
}

/// Calls `$then` with what it is given and with the tests of all these suites, an operation each.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_suites {
    ($then:ident $given:tt [$($test:tt)*]) => {
        $crate::$then! { $given [$($test)*] }
    };
    (@and $then:ident $given:tt [$($test:tt)*] [$($more:tt)*] $($suite:ident)*) => {
        $crate::__conformance_suites! { $then $given [$($test)* $($more)*] $($suite)* }
    };
    ($then:ident $given:tt $tests:tt Storage $($suite:ident)*) => {
        $crate::__conformance_suites! { @and $then $given $tests [(bits Bits)] $($suite)* }
    };
    ($then:ident $given:tt $tests:tt Autocast $($suite:ident)*) => {
        $crate::__conformance_suites! { @and $then $given $tests [(cast Cast)] $($suite)* }
    };
    ($then:ident $given:tt $tests:tt StochasticCast $($suite:ident)*) => {
        $crate::__conformance_suites! { @and $then $given $tests [(stochastic_cast StochasticCast)] $($suite)* }
    };
    ($then:ident $given:tt $tests:tt GradScaler $($suite:ident)*) => {
        $crate::__conformance_suites! { @and $then $given $tests [(scale Scale) (unscale Unscale) (merge Merge) (iterate Iterate) (scale_update ScaleUpdate)] $($suite)* }
    };
    ($then:ident $given:tt $tests:tt GradOps $($suite:ident)*) => {
        $crate::__conformance_suites! { @and $then $given $tests [(norm Norm) (clip Clip) (accumulate Accumulate)] $($suite)* }
    };
    ($then:ident $given:tt $tests:tt ClipGroups $($suite:ident)*) => {
        $crate::__conformance_suites! { @and $then $given $tests [(clip_groups ClipGroups)] $($suite)* }
    };
    ($then:ident $given:tt $tests:tt MasterWeights $($suite:ident)*) => {
        $crate::__conformance_suites! { @and $then $given $tests [(sgd Sgd) (adam Adam) (remainder Remainder) (stochastic Stochastic) (kahan Kahan) (scaled_f16 ScaledF16)] $($suite)* }
    };
    ($then:ident $given:tt $tests:tt Scaler $($suite:ident)*) => {
        $crate::__conformance_suites! { @and $then $given $tests [(sparse Sparse) (delayed Delayed) (follow Follow) (update_each UpdateEach)] $($suite)* }
    };
    ($then:ident $given:tt $tests:tt Convergence $($suite:ident)*) => {
        $crate::__conformance_suites! { @and $then $given $tests [(convergence Convergence)] $($suite)* }
    };
    ($then:ident $given:tt $tests:tt Fill $($suite:ident)*) => {
        $crate::__conformance_suites! { @and $then $given $tests [(fill Fill)] $($suite)* }
    };
    ($then:ident $given:tt $tests:tt Reshape $($suite:ident)*) => {
        $crate::__conformance_suites! { @and $then $given $tests [(reshape Reshape)] $($suite)* }
    };
    ($then:ident $given:tt $tests:tt Relu $($suite:ident)*) => {
        $crate::__conformance_suites! { @and $then $given $tests [(relu Relu)] $($suite)* }
    };
    ($then:ident $given:tt $tests:tt Gelu $($suite:ident)*) => {
        $crate::__conformance_suites! { @and $then $given $tests [(gelu Gelu)] $($suite)* }
    };
    ($then:ident $given:tt $tests:tt Tanh $($suite:ident)*) => {
        $crate::__conformance_suites! { @and $then $given $tests [(tanh Tanh)] $($suite)* }
    };
    ($then:ident $given:tt $tests:tt Add $($suite:ident)*) => {
        $crate::__conformance_suites! { @and $then $given $tests [(add Add)] $($suite)* }
    };
    ($then:ident $given:tt $tests:tt Mul $($suite:ident)*) => {
        $crate::__conformance_suites! { @and $then $given $tests [(mul Mul)] $($suite)* }
    };
    ($then:ident $given:tt $tests:tt BiasAdd $($suite:ident)*) => {
        $crate::__conformance_suites! { @and $then $given $tests [(bias_add BiasAdd)] $($suite)* }
    };
    ($then:ident $given:tt $tests:tt MatMul $($suite:ident)*) => {
        $crate::__conformance_suites! { @and $then $given $tests [(matmul MatMul)] $($suite)* }
    };
    ($then:ident $given:tt $tests:tt Bmm $($suite:ident)*) => {
        $crate::__conformance_suites! { @and $then $given $tests [(bmm Bmm)] $($suite)* }
    };
    ($then:ident $given:tt $tests:tt Linear $($suite:ident)*) => {
        $crate::__conformance_suites! { @and $then $given $tests [(linear Linear)] $($suite)* }
    };
    ($then:ident $given:tt $tests:tt LinearRelu $($suite:ident)*) => {
        $crate::__conformance_suites! { @and $then $given $tests [(linear_relu LinearRelu)] $($suite)* }
    };
    ($then:ident $given:tt $tests:tt Conv2d $($suite:ident)*) => {
        $crate::__conformance_suites! { @and $then $given $tests [(conv2d Conv2d)] $($suite)* }
    };
    ($then:ident $given:tt $tests:tt MaxPool2d $($suite:ident)*) => {
        $crate::__conformance_suites! { @and $then $given $tests [(max_pool2d MaxPool2d)] $($suite)* }
    };
    ($then:ident $given:tt $tests:tt LayerNorm $($suite:ident)*) => {
        $crate::__conformance_suites! { @and $then $given $tests [(layer_norm LayerNorm)] $($suite)* }
    };
    ($then:ident $given:tt $tests:tt BatchNorm $($suite:ident)*) => {
        $crate::__conformance_suites! { @and $then $given $tests [(batch_norm BatchNorm)] $($suite)* }
    };
    ($then:ident $given:tt $tests:tt Softmax $($suite:ident)*) => {
        $crate::__conformance_suites! { @and $then $given $tests [(softmax Softmax)] $($suite)* }
    };
    ($then:ident $given:tt $tests:tt LogSoftmax $($suite:ident)*) => {
        $crate::__conformance_suites! { @and $then $given $tests [(log_softmax LogSoftmax)] $($suite)* }
    };
    ($then:ident $given:tt $tests:tt CrossEntropy $($suite:ident)*) => {
        $crate::__conformance_suites! { @and $then $given $tests [(cross_entropy CrossEntropy)] $($suite)* }
    };
    ($then:ident $given:tt $tests:tt MseLoss $($suite:ident)*) => {
        $crate::__conformance_suites! { @and $then $given $tests [(mse_loss MseLoss)] $($suite)* }
    };
    ($then:ident $given:tt $tests:tt Sum $($suite:ident)*) => {
        $crate::__conformance_suites! { @and $then $given $tests [(sum Sum)] $($suite)* }
    };
    ($then:ident $given:tt $tests:tt Mean $($suite:ident)*) => {
        $crate::__conformance_suites! { @and $then $given $tests [(mean Mean)] $($suite)* }
    };
    ($then:ident $given:tt $tests:tt Embedding $($suite:ident)*) => {
        $crate::__conformance_suites! { @and $then $given $tests [(embedding Embedding)] $($suite)* }
    };
    ($then:ident $given:tt $tests:tt Dropout $($suite:ident)*) => {
        $crate::__conformance_suites! { @and $then $given $tests [(dropout Dropout)] $($suite)* }
    };
    ($then:ident $given:tt $tests:tt Ops $($suite:ident)*) => {
        $crate::__conformance_suites! {
            $then $given $tests
            Fill Reshape Relu Gelu Tanh Add Mul BiasAdd MatMul Bmm Linear LinearRelu Conv2d MaxPool2d LayerNorm BatchNorm Softmax LogSoftmax CrossEntropy MseLoss Sum Mean Embedding Dropout
            $($suite)*
        }
    };
    ($then:ident $given:tt $tests:tt $unknown:ident $($suite:ident)*) => {
        ::core::compile_error!(::core::concat!(
            "`", ::core::stringify!($unknown), "` is no suite: see `binade_conformance::Suite`, or `Ops` for all operations"
        ));
    };
}

#[cfg(test)]
mod tests {
    use crate::{Operation, Suite};

    /// The tests of these suites, by name and operation.
    macro_rules! tests_of {
        ($($suite:ident)*) => { $crate::__conformance_suites! { __conformance_pairs {} [] $($suite)* } };
    }

    #[test]
    fn every_operation_has_one_test_that_is_called_as_it_is() {
        let tests = tests_of!(
            Storage Autocast StochasticCast GradScaler GradOps ClipGroups MasterWeights Scaler Convergence Ops
        );
        let mut operations: Vec<Operation> =
            tests.iter().map(|(_, operation)| *operation).collect();
        operations.sort_unstable();
        assert_eq!(operations, Operation::ALL);
        for (test, operation) in tests {
            assert_eq!(test, operation.name());
        }
    }

    #[test]
    fn a_suite_is_the_same_to_the_macro_and_to_the_runner() {
        macro_rules! same {
            ($($suite:ident)*) => {$(
                let tests: Vec<Operation> = tests_of!($suite).map(|(_, operation)| operation).into();
                assert_eq!(tests, Suite::$suite.operations().collect::<Vec<_>>(), stringify!($suite));
            )*};
        }
        same!(Storage Autocast StochasticCast GradScaler GradOps ClipGroups MasterWeights Scaler Convergence);
        same!(Fill Reshape Relu Gelu Tanh Add Mul BiasAdd MatMul Bmm Linear LinearRelu Conv2d);
        same!(MaxPool2d LayerNorm);
        same!(BatchNorm Softmax LogSoftmax CrossEntropy MseLoss Sum Mean Embedding Dropout);
        let ops: Vec<Operation> = tests_of!(Ops).map(|(_, operation)| operation).into();
        assert_eq!(ops, Suite::OPS.into_iter().flat_map(Suite::operations).collect::<Vec<_>>());
    }
}
