//! Forms of loads, stores and atomics. Volatile ones are like any other here, where a write is seen at once. Sums of floats by
//! atomics are not in the table: their order, and so their bits, are open.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "a register's low bits, read as the type that the form names"
)]

use super::{
    Change,
    Class::{W16, W32, W64},
    Kind::{From, FromVector, FromWider, Memory, To, ToVector, ToWider},
    Op, Space, Table,
};

/// Spaces by the prefixes of loads and stores; the flag is true where the space is written too.
const SPACES: [(&str, Space, bool); 8] = [
    (".param", Space::Param, false),
    (".global.nc", Space::Global, false),
    (".global", Space::Global, true),
    (".volatile.global", Space::Global, true),
    (".shared", Space::Shared, true),
    (".volatile.shared", Space::Shared, true),
    ("", Space::Global, true),
    (".volatile", Space::Global, true),
];

/// Atomics by name, type, bytes and function, which gets the old value and the operands, and returns the new one.
const ATOMICS: [(&str, &str, usize, Change); 23] = [
    ("add", "u32", 4, |old, b, _| old.wrapping_add(b) & 0xffff_ffff),
    ("add", "s32", 4, |old, b, _| old.wrapping_add(b) & 0xffff_ffff),
    ("add", "u64", 8, |old, b, _| old.wrapping_add(b)),
    ("and", "b32", 4, |old, b, _| old & b),
    ("and", "b64", 8, |old, b, _| old & b),
    ("or", "b32", 4, |old, b, _| old | b),
    ("or", "b64", 8, |old, b, _| old | b),
    ("xor", "b32", 4, |old, b, _| old ^ b),
    ("xor", "b64", 8, |old, b, _| old ^ b),
    ("min", "u32", 4, |old, b, _| old.min(b)),
    ("min", "s32", 4, |old, b, _| if (old as i32) < b as i32 { old } else { b }),
    ("min", "u64", 8, |old, b, _| old.min(b)),
    ("min", "s64", 8, |old, b, _| if (old as i64) < b as i64 { old } else { b }),
    ("max", "u32", 4, |old, b, _| old.max(b)),
    ("max", "s32", 4, |old, b, _| if old as i32 > b as i32 { old } else { b }),
    ("max", "u64", 8, |old, b, _| old.max(b)),
    ("max", "s64", 8, |old, b, _| if old as i64 > b as i64 { old } else { b }),
    // `inc` counts up to the operand and wraps to 0, `dec` counts down from it.
    ("inc", "u32", 4, |old, b, _| if old >= b { 0 } else { old + 1 }),
    ("dec", "u32", 4, |old, b, _| if old == 0 || old > b { b } else { old - 1 }),
    ("exch", "b32", 4, |_, b, _| b),
    ("exch", "b64", 8, |_, b, _| b),
    ("cas", "b32", 4, |old, b, c| if old == b { c } else { old }),
    ("cas", "b64", 8, |old, b, c| if old == b { c } else { old }),
];

/// Adds the load and the store of each type and of vectors. Integers and bits go into wider registers and come from them, floats
/// do not.
fn add_accesses(table: &mut Table, prefix: &str, space: Space, is_written: bool) {
    for (bits, class) in [(8, W16), (16, W16), (32, W32), (64, W64)] {
        let (bytes, is_float) = (bits / 8, bits >= 32);
        for letter in ["b", "u", "s", "f"].into_iter().filter(|letter| *letter != "f" || is_float) {
            let name = |vector: &str| format!("{prefix}{vector}.{letter}{bits}");
            let [to, from] = match letter {
                "f" => [To(class), From(class)],
                _ => [ToWider(class), FromWider(class)],
            };
            if letter != "s" || bits == 64 {
                table.form(
                    format!("ld{}", name("")),
                    vec![to, Memory(space)],
                    Op::Load(space, bytes),
                );
            }
            if is_written {
                table.form(
                    format!("st{}", name("")),
                    vec![Memory(space), from],
                    Op::Store(space, bytes),
                );
            }
            for count in [2, 4].into_iter().filter(|count| letter != "s" && count * bytes <= 16) {
                let name = name(&format!(".v{count}"));
                let (to, from) = (ToVector(class, count), FromVector(class, count));
                table.form(format!("ld{name}"), vec![to, Memory(space)], Op::Load(space, bytes));
                if is_written {
                    table.form(
                        format!("st{name}"),
                        vec![Memory(space), from],
                        Op::Store(space, bytes),
                    );
                }
            }
        }
        // The element's sign fills the register, of any class that holds the element.
        for to in [W16, W32, W64].into_iter().filter(|to| bits < 64 && *to >= class) {
            let load = Op::LoadSigned(space, bytes, to);
            table.form(format!("ld{prefix}.s{bits}"), vec![To(to), Memory(space)], load);
        }
    }
}

pub(super) fn add(table: &mut Table) {
    for (prefix, space, is_written) in SPACES {
        add_accesses(table, prefix, space, is_written);
    }
    for (prefix, space) in
        [("", Space::Global), (".global", Space::Global), (".shared", Space::Shared)]
    {
        for (name, kind, bytes, change) in ATOMICS {
            let class = if bytes == 4 { W32 } else { W64 };
            let mut operands = vec![To(class), Memory(space), From(class)];
            operands.extend((name == "cas").then_some(From(class)));
            let op = Op::Atomic(space, bytes, change);
            table.form(format!("atom{prefix}.{name}.{kind}"), operands, op);
        }
    }
}
