//! Update rules that leave every element as it is.

/// Declares such a rule with a name, its moments, and its constants after a number of steps.
macro_rules! idle_rule {
    ($type:ident, $name:literal, $moments:expr, $constants:expr) => {
        struct $type;

        impl binade_master_weights::CustomRule for $type {
            const NAME: &'static str = $name;
            const HYPER_PARAMETERS: &'static [&'static str] = &["lr"];
            const MOMENTS: &'static [&'static str] = &$moments;

            fn constants(_: &[f64], applied: u64) -> [f32; 9] {
                $constants(applied)
            }

            fn element(_: &[f32; 9], _: f32, _: &mut binade_master_weights::ElementState) -> bool {
                false
            }
        }
    };
}
pub(crate) use idle_rule;
