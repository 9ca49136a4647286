//! Body of an entry: declarations, labels and instructions.

use super::{
    cursor::Cursor,
    decode::{self, Decoder},
    names::{Names, Symbol},
    operand::operand,
    top::Declared,
};
use crate::{
    ParseError,
    isa::{Class, Space},
    module::{Capability, Entry, Guard, Instruction, Operand},
};

#[derive(Debug)]
struct Body<'a, 'c> {
    cursor: &'c mut Cursor<'a>,
    target: Capability,
    names: Names,
    entry: Entry,
    source: Option<(u32, u32)>,
    /// Arrays that the launch sizes. They are placed after all others, once the first instruction ends the declarations.
    sized_at_launch: Vec<Declared>,
}

/// Reads the body of `entry`, whose name and parameters are known.
pub(super) fn body(
    cursor: &mut Cursor<'_>,
    target: Capability,
    entry: Entry,
    variables: &[Declared],
) -> Result<Entry, ParseError> {
    let mut body = Body {
        cursor,
        target,
        names: Names::default(),
        entry,
        source: None,
        sized_at_launch: Vec::new(),
    };
    for param in &body.entry.params {
        let symbol = Symbol { space: Space::Param, offset: param.offset };
        body.names.symbols.insert(param.name.clone(), symbol);
    }
    for variable in variables {
        body.declare_shared(variable)?;
    }
    body.statements()?;
    body.finish()
}

impl Body<'_, '_> {
    fn statements(&mut self) -> Result<(), ParseError> {
        self.cursor.want("{")?;
        self.names.open();
        loop {
            let line = self.cursor.line();
            match self.cursor.peek() {
                "{" => self.names.open(),
                "}" if self.names.close() => {}
                "}" => {
                    self.cursor.next();
                    return Ok(());
                }
                ";" => {}
                ".loc" => {
                    self.location(line)?;
                    continue;
                }
                _ => {
                    self.statement(line)?;
                    continue;
                }
            }
            self.cursor.next();
        }
    }

    fn statement(&mut self, line: u32) -> Result<(), ParseError> {
        if !self.cursor.peek().starts_with('.') {
            return self.label_or_instruction(line);
        }
        match self.cursor.next() {
            ".reg" => self.registers(),
            ".shared" => {
                let variable = Declared::shared(self.cursor)?;
                self.declare_shared(&variable)
            }
            // Hints to the compiler behind PTX change no result.
            ".pragma" => {
                self.cursor.next();
                self.cursor.want(";")
            }
            name => Err(ParseError::directive(line, name)),
        }
    }

    /// Reads `.loc file line column`, and skips the rest of the line about inlining.
    fn location(&mut self, line: u32) -> Result<(), ParseError> {
        self.cursor.next();
        let file = u32::try_from(self.cursor.number()?).unwrap_or(u32::MAX);
        let number = u32::try_from(self.cursor.number()?).unwrap_or(u32::MAX);
        self.source = Some((file, number));
        self.cursor.skip_line(line);
        Ok(())
    }

    /// Reads `.reg .b32 %r<5>, %x;`.
    fn registers(&mut self) -> Result<(), ParseError> {
        let class = Class::of_type(self.cursor.peek())
            .ok_or_else(|| self.cursor.expected("a register type"))?;
        self.cursor.next();
        loop {
            let name = self.cursor.name()?;
            if self.cursor.eat("<") {
                for number in 0..self.cursor.number()? {
                    self.names.declare(format!("{name}{number}"), class);
                }
                self.cursor.want(">")?;
            } else {
                self.names.declare(name.to_owned(), class);
            }
            if self.cursor.eat(";") {
                return Ok(());
            }
            self.cursor.want(",")?;
        }
    }

    fn declare_shared(&mut self, variable: &Declared) -> Result<(), ParseError> {
        if !self.entry.code.is_empty() {
            return Err(self.cursor.expected("shared variables before the first instruction"));
        }
        if variable.bytes.is_none() {
            self.sized_at_launch.push(variable.clone());
        } else {
            self.place(variable);
        }
        Ok(())
    }

    fn place(&mut self, variable: &Declared) {
        let offset = self.entry.shared_bytes.next_multiple_of(variable.align);
        self.entry.shared_bytes = offset + variable.bytes.unwrap_or(0);
        self.names.symbols.insert(variable.name.clone(), Symbol { space: Space::Shared, offset });
    }

    fn label_or_instruction(&mut self, line: u32) -> Result<(), ParseError> {
        let guard = if self.cursor.eat("@") { Some(self.guard(line)?) } else { None };
        let word = self.cursor.name()?;
        if guard.is_none() && self.cursor.eat(":") {
            return self.names.place_label(word, line, self.entry.code.len());
        }
        for variable in std::mem::take(&mut self.sized_at_launch) {
            self.place(&variable);
        }
        let forms = decode::forms(word, line, self.target)?;
        let mut written = Vec::new();
        while !self.cursor.eat(";") {
            if !written.is_empty() {
                self.cursor.want(",")?;
            }
            written.push(operand(self.cursor)?);
        }
        let mut decoder = Decoder { names: &mut self.names, line };
        let (form, operands) = decoder.instruction(forms, &written)?;
        self.entry.code.push(Instruction { form, guard, operands, line, source: self.source });
        Ok(())
    }

    fn guard(&mut self, line: u32) -> Result<Guard, ParseError> {
        let negated = self.cursor.eat("!");
        let name = self.cursor.name()?;
        match self.names.register(name) {
            Some(register) if register.class == Class::Predicate => {
                Ok(Guard { register: register.number, negated })
            }
            _ => Err(ParseError::undeclared(line, name)),
        }
    }

    /// Resolves labels to instruction indices, and refuses an entry that runs off its end.
    fn finish(mut self) -> Result<Entry, ParseError> {
        for instruction in &mut self.entry.code {
            for operand in &mut instruction.operands {
                if let Operand::Target(label) = operand {
                    *label = self.names.target(*label)?;
                }
            }
        }
        let is_ended = |last: &Instruction| last.form.ends() && last.guard.is_none();
        if !self.entry.code.last().is_some_and(is_ended) {
            return Err(self.cursor.expected("`ret` or a jump before the entry's end"));
        }
        self.entry.registers = self.names.registers;
        self.entry.literals =
            self.names.literals.into_iter().map(|(value, at)| (at, value)).collect();
        self.entry.specials = self.names.specials;
        Ok(self.entry)
    }
}
