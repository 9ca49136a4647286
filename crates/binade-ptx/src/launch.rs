//! Launch dimensions and arguments, checked before anything runs.

use std::fmt;

use crate::{
    Fault,
    module::{Entry, Param},
};

/// Extents of a grid or a block, or the place of one block or thread in them.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Dim3 {
    /// Fastest axis.
    pub x: u32,
    /// Middle axis.
    pub y: u32,
    /// Slowest axis.
    pub z: u32,
}

impl Dim3 {
    /// Returns the number of places in these extents.
    pub(crate) fn volume(self) -> u64 {
        u64::from(self.x).saturating_mul(u64::from(self.y)).saturating_mul(u64::from(self.z))
    }

    /// Returns the place with this number, `x` fastest.
    #[expect(clippy::cast_possible_truncation, reason = "a remainder of a u32")]
    pub(crate) fn place(self, number: u64) -> Self {
        let (x, y) = (u64::from(self.x), u64::from(self.y));
        Self { x: (number % x) as u32, y: (number / x % y) as u32, z: (number / x / y) as u32 }
    }

    pub(crate) fn axis(self, axis: usize) -> u32 {
        [self.x, self.y, self.z][axis]
    }
}

impl From<u32> for Dim3 {
    fn from(x: u32) -> Self {
        Self { x, y: 1, z: 1 }
    }
}

impl From<[u32; 3]> for Dim3 {
    fn from([x, y, z]: [u32; 3]) -> Self {
        Self { x, y, z }
    }
}

impl fmt::Display for Dim3 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {}, {})", self.x, self.y, self.z)
    }
}

/// Argument of a kernel.
#[derive(Clone, Debug)]
pub enum Arg {
    /// 32-bit integer, signed ones by their bits.
    U32(u32),
    /// 64-bit integer, signed ones by their bits, or address in device memory.
    U64(u64),
    /// 32-bit float.
    F32(f32),
    /// Structure passed by value.
    Bytes(Vec<u8>),
}

impl Arg {
    fn kinds(&self) -> &'static [&'static str] {
        match self {
            Self::U64(_) => &["u64", "s64", "b64"],
            Self::U32(_) => &["u32", "s32", "b32"],
            Self::F32(_) => &["f32"],
            Self::Bytes(_) => &["b8"],
        }
    }

    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::U64(value) => value.to_le_bytes().to_vec(),
            Self::U32(value) => value.to_le_bytes().to_vec(),
            Self::F32(value) => value.to_le_bytes().to_vec(),
            Self::Bytes(bytes) => bytes.clone(),
        }
    }
}

/// Returns the block of parameters as the kernel reads it.
pub(crate) fn parameters(entry: &Entry, args: &[Arg]) -> Result<Vec<u8>, Fault> {
    if args.len() != entry.params.len() {
        let (kernel, expected, found) = (&entry.name, entry.params.len(), args.len());
        return Err(Fault::Call(format!(
            "`{kernel}` takes {expected} arguments, {found} were given"
        )));
    }
    let mut bytes = Vec::new();
    for (index, (param, arg)) in entry.params.iter().zip(args).enumerate() {
        let value = arg.bytes();
        if !arg.kinds().contains(&param.kind.as_str()) || value.len() as u64 != param.bytes {
            return Err(mismatch(&entry.name, index, param, arg));
        }
        bytes.resize(usize::try_from(param.offset).unwrap_or(usize::MAX), 0);
        bytes.extend(value);
    }
    Ok(bytes)
}

fn mismatch(kernel: &str, index: usize, param: &Param, arg: &Arg) -> Fault {
    let Param { name, kind, bytes, .. } = param;
    let wanted = format!("parameter `{name}` is .{kind} in {bytes} bytes");
    Fault::Call(format!("`{kernel}`: argument {index}: {wanted}, {arg:?} was given"))
}

/// Checks grid and block against the limits of every GPU since compute capability 3.0 (CUDA C++ Programming Guide, "Technical
/// Specifications per Compute Capability").
pub(crate) fn check_dimensions(grid: Dim3, block: Dim3) -> Result<(), Fault> {
    let limits = [
        ("grid.x", u64::from(grid.x), (1 << 31) - 1),
        ("grid.y", u64::from(grid.y), 65_535),
        ("grid.z", u64::from(grid.z), 65_535),
        ("block.x", u64::from(block.x), 1024),
        ("block.y", u64::from(block.y), 1024),
        ("block.z", u64::from(block.z), 64),
        ("threads of a block", block.volume(), 1024),
    ];
    match limits.into_iter().find(|&(_, value, most)| !(1..=most).contains(&value)) {
        Some((what, value, most)) => {
            Err(Fault::Call(format!("`{what}` of {value} is outside 1 to {most}")))
        }
        None => Ok(()),
    }
}
