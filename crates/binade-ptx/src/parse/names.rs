//! Names in an entry: registers by scope, variables, labels.

use std::collections::HashMap;

use crate::{
    ParseError,
    isa::{Class, Space},
    module::Special,
};

/// Declared register.
#[derive(Clone, Copy, Debug)]
pub(super) struct Register {
    pub(super) number: usize,
    pub(super) class: Class,
}

/// Place of a variable in its state space.
#[derive(Clone, Copy, Debug)]
pub(super) struct Symbol {
    pub(super) space: Space,
    pub(super) offset: u64,
}

#[derive(Debug, Default)]
pub(super) struct Names {
    /// Open scopes, innermost last.
    scopes: Vec<HashMap<String, Register>>,
    pub(super) registers: usize,
    pub(super) symbols: HashMap<String, Symbol>,
    /// Registers that hold a literal, by the literal.
    pub(super) literals: HashMap<u64, usize>,
    pub(super) specials: Vec<(usize, Special)>,
    /// Labels by their number.
    labels: Vec<Label>,
}

/// Label: its instruction's index, once seen, and the line that first named it.
#[derive(Debug)]
struct Label {
    name: String,
    target: Option<usize>,
    line: u32,
}

impl Names {
    pub(super) fn open(&mut self) {
        self.scopes.push(HashMap::new());
    }

    /// Closes a scope. Returns true if another is still open.
    pub(super) fn close(&mut self) -> bool {
        self.scopes.pop();
        !self.scopes.is_empty()
    }

    pub(super) fn declare(&mut self, name: String, class: Class) {
        let register = Register { number: self.unnamed(), class };
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name, register);
        }
    }

    /// Returns a new register that no name reaches.
    pub(super) fn unnamed(&mut self) -> usize {
        self.registers += 1;
        self.registers - 1
    }

    /// Returns the register that holds a literal.
    pub(super) fn literal(&mut self, value: u64) -> usize {
        if let Some(number) = self.literals.get(&value) {
            return *number;
        }
        let number = self.unnamed();
        self.literals.insert(value, number);
        number
    }

    /// Returns the register that the hardware fills with this value.
    pub(super) fn special(&mut self, special: Special) -> usize {
        if let Some((number, _)) = self.specials.iter().find(|(_, other)| *other == special) {
            return *number;
        }
        let number = self.unnamed();
        self.specials.push((number, special));
        number
    }

    pub(super) fn register(&self, name: &str) -> Option<Register> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name)).copied()
    }

    /// Returns the number of a label, seen already or not.
    pub(super) fn label(&mut self, name: &str, line: u32) -> usize {
        if let Some(number) = self.labels.iter().position(|label| label.name == name) {
            return number;
        }
        self.labels.push(Label { name: name.to_owned(), target: None, line });
        self.labels.len() - 1
    }

    pub(super) fn place_label(
        &mut self,
        name: &str,
        line: u32,
        target: usize,
    ) -> Result<(), ParseError> {
        let number = self.label(name, line);
        match self.labels[number].target.replace(target) {
            None => Ok(()),
            Some(_) => Err(ParseError::twice(line, name)),
        }
    }

    /// Returns the instruction index of a label, once the whole body is read.
    pub(super) fn target(&self, number: usize) -> Result<usize, ParseError> {
        let Label { name, target, line } = &self.labels[number];
        target.ok_or_else(|| ParseError::undeclared(*line, name))
    }
}
