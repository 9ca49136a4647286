//! Validation of a composed shader by naga: whether it is valid, with which capability, and what each entry takes.

use std::{collections::BTreeMap, fmt};

use naga::{
    AddressSpace, Module, StorageAccess,
    back::pipeline_constants::process_overrides,
    front::wgsl,
    proc::Layouter,
    valid::{Capabilities, ModuleInfo, ValidationFlags, Validator},
};

use crate::shaders::backends;

/// An entry of a shader, overrides resolved. Displays as a line that the backend's tests compare with what it passes.
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
    overrides: Vec<(String, f64)>,
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
        self.overrides.iter().try_for_each(|(name, value)| write!(f, " {name}={value}"))
    }
}

impl Entry {
    /// The limits of WebGPU ("Limits"), which every device keeps, that the entry breaks. wgpu does not hold overrides and shared memory
    /// to them.
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
pub(super) fn entries(
    file: &str,
    text: &str,
    overrides: &[(String, f64)],
) -> Result<Vec<Entry>, Vec<String>> {
    let module = wgsl::parse_str(text).map_err(|error| vec![error.emit_to_string(text)])?;
    let info = validated(file, &module, text).map_err(|error| vec![error])?;
    if module.entry_points.is_empty() {
        return Err(vec!["it has no entry".into()]);
    }
    let (mut entries, mut errors) = (Vec::new(), Vec::new());
    for point in &module.entry_points {
        match entry(file, &module, &info, &point.name, overrides) {
            Ok((entry, wrong)) => {
                entries.push(entry);
                errors.extend(wrong);
            }
            Err(error) => errors.push(format!("`{}`: {error}", point.name)),
        }
    }
    if errors.is_empty() { Ok(entries) } else { Err(errors) }
}

/// Validates with the least that is enough: a shader runs on every device, unless its name says that it needs `f16`.
fn validated(file: &str, module: &Module, text: &str) -> Result<ModuleInfo, String> {
    let with = |capabilities| {
        let valid = Validator::new(ValidationFlags::all(), capabilities).validate(module);
        valid.map_err(|error| error.emit_to_string(text))
    };
    // Halves in the memory of f32 functions, which is no feature.
    let base = Capabilities::SHADER_FLOAT16_IN_FLOAT32;
    let f16 = base | Capabilities::SHADER_FLOAT16;
    match (file.ends_with("_f16"), with(base)) {
        (true, Ok(_)) => Err("it needs no f16: leave `_f16` out of its name".into()),
        (false, Ok(info)) => Ok(info),
        (true, Err(_)) => with(f16),
        (false, Err(error)) => Err(match with(f16) {
            Ok(_) => "it needs f16, which only files may that end in `_f16`".into(),
            Err(_) => error,
        }),
    }
}

/// Returns one entry with overrides resolved, and what is wrong with it.
fn entry(
    file: &str,
    module: &Module,
    info: &ModuleInfo,
    name: &str,
    overrides: &[(String, f64)],
) -> Result<(Entry, Vec<String>), String> {
    let stage = naga::ShaderStage::Compute;
    let mine = overrides.iter().filter(|(name, _)| {
        module.overrides.iter().any(|(_, it)| it.name.as_deref() == Some(name))
    });
    if let Some((name, _)) = overrides.iter().find(|it| !mine.clone().any(|mine| mine == *it)) {
        return Err(format!("the header has a value for `{name}`, which is no override"));
    }
    let constants = mine.cloned().collect();
    let (module, info) =
        process_overrides(module, info, Some((stage, name)), &constants).map_err(|error| {
            format!("{error}: give it a value in the header, `// overrides: NAME=1`")
        })?;
    let point = module.entry_points.first().ok_or("it is gone once overrides are resolved")?;
    let uses = info.get_entry_point(0);
    let mut layouts = Layouter::default();
    layouts.update(module.to_ctx()).map_err(|error| error.to_string())?;
    let mut entry = Entry {
        file: file.to_owned(),
        name: name.to_owned(),
        threads: point.workgroup_size.iter().product(),
        overrides: overrides.to_vec(),
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
    let mut wrong = entry.broken();
    wrong.extend(backends::errors(&module, &info));
    Ok((entry, wrong))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(body: &str) -> String {
        format!(
            "struct P {{ n: u32, m: u32 }}\n@group(0) @binding(0) var<uniform> p: P;\n\
             @group(0) @binding(1) var<storage, read> a: array<u32>;\n\
             @group(0) @binding(2) var<storage, read_write> b: array<u32>;\n\
             override T = 64u;\n{body}"
        )
    }

    const MAIN: &str =
        "@compute @workgroup_size(T) fn main(@builtin(global_invocation_id) i: vec3<u32>) {";

    #[test]
    fn an_entry_is_told_with_its_overrides_resolved() {
        let text = text(&format!("{MAIN} if (i.x < p.n) {{ b[i.x] = a[i.x]; }} }}"));
        let found = entries("k", &text, &[("T".into(), 32.0)]).unwrap();
        assert_eq!(found[0].to_string(), "k main threads=32 params=8 1:read 2:write T=32");
        assert_eq!(entries("k", &text, &[]).unwrap()[0].threads, 64, "its own value");
        let error = entries("k", &text, &[("U".into(), 1.0)]).unwrap_err();
        assert!(error[0].contains("`U`, which is no override"), "{error:?}");
    }

    #[test]
    fn what_does_not_parse_or_validate_is_shown() {
        assert!(entries("k", "fn f( {", &[]).unwrap_err()[0].contains("fn f( {"));
        assert!(entries("k", "fn f() -> u32 { return 1.0f; }", &[]).is_err());
        let open = text("override U: u32;\n@compute @workgroup_size(U) fn main() { b[0] = p.n; }");
        assert!(entries("k", &open, &[]).unwrap_err()[0].contains("// overrides: NAME=1"));
    }

    #[test]
    fn only_a_file_that_says_so_needs_f16_and_one_that_says_so_does() {
        let half = format!("enable f16;\n{}", text(&format!("{MAIN} b[0] = u32(f16(p.n)); }}")));
        assert!(entries("k_f16", &half, &[]).is_ok());
        assert!(entries("k", &half, &[]).unwrap_err()[0].contains("`_f16`"));
        let plain = text(&format!("{MAIN} b[0] = p.n; }}"));
        assert!(entries("k_f16", &plain, &[]).unwrap_err()[0].contains("needs no f16"));
    }

    #[test]
    fn what_is_bound_elsewhere_and_an_entry_without_parameters_are_refused() {
        let elsewhere = text(&format!(
            "@group(1) @binding(0) var<storage, read> c: array<u32>;\n{MAIN} b[0] = c[0] + p.n; }}"
        ));
        assert!(entries("k", &elsewhere, &[]).unwrap_err()[0].contains("group 0 binding 0"));
        let none = text(&format!("{MAIN} b[0] = a[0]; }}"));
        assert!(entries("k", &none, &[]).unwrap_err()[0].contains("takes no parameters"));
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
