//! Binade's devices as subjects of the conformance kit, by the names that a command line has.

use binade_autocast::Autocast;
use binade_conformance::{
    Arithmetic, Layout, OpInvocation, Report, Result, Runner, SetCall, SetResult, SparseResult,
    SparseRun, Subject, SubjectError, compute, multi_tensor, sparse,
};
use binade_core::{DType, Named, cast::OnOverflow, stochastic::Key};
use binade_cpu::Cpu;
use binade_cuda::{
    Cuda, F32Products, Products, ProductsBackend,
    cudarc::driver::sys::CUdevice_attribute as Attribute,
};
use clap::ValueEnum;
use std::error::Error;

/// Device to run the kit on.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Device {
    /// `binade-cpu`, the reference.
    Cpu,
    /// `binade-cuda` on the first NVIDIA GPU.
    Cuda,
    /// `binade-cuda` on the PTX interpreter in the driver's place.
    Ptx,
    /// `binade-wgpu` on the adapter that `BINADE_WGPU_ADAPTER` names or the first one found.
    Wgpu,
}

impl Device {
    /// Runs the kit on the device. With `tf32` its libraries multiply `f32` by TF32, under the kit's agreement for that.
    ///
    /// # Errors
    ///
    /// If the device cannot be opened, or has no TF32.
    pub(crate) fn run(self, runner: &Runner, tf32: bool) -> Result<Report, Box<dyn Error>> {
        let why = "its tensors lie row after row, without strides";
        let runner = runner.clone().excuse("views_are_read_in_row_major_order", why);
        match self {
            Self::Cuda | Self::Ptx => on_cuda(runner, self == Self::Ptx, tf32),
            _ if tf32 => Err(no_tf32("another device")),
            Self::Cpu => {
                Ok(runner.run(&On { name: "cpu", device: Cpu, arithmetic: Arithmetic::IEEE }))
            }
            #[cfg(feature = "wgpu")]
            Self::Wgpu => on_wgpu(runner),
            #[cfg(not(feature = "wgpu"))]
            Self::Wgpu => {
                let advice = "run `cargo conformance --device wgpu`";
                Err(format!("--device wgpu: this program was built without it; {advice}").into())
            }
        }
    }
}

/// Runs the kit, and excuses cases that the GPU itself cannot run, also where the device is required.
///
/// The kernels are compiled with `-fmad=false -ftz=false -prec-div=true -prec-sqrt=true`, and write each `fma` out. Tensor Cores compute
/// products. There are no conversions of f64.
fn on_cuda(runner: Runner, interpreted: bool, tf32: bool) -> Result<Report, Box<dyn Error>> {
    let (name, advice) = if interpreted {
        ("ptx", "start it by `cargo xtask on ptx cargo conformance --device ptx`")
    } else {
        ("cuda", "take the interpreter off the library path, or ask for ptx")
    };
    let mut device = Cuda::open(0)?;
    if std::env::var("BINADE_PRODUCTS").is_ok_and(|by| by == "own") {
        device = device.with_products(Products::Own);
    }
    let found = device.name()?;
    if found.contains("PTX interpreter") != interpreted {
        return Err(format!(
            "--device {name}, but the driver that was found has {found}: {advice}"
        )
        .into());
    }
    if tf32 {
        device = device.with_f32_products(F32Products::Tf32)?;
        match device.products()? {
            ProductsBackend::Library { .. } => {}
            by => return Err(no_tf32(&by.to_string())),
        }
    }
    let major = Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;
    let products = ["bmm", "conv2d", "linear", "linear_relu", "matmul"];
    let lacking = if device.stream().context().attribute(major)? < 8 { &products[..] } else { &[] };
    let runner = lacking.iter().fold(runner, |runner, operation| {
        let why = "Tensor Cores multiply bf16 from compute capability 8.0 on";
        runner.excuse(format!("{operation}/bf16/"), why)
    });
    let arithmetic = Arithmetic { f64: false, tensor_core: true, tf32, ..Arithmetic::IEEE };
    Ok(runner.run(&On { name, device, arithmetic }))
}

fn no_tf32(by: &str) -> Box<dyn Error> {
    format!("--tf32, but products are computed by {by}: it is for cuda and ptx, with cuBLASLt")
        .into()
}

/// Runs the kit, and excuses cases of types that this backend stores and does not compute in.
///
/// WGSL promises products and sums that may be fused, quotients within 2.5 units in the last place, subnormals that may be flushed, and no
/// f64.
#[cfg(feature = "wgpu")]
fn on_wgpu(runner: Runner) -> Result<Report, Box<dyn Error>> {
    let device = binade_wgpu::Wgpu::open()?;
    let runner = runner.excuse("sparse/", "its embeddings have whole gradients");
    let runner = ["fill", "scale", "sum", "mean"].into_iter().fold(runner, |runner, operation| {
        let why = "eight bits are stored and cast, and computed with in no operation";
        ["e4m3", "e5m2"]
            .into_iter()
            .fold(runner, |runner, dtype| runner.excuse(format!("{operation}/{dtype}"), why))
    });
    let arithmetic = Arithmetic {
        fma: false,
        keeps_subnormals: false,
        rounded_div_sqrt: false,
        f64: false,
        tensor_core: false,
        tf32: false,
    };
    Ok(runner.run(&On { name: "wgpu", device, arithmetic }))
}

/// Subject of a device.
#[derive(Clone, Debug)]
struct On<D> {
    name: &'static str,
    device: D,
    arithmetic: Arithmetic,
}

/// Implements the subject of a device with a module of its tensor, which converts from and to bits by these expressions.
macro_rules! subject {
    ($device:ty, $tensor:ty, $from_bits:expr, $to_bits:expr, { $($more:tt)* }) => {
        impl Subject for On<$device> {
            type Handle = $device;

            fn handle(&self) -> Option<&$device> {
                Some(&self.device)
            }

            fn name(&self) -> &str {
                self.name
            }

            fn arithmetic(&self) -> Arithmetic {
                self.arithmetic
            }

            fn from_bits(&self, bits: &[u8], dtype: DType, shape: &[usize]) -> Result<$tensor> {
                Ok($from_bits(&self.device, bits, dtype, shape)?)
            }

            fn to_bits(&self, tensor: &$tensor) -> Result<Vec<u8>> {
                $to_bits(&self.device, tensor)
            }

            fn cast(&self, tensor: &$tensor, to: DType) -> Result<$tensor> {
                Ok(Autocast::cast(&self.device, tensor, to)?)
            }

            fn cast_stochastic(&self, tensor: &$tensor, to: DType, key: Key) -> Result<$tensor> {
                Ok(self.device.cast_stochastic(tensor, to, key)?)
            }

            fn multi_tensor(
                &self,
                call: &SetCall,
                x: &[Named<$tensor>],
                y: &[Named<$tensor>],
            ) -> Result<SetResult<$tensor>> {
                multi_tensor(&self.device, call, x, y)
            }

            fn compute(&self, op: &OpInvocation, operands: &[&$tensor]) -> Result<Vec<$tensor>> {
                compute(&self.device, op, operands)
            }

            $($more)*
        }
    };
}

/// Implements the subject of a GPU backend.
macro_rules! gpu_subject {
    ($device:ty, $tensor:ty, { $($more:tt)* }) => {
        subject!(
            $device,
            $tensor,
            <$device>::from_bits,
            |device: &$device, tensor: &_| Ok(device.to_bits(tensor)?),
            {
                /// Makes a view inside a larger buffer, so that the first element does not lie at an allocation's start.
                fn view(
                    &self,
                    bits: &[u8],
                    dtype: DType,
                    shape: &[usize],
                    layout: Layout,
                ) -> Result<$tensor> {
                    let Layout::Offset(offset) = layout else {
                        return Err(SubjectError::unsupported("a tensor with strides"));
                    };
                    let (buffer, size) = (layout.buffer(bits, dtype, shape), dtype.bytes());
                    let whole = self.device.from_bits(&buffer, dtype, &[buffer.len() / size])?;
                    Ok(whole.slice(offset, bits.len() / size)?.reshape(shape)?)
                }

                fn cast_saturating(&self, tensor: &$tensor, to: DType) -> Result<$tensor> {
                    Ok(self.device.cast_overflowing(tensor, to, OnOverflow::Saturate)?)
                }

                $($more)*
            }
        );
    };
}

subject!(
    Cpu,
    binade_cpu::Tensor,
    |_: &Cpu, bits: &[u8], dtype, shape: &[usize]| binade_cpu::Tensor::from_bits(
        bits, dtype, shape
    ),
    |_: &Cpu, tensor: &binade_cpu::Tensor| Ok(tensor.to_bits()),
    {
        fn sparse(
            &self,
            run: SparseRun<binade_cpu::Tensor>,
        ) -> Result<SparseResult<binade_cpu::Tensor>> {
            sparse(&self.device, run)
        }
    }
);

gpu_subject!(Cuda, binade_cuda::Tensor, {
    fn sparse(
        &self,
        run: SparseRun<binade_cuda::Tensor>,
    ) -> Result<SparseResult<binade_cuda::Tensor>> {
        sparse(&self.device, run)
    }
});

#[cfg(feature = "wgpu")]
gpu_subject!(binade_wgpu::Wgpu, binade_wgpu::Tensor, {});
