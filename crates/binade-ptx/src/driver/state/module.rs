//! Modules and their functions.

use std::sync::Arc;

use super::{Driver, Handle, tell};
use crate::{
    Module,
    driver::code::{Code, Result},
    gpu::find,
    hash_of,
    module::Entry,
};

#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) context: Handle,
    module: Arc<Module>,
}

#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) context: Handle,
    owner: Handle,
    pub(crate) module: Arc<Module>,
    pub(crate) entry: String,
    /// Dynamic shared memory in bytes that launches may ask for.
    pub(crate) dynamic_shared: u32,
}

/// Shared memory in bytes of a block that does not opt in to more.
const USUAL_SHARED: u32 = 48 << 10;

/// Attribute `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
const DYNAMIC_SHARED: i32 = 8;

impl Function {
    pub(crate) fn kernel(&self) -> Result<&Entry> {
        self.module.entry(&self.entry).ok_or(Code::NotFound)
    }

    #[expect(clippy::cast_possible_truncation, reason = "shared memory is limited to KiB")]
    pub(crate) fn static_shared(&self) -> Result<u32> {
        Ok(self.kernel()?.shared_bytes as u32)
    }
}

fn not_text() -> Code {
    tell("the image is not PTX text, which is all that can be interpreted");
    Code::InvalidImage
}

impl Driver {
    pub(crate) fn load(&mut self, image: &[u8]) -> Result<Handle> {
        let context = self.context()?;
        self.refuse_while_capturing()?;
        let text = std::str::from_utf8(image).map_err(|_| not_text())?;
        if !text.contains(".version") {
            return Err(not_text());
        }
        let hash = hash_of(text);
        let module = match self.seen.get(&hash) {
            Some(module) => Arc::clone(module),
            None => Arc::new(Module::parse(text).map_err(|error| {
                tell(error);
                Code::InvalidPtx
            })?),
        };
        if module.target > self.capability {
            tell(format_args!(
                "the module is for {}, the device is {}",
                module.target, self.capability
            ));
            return Err(Code::NoBinaryForGpu);
        }
        self.seen.insert(hash, Arc::clone(&module));
        Ok(self.modules.insert(Loaded { context, module }))
    }

    /// Unloads a module with its functions.
    pub(crate) fn unload(&mut self, module: Handle) -> Result {
        self.unfaulted(self.modules.get(module)?.context)?;
        self.refuse_while_capturing()?;
        self.modules.remove(module)?;
        self.functions.retain(|function| function.owner != module);
        Ok(())
    }

    pub(crate) fn get_function(&mut self, owner: Handle, name: &[u8]) -> Result<Handle> {
        let Loaded { context, module } = self.modules.get(owner)?;
        self.unfaulted(*context)?;
        let entry = String::from_utf8_lossy(name).into_owned();
        find(module, &entry).map_err(|error| {
            tell(error);
            Code::NotFound
        })?;
        let (context, module) = (*context, Arc::clone(module));
        let dynamic_shared = USUAL_SHARED;
        Ok(self.functions.insert(Function { context, owner, module, entry, dynamic_shared }))
    }

    pub(crate) fn function(&self, function: Handle) -> Result<&Function> {
        let function = self.functions.get(function)?;
        self.unfaulted(function.context)?;
        Ok(function)
    }

    /// Returns an attribute by its number in `cuda.h` (`CU_FUNC_ATTRIBUTE_…`). Registers are not allotted here; their number is
    /// always 32.
    #[expect(clippy::cast_possible_wrap, reason = "sizes of shared memory are small")]
    pub(crate) fn function_attribute(&self, handle: Handle, which: i32) -> Result<i32> {
        let function = self.function(handle)?;
        let target = function.module.target;
        Ok(match which {
            0 => 1024,
            1 => function.static_shared()? as i32,
            4 => 32,
            5 | 6 => i32::from(target.major) * 10 + i32::from(target.minor),
            DYNAMIC_SHARED => function.dynamic_shared as i32,
            9 => -1,
            2 | 3 | 7 | 10..=15 => 0,
            _ => return Err(Code::InvalidValue),
        })
    }

    pub(crate) fn set_function_attribute(
        &mut self,
        handle: Handle,
        which: i32,
        value: i32,
    ) -> Result {
        let most = self.limits().most_shared;
        let room = most.saturating_sub(self.function(handle)?.static_shared()?);
        let function = self.functions.get_mut(handle)?;
        match (which, u32::try_from(value)) {
            (DYNAMIC_SHARED, Ok(bytes)) if bytes <= room => function.dynamic_shared = bytes,
            // A hint about caches.
            (9, _) => {}
            _ => return Err(Code::InvalidValue),
        }
        Ok(())
    }

    /// Returns how many blocks fit on a multiprocessor, by threads and shared memory. Registers are not allotted here.
    pub(crate) fn blocks_that_fit(
        &self,
        function: Handle,
        threads: i32,
        dynamic_shared: usize,
    ) -> Result<i32> {
        let threads = u32::try_from(threads).ok().filter(|threads| (1..=1024).contains(threads));
        let threads = threads.ok_or(Code::InvalidValue)?;
        let limits = self.limits();
        let shared = self.function(function)?.static_shared()?;
        let shared =
            u32::try_from(dynamic_shared).map_or(u32::MAX, |more| shared.saturating_add(more));
        let by_threads = limits.threads / threads.next_multiple_of(32);
        let by_shared = limits.shared.checked_div(shared).unwrap_or(limits.blocks);
        Ok(by_threads.min(by_shared).min(limits.blocks).cast_signed())
    }
}
