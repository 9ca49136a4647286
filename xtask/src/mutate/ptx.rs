//! Changes of one PTX instruction: another operation, another comparison, a literal beside it, operands exchanged, a guard turned
//! round, an address four bytes on, a store or a barrier left out.

use super::Change;

/// Operations that take each other's place, by the part of the opcode that says which.
const OTHERS: &str = "add:sub sub:add min:max max:min and:or or:and xor:or neg:mov abs:neg eq:ne ne:eq lt:le le:lt gt:ge ge:gt \
    lo:ls ls:lo hi:hs hs:hi equ:neu neu:equ ltu:leu leu:ltu gtu:geu geu:gtu mul.rn.f32:add.rn.f32 mul.rn.f64:add.rn.f64 \
    div.rn.f32:mul.rn.f32 div.rn.f64:mul.rn.f64 shl.b32:shr.u32 shr.u32:shl.b32 shl.b64:shr.u64 shr.u64:shl.b64 not:mov";

fn other(name: &str) -> Option<&'static str> {
    OTHERS.split(' ').find_map(|pair| pair.strip_prefix(name)?.strip_prefix(':'))
}

/// Instructions whose two sources are not alike.
const ORDERED: [&str; 6] = ["sub", "div", "setp", "selp", "shl", "shr"];

/// Instructions that can be left out, since no register waits for what they do.
const DROPPED: [&str; 3] = ["st", "bar", "red"];

/// Each line with an instruction, as the changes that it allows.
pub(super) fn lines(text: &str) -> Vec<Vec<Change>> {
    let lines = text.lines().enumerate().skip_while(|(_, line)| !line.contains(".entry"));
    let all = lines.filter_map(|(index, line)| {
        let before = instruction(line)?;
        let change = |after| Change { line: index + 1, before: before.to_owned(), after };
        let changes: Vec<_> = afters(before).into_iter().map(change).collect();
        (!changes.is_empty()).then_some(changes)
    });
    all.collect()
}

/// The one instruction of a line, with its semicolon.
fn instruction(line: &str) -> Option<&str> {
    let code = line.trim().trim_start_matches('{').trim_start();
    let code = &code[..=code.find(';')?];
    (code.starts_with(|c: char| c.is_ascii_lowercase() || c == '@')).then_some(code)
}

/// The instructions that may replace an instruction.
fn afters(before: &str) -> Vec<String> {
    let (guard, rest) = match before.split_once(char::is_whitespace) {
        Some((guard, rest)) if guard.starts_with('@') => (Some(guard), rest.trim_start()),
        _ => (None, before),
    };
    let mut afters: Vec<String> = guard.map(|guard| turned(guard, rest)).into_iter().collect();
    let Some((opcode, operands)) = rest.split_once(char::is_whitespace) else { return afters };
    let guard = guard.map_or(String::new(), |guard| format!("{guard} "));
    let operands = operands.trim().trim_end_matches(';');
    let list = split(operands);
    let with = |opcode: &str, operands: &str| format!("{guard}{opcode} {operands};");
    afters.extend(opcodes(opcode).iter().map(|other| with(other, operands)));
    let name = opcode.split('.').next().unwrap_or_default();
    if DROPPED.contains(&name) {
        afters.push(";".into());
    }
    let is_symmetric = opcode.split('.').any(|it| ["eq", "ne", "equ", "neu"].contains(&it));
    let is_ordered = ORDERED.contains(&name) && !is_symmetric;
    if let (true, [to, a, b, others @ ..]) = (is_ordered, &list[..])
        && a != b
    {
        afters.push(with(opcode, &[&[*to, *b, *a], others].concat().join(", ")));
    }
    for (index, operand) in list.iter().enumerate() {
        for other in neighbours(operand) {
            let mut list = list.clone();
            list[index] = &other;
            afters.push(with(opcode, &list.join(", ")));
        }
    }
    afters
}

/// The instruction under the opposite guard.
fn turned(guard: &str, rest: &str) -> String {
    match guard.strip_prefix("@!") {
        Some(name) => format!("@{name} {rest}"),
        None => format!("@!{} {rest}", &guard[1..]),
    }
}

/// At commas that stand in no list and no address.
fn split(operands: &str) -> Vec<&str> {
    let mut depth = 0_i32;
    let at_comma = |c: char| {
        depth += i32::from("{[(".contains(c)) - i32::from("}])".contains(c));
        c == ',' && depth == 0
    };
    operands.split(at_comma).map(str::trim).collect()
}

/// Opcodes with parts that only look like operations and comparisons: branches, shapes of matrices, the low half of a product.
const ALIKE: [&str; 7] = ["bra", "mma", "wmma", "ldmatrix", "cvt", "mul", "mad"];

/// The opcode with another operation or comparison.
fn opcodes(opcode: &str) -> Vec<String> {
    if let Some(whole) = other(opcode) {
        return vec![whole.to_owned()];
    }
    if ALIKE.iter().any(|name| opcode.starts_with(name)) {
        return Vec::new();
    }
    let parts: Vec<_> = opcode.split('.').collect();
    let changed = parts.iter().enumerate().filter_map(|(index, part)| {
        let mut parts = parts.clone();
        parts[index] = other(part)?;
        Some(parts.join("."))
    });
    changed.collect()
}

/// A literal one more and one less, a float's lowest bit and its sign; an address four bytes on.
fn neighbours(operand: &str) -> Vec<String> {
    for (mark, digits) in [("0f", 8), ("0d", 16)] {
        let hex = operand.strip_prefix(mark).map(|hex| u64::from_str_radix(hex, 16));
        if let Some(Ok(bits)) = hex {
            let both = [bits ^ 1, bits ^ 1 << (4 * digits - 1)];
            return both.map(|bits| format!("{mark}{bits:0digits$X}")).into();
        }
    }
    if let Ok(number) = operand.parse::<i64>() {
        let both = [number.checked_add(1), number.checked_sub(1)];
        return both.iter().flatten().map(i64::to_string).collect();
    }
    let address = operand.strip_prefix("[%").and_then(|address| address.strip_suffix(']'));
    let moved = address.and_then(|address| {
        let (base, offset) = address.split_once('+').unwrap_or((address, "0"));
        Some(format!("[%{base}+{}]", offset.parse::<i64>().ok()? + 4))
    });
    moved.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_an_instruction_changes_by_itself() {
        for (before, wanted) in [
            (
                "add.s32 \t%r1, %r2, 32767;",
                "sub.s32 %r1, %r2, 32767;|add.s32 %r1, %r2, 32768;|add.s32 %r1, %r2, 32766;",
            ),
            ("mul.rn.f32 \t%f1, %f2, %f3;", "add.rn.f32 %f1, %f2, %f3;"),
            ("mul.lo.s32 \t%r1, %r2, %r3;", ""),
            ("mov.f32 %f1, 0f3F800000;", "mov.f32 %f1, 0f3F800001;|mov.f32 %f1, 0fBF800000;"),
            ("setp.lt.u32 %p1, %r1, %r2;", "setp.le.u32 %p1, %r1, %r2;|setp.lt.u32 %p1, %r2, %r1;"),
            ("setp.eq.s32 %p1, %r1, %r2;", "setp.ne.s32 %p1, %r1, %r2;"),
            ("@%p1 bra \t$L__BB0_7;", "@!%p1 bra \t$L__BB0_7;"),
            ("selp.f32 %f1, %f2, %f3, %p1;", "selp.f32 %f1, %f3, %f2, %p1;"),
            (
                "st.global.v2.f32 [%rd1+-8], {%f1, %f2};",
                ";|st.global.v2.f32 [%rd1+-4], {%f1, %f2};",
            ),
        ] {
            assert_eq!(afters(before).join("|"), wanted, "{before}");
        }
    }

    #[test]
    fn text_that_is_no_instruction_is_left_alone() {
        let text = ".version 9.0;\n.entry k(\n)\n{\n\t.reg .b32 %r<4>;\n$L__BB0_1:\n\t// add;\n\tret;\n\tadd.s32 %r1, %r1, %r2;\n}\n";
        let lines = lines(text);
        assert_eq!(lines.len(), 1);
        assert_eq!((lines[0][0].line, lines[0][0].after.as_str()), (9, "sub.s32 %r1, %r1, %r2;"));
    }
}
