//! Look-up of functions by name, as newer callers do.

use std::ffi::{c_int, c_void};

use super::{
    abi::{Out, Text},
    call::api,
    context, device, error, event, graph, launch, memory, module, occupancy, pinned, pool, stream,
    unsupported,
};
use crate::driver::code::{Code, Result};

const ALL: [&[(&str, *const ())]; 14] = [
    SYMBOLS,
    context::SYMBOLS,
    device::SYMBOLS,
    error::SYMBOLS,
    event::SYMBOLS,
    graph::SYMBOLS,
    launch::SYMBOLS,
    memory::SYMBOLS,
    module::SYMBOLS,
    occupancy::SYMBOLS,
    pinned::SYMBOLS,
    pool::SYMBOLS,
    stream::SYMBOLS,
    unsupported::SYMBOLS,
];

/// Returns the newest version of a function, by the name without its version.
fn find(name: &str) -> Option<*const ()> {
    let versions = ["_v4", "_v3", "_v2", ""].map(|version| format!("{name}{version}"));
    let has = |wanted: &String| {
        let symbols = ALL.iter().copied().flatten();
        symbols.clone().find(|(symbol, _)| symbol == wanted).map(|(_, address)| *address)
    };
    versions.iter().find_map(has)
}

/// Writes the address of a function and a `CUdriverProcAddressQueryResult`: found, or no such symbol.
fn look_up(name: Text, address: Out<*const c_void>, status: Option<Out<c_int>>) -> Result {
    let name = String::from_utf8_lossy(&name.bytes()?).into_owned();
    let found = find(&name);
    address.set(found.map_or(std::ptr::null(), <*const ()>::cast))?;
    if let Some(status) = status {
        status.set_if_wanted(c_int::from(found.is_none()));
    }
    found.map(|_| ()).ok_or(Code::NotFound)
}

api! {
    fn cuGetProcAddress(
        _,
        name: Text,
        address: Out<*const c_void>,
        _version: c_int,
        _flags: u64,
    ) {
        look_up(name, address, None)
    }

    fn cuGetProcAddress_v2(
        _,
        name: Text,
        address: Out<*const c_void>,
        _version: c_int,
        _flags: u64,
        status: Out<c_int>,
    ) {
        look_up(name, address, Some(status))
    }

    /// Refuses the driver's undocumented tables. NVRTC asks for them, and crashes if the function is missing.
    fn cuGetExportTable(_, _table: Out<*const c_void>, _id: Text) {
        Err(Code::NotFound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_of_a_function_is_found() {
        assert!(find("cuMemAlloc").is_some());
        assert_eq!(find("cuMemAlloc"), find("cuMemAlloc_v2"));
        assert!(find("cuInit").is_some() && find("cuNoSuchFunction").is_none());
    }
}
