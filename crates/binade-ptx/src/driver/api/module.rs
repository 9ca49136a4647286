//! Functions on modules and their kernels.

use std::{
    ffi::{c_int, c_uint},
    fs,
};

use super::{
    abi::{Out, Text},
    call::api,
};
use crate::driver::{code::Code, state::Handle};

api! {
    fn cuModuleLoad(driver, module: Out<Handle>, path: Text) {
        let path = String::from_utf8_lossy(&path.bytes()?).into_owned();
        let image = fs::read(path).map_err(|_| Code::FileNotFound)?;
        module.set(driver.load(&image)?)
    }

    fn cuModuleLoadData(driver, module: Out<Handle>, image: Text) {
        module.set(driver.load(&image.bytes()?)?)
    }

    fn cuModuleUnload(driver, module: Handle) {
        driver.unload(module)
    }

    fn cuModuleGetFunction(driver, function: Out<Handle>, module: Handle, name: Text) {
        function.set(driver.get_function(module, &name.bytes()?)?)
    }

    /// Refuses every name: a module with variables in global memory is refused when it is loaded.
    fn cuModuleGetGlobal_v2(
        driver,
        _pointer: Out<u64>,
        _bytes: Out<usize>,
        _module: Handle,
        _name: Text,
    ) {
        driver.context()?;
        Err(Code::NotFound)
    }

    fn cuFuncGetAttribute(driver, value: Out<c_int>, attribute: c_int, function: Handle) {
        value.set(driver.function_attribute(function, attribute)?)
    }

    fn cuFuncSetAttribute(driver, function: Handle, attribute: c_int, value: c_int) {
        driver.set_function_attribute(function, attribute, value)
    }

    fn cuFuncSetCacheConfig(driver, function: Handle, _preference: c_uint) {
        driver.parameters(function).map(|_| ())
    }
}
