//! Which kernels there are, and which cases of the kit run each.

use super::Device;
use crate::{Result, packed, shell::root};

/// A kernel's text and the cases that are held against it.
#[derive(Debug)]
pub(super) struct Kernel {
    pub(super) name: String,
    pub(super) text: String,
    /// Parts of the names of cases, in the order in which they are run: the kit's, and after `device::` and `units::` those of the backend's
    /// own tests.
    pub(super) parts: Vec<String>,
    /// The compute capability that it is for, where that is not the newest.
    pub(super) capability: Option<&'static str>,
}

/// Steps of every store are made by the same kernels.
const STORES: [&str; 4] = ["stochastic/", "remainder/", "kahan/", "scaled_f16/"];

/// Large tiles for small products, and ranges for short sums: cases would have to be large.
const GEMM: &str = "units::ops::gemm::";

/// Tests of the wgpu backend: numbers that drivers may flush to 0, and indices that point nowhere.
const SMALL: [&str; 2] = ["device::ops_subnormals::", "device::ops_indexed::"];

/// Tests of its exponential and logarithm.
const EXPONENTIALS: &str = "device::exponentials::";

/// Tests of its steps beside the CPU's.
const ROUNDINGS: &str = "device::roundings::";

/// Kernels that serve other operations than that of their name. A name that no kernel of a device has is of the other one.
const SERVES: [(&str, &[&str]); 32] = [
    ("accumulate", &["accumulate/", "device::windows::"]),
    (
        "adam",
        &[
            "adam/",
            STORES[0],
            STORES[1],
            STORES[2],
            "device::windows::",
            "device::counted::",
            ROUNDINGS,
        ],
    ),
    ("add", &["add/", SMALL[0]]),
    ("average", &["device::replicas::"]),
    ("batch_norm", &["batch_norm/"]),
    ("bias_add", &["bias_add/", SMALL[0]]),
    ("cast", &["cast/", "device::casts::"]),
    // A yardstick of benchmarks, which computes nothing and leaves every bit as it is.
    ("ceiling", &[]),
    ("clip", &["clip/", "clip_groups/", "device::clipping::"]),
    ("columns", &["bias_add/", "linear/", "linear_relu/"]),
    ("cross_entropy", &["cross_entropy/", SMALL[0], SMALL[1]]),
    ("dropout", &["dropout/", SMALL[0]]),
    ("embedding", &["embedding/", "device::faults::", SMALL[1]]),
    ("im2col", &["conv2d/"]),
    ("l2norm", &["device::casts::the_norm"]),
    ("log_softmax", &["log_softmax/", EXPONENTIALS]),
    ("materialise", &["clip/", "clip_groups/", "unscale/"]),
    ("matmul", &["matmul/f", "linear/f", "linear_relu/f", "bmm/f", "conv2d/f", GEMM]),
    ("matmul_80", &["matmul/", "linear/", "linear_relu/", "bmm/", "conv2d/", GEMM]),
    ("matmul_join", &["matmul/", "linear/", "linear_relu/"]),
    ("mul", &["mul/", SMALL[0]]),
    ("prepare", &["sgd/", "adam/", STORES[2], "device::windows::", "device::counted::", ROUNDINGS]),
    ("scale", &["scale/", "device::outcomes::a_scaled_loss"]),
    ("scaled", &["scaled_f16/"]),
    ("scaled_f16", &["scaled_f16/", "device::scaled::", "device::counted::"]),
    ("sgd", &["sgd/", STORES[0], STORES[1], STORES[2], "device::counted::", ROUNDINGS]),
    ("softmax", &["softmax/", SMALL[0], EXPONENTIALS]),
    ("sum", &["sum/", "mean/"]),
    ("tanh", &["tanh/", SMALL[0]]),
    ("unscale", &["unscale/", "norm/", "clip/", "device::windows::"]),
    ("scale_update", &["scale_update/", "iterate/"]),
    ("merge", &["merge/", "accumulate/", "device::resumed::a_finding"]),
];

/// Kernels of products before compute capability 8.0, which have no bf16, and the one that the interpreter then has.
const OLDER: (&str, &str) = ("matmul", "7.5");

/// The kernels of these names, or all where there are none.
pub(super) fn named(device: Device, names: &[String]) -> Result<Vec<Kernel>> {
    let packed = device.packed();
    let texts = packed::read(&root().join(packed))?;
    if let Some(name) = names.iter().find(|name| !texts.contains_key(*name)) {
        return Err(format!("no kernel in {packed} is called {name}").into());
    }
    let kernel = |(name, text): (String, String)| {
        let parts = parts(&name);
        let capability = (name == OLDER.0).then_some(OLDER.1);
        Kernel { name, text, parts, capability }
    };
    let wanted = |(name, _): &(String, String)| names.is_empty() || names.contains(name);
    Ok(texts.into_iter().filter(wanted).map(kernel).collect())
}

fn parts(name: &str) -> Vec<String> {
    let others = SERVES.iter().find(|(kernel, _)| *kernel == name).map(|(_, parts)| *parts);
    others.map_or_else(
        || vec![format!("{name}/")],
        |parts| parts.iter().map(ToString::to_string).collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_found_by_its_name_and_one_that_is_not_there_is_told() {
        let found = named(Device::Ptx, &["sgd".to_owned()]).unwrap();
        assert_eq!((found.len(), found[0].parts[0].as_str()), (1, "sgd/"));
        let error = named(Device::Wgpu, &["sdg".to_owned()]).unwrap_err().to_string();
        assert!(error.ends_with("is called sdg"), "{error}");
    }

    #[test]
    fn every_kernel_with_operations_of_its_own_is_there() {
        let all = [Device::Ptx, Device::Wgpu].map(|device| named(device, &[]).unwrap());
        for (name, _) in SERVES {
            assert!(all.iter().flatten().any(|kernel| kernel.name == name), "{name}");
        }
    }
}
