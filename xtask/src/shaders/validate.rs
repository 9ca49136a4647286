//! Validation of a composed shader by naga, with the capabilities that every device has, and what each entry takes.

use std::{collections::BTreeMap, fmt};

use naga::{
    AddressSpace, EntryPoint, Module, StorageAccess,
    front::wgsl,
    proc::Layouter,
    valid::{Capabilities, FunctionInfo, ValidationFlags, Validator},
};

use crate::shaders::backends;

/// An entry of a shader. Displays as a line that the backend's tests compare with what it passes.
#[derive(Debug, Default)]
pub(super) struct Entry {
    file: String,
    name: String,
    /// Invocations of a group.
    threads: u32,
    /// Bytes of the uniform at group 0 binding 0.
    params: u32,
    /// Storage buffers that it uses, by binding, and whether it writes to them.
    bindings: BTreeMap<u32, bool>,
    /// Bytes that a group shares.
    shared: u32,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, name, threads, params, .. } = self;
        write!(f, "{file} {name} threads={threads} params={params}")?;
        for (binding, writes) in &self.bindings {
            write!(f, " {binding}:{}", if *writes { "write" } else { "read" })?;
        }
        Ok(())
    }
}

impl Entry {
    /// The limits of WebGPU ("Limits"), which every device keeps, that the entry breaks. wgpu does not hold shared memory to them.
    fn broken(&self) -> Vec<String> {
        let buffers = u32::try_from(self.bindings.len()).unwrap_or(u32::MAX);
        let all = [
            ("invocations in a group", self.threads, 256),
            ("bytes shared by a group", self.shared, 16 << 10),
            ("storage buffers", buffers, 8),
            // No limit of WebGPU's: the distance between the parameters of two dispatches of one batch.
            ("bytes of parameters", self.params, 256),
        ];
        let over = all.into_iter().filter(|(_, count, most)| count > most);
        over.map(|(what, count, most)| format!("`{}`: {count} {what}, {most} at most", self.name))
            .collect()
    }
}

/// The entries of `text`; the errors say what is wrong.
pub(super) fn entries(file: &str, text: &str) -> Result<Vec<Entry>, Vec<String>> {
    let module = wgsl::parse_str(text).map_err(|error| vec![error.emit_to_string(text)])?;
    // Halves in the memory of f32 functions, which is no feature.
    let least = Capabilities::SHADER_FLOAT16_IN_FLOAT32;
    let info = Validator::new(ValidationFlags::all(), least).validate(&module);
    let info = info.map_err(|error| vec![error.emit_to_string(text)])?;
    if module.entry_points.is_empty() {
        return Err(vec!["it has no entry".into()]);
    }
    let (mut entries, mut errors) = (Vec::new(), backends::errors(&module, &info));
    for (index, point) in module.entry_points.iter().enumerate() {
        match entry(file, &module, info.get_entry_point(index), point) {
            Ok(entry) => {
                errors.extend(entry.broken());
                entries.push(entry);
            }
            Err(error) => errors.push(format!("`{}`: {error}", point.name)),
        }
    }
    if errors.is_empty() { Ok(entries) } else { Err(errors) }
}

/// Returns one entry.
fn entry(
    file: &str,
    module: &Module,
    uses: &FunctionInfo,
    point: &EntryPoint,
) -> Result<Entry, String> {
    let mut layouts = Layouter::default();
    layouts.update(module.to_ctx()).map_err(|error| error.to_string())?;
    let mut entry = Entry {
        file: file.to_owned(),
        name: point.name.clone(),
        threads: point.workgroup_size.iter().product(),
        ..Entry::default()
    };
    for (handle, variable) in module.global_variables.iter() {
        if uses[handle].is_empty() {
            continue;
        }
        let place = variable.binding.as_ref().map(|place| (place.group, place.binding));
        match (variable.space, place) {
            (AddressSpace::WorkGroup, _) => entry.shared += layouts[variable.ty].size,
            (AddressSpace::Uniform, Some((0, 0))) => entry.params = layouts[variable.ty].size,
            (AddressSpace::Storage { access }, Some((0, binding @ 1..))) => {
                entry.bindings.insert(binding, access.contains(StorageAccess::STORE));
            }
            (AddressSpace::Private | AddressSpace::Function, _) => {}
            other => {
                return Err(format!(
                    "{other:?}: parameters are the uniform at group 0 binding 0, the rest storage behind it"
                ));
            }
        }
    }
    if entry.params == 0 {
        return Err(
            "it takes no parameters: lengths are passed, in the uniform at group 0 binding 0"
                .into(),
        );
    }
    Ok(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(body: &str) -> String {
        format!(
            "struct P {{ n: u32, m: u32 }}\n@group(0) @binding(0) var<uniform> p: P;\n\
             @group(0) @binding(1) var<storage, read> a: array<u32>;\n\
             @group(0) @binding(2) var<storage, read_write> b: array<u32>;\n{body}"
        )
    }

    const MAIN: &str =
        "@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) i: vec3<u32>) {";

    #[test]
    fn an_entry_is_told_with_what_it_takes() {
        let text = text(&format!("{MAIN} if (i.x < p.n) {{ b[i.x] = a[i.x]; }} }}"));
        let found = entries("k", &text).unwrap();
        assert_eq!(found[0].to_string(), "k main threads=64 params=8 1:read 2:write");
    }

    #[test]
    fn what_does_not_parse_validate_or_run_everywhere_is_shown() {
        assert!(entries("k", "fn f( {").unwrap_err()[0].contains("fn f( {"));
        assert!(entries("k", "fn f() -> u32 { return 1.0f; }").is_err());
        let half = format!("enable f16;\n{}", text(&format!("{MAIN} b[0] = u32(f16(p.n)); }}")));
        assert!(entries("k", &half).unwrap_err()[0].contains("f16"));
    }

    #[test]
    fn what_is_bound_elsewhere_and_an_entry_without_parameters_are_refused() {
        let elsewhere = text(&format!(
            "@group(1) @binding(0) var<storage, read> c: array<u32>;\n{MAIN} b[0] = c[0] + p.n; }}"
        ));
        assert!(entries("k", &elsewhere).unwrap_err()[0].contains("group 0 binding 0"));
        let none = text(&format!("{MAIN} b[0] = a[0]; }}"));
        assert!(entries("k", &none).unwrap_err()[0].contains("takes no parameters"));
    }

    #[test]
    fn an_entry_on_every_limit_passes_and_one_over_each_is_told() {
        let entry = |over: u32| Entry {
            name: "main".into(),
            threads: 256 + over,
            params: 256 + over,
            shared: (16 << 10) + over,
            bindings: (1..=8 + over).map(|binding| (binding, false)).collect(),
            ..Entry::default()
        };
        assert_eq!(entry(0).broken(), [""; 0]);
        assert_eq!(entry(1).broken().len(), 4);
        assert_eq!(entry(1).broken()[0], "`main`: 257 invocations in a group, 256 at most");
    }
}
