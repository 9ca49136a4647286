//! Functions that name return codes, and the report of the last faulty kernel.

use std::ffi::{CStr, c_char, c_int};

use super::{
    abi::Out,
    call::{api, last_report},
};
use crate::driver::code::{Code, Result, words};

fn put(out: Out<*const c_char>, text: Option<&'static CStr>) -> Result {
    out.set(text.map_or(std::ptr::null(), CStr::as_ptr))?;
    text.map(|_| ()).ok_or(Code::InvalidValue)
}

api! {
    fn cuGetErrorName(_, code: c_int, name: Out<*const c_char>) {
        put(name, words(code).map(|(name, _)| name))
    }

    fn cuGetErrorString(_, code: c_int, text: Out<*const c_char>) {
        put(text, words(code).map(|(_, text)| text))
    }
}

/// Copies the report of the last faulty kernel, cut to `length` bytes with a closing 0. Returns the length of the whole without
/// it.
#[unsafe(no_mangle)]
extern "C" fn binade_ptx_last_report(buffer: Out<c_char>, length: usize) -> usize {
    let report = std::panic::catch_unwind(last_report).unwrap_or_default();
    let room = c_int::try_from(length).unwrap_or(c_int::MAX);
    if let Ok(text) = std::ffi::CString::new(report.as_bytes()) {
        // A caller that passes no buffer, or one without room, asks for the length alone.
        let _ = buffer.text(&text, room);
    }
    report.len()
}
