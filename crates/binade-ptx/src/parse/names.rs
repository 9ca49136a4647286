//! Names in an entry: registers by scope, variables, labels.

use std::collections::HashMap;

use crate::{
    ParseError,
    isa::{Class, Space},
    module::Special,
};

/// A declared register.
#[derive(Clone, Copy, Debug)]
pub(super) struct Register {
    pub(super) number: usize,
    pub(super) class: Class,
}

/// A variable's place in its state space.
#[derive(Clone, Copy, Debug)]
pub(super) struct Symbol {
    pub(super) space: Space,
    pub(super) offset: u64,
}

#[derive(Debug, Default)]
pub(super) struct Names {
    /// Innermost last.
    scopes: Vec<HashMap<String, Register>>,
    pub(super) registers: usize,
    pub(super) symbols: HashMap<String, Symbol>,
    /// Registers that hold a literal, by the literal.
    pub(super) literals: HashMap<u64, usize>,
    pub(super) specials: Vec<(usize, Special)>,
    /// A label's number is its place here.
    labels: Vec<Label>,
}

/// A label: where it stands, once seen, and where it was first named.
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

    /// Closes a scope; whether another is still open.
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

    /// A register that no name reaches.
    pub(super) fn unnamed(&mut self) -> usize {
        self.registers += 1;
        self.registers - 1
    }

    /// The register that holds a literal.
    pub(super) fn literal(&mut self, value: u64) -> usize {
        if let Some(number) = self.literals.get(&value) {
            return *number;
        }
        let number = self.unnamed();
        self.literals.insert(value, number);
        number
    }

    /// The register that the hardware fills with this.
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

    /// The number of a label that is named here, seen already or not.
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
            Some(_) => Err(ParseError::Twice { line, name: name.to_owned() }),
        }
    }

    /// Where a label stands, once the whole body is read.
    pub(super) fn target(&self, number: usize) -> Result<usize, ParseError> {
        let Label { name, target, line } = &self.labels[number];
        target.ok_or_else(|| ParseError::Undeclared { line: *line, name: name.clone() })
    }
}
