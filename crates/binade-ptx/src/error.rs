//! Errors found before a kernel runs: in the PTX text, in a launch, in a host access to memory.

use binade_core::ErrorKind;

use crate::Capability;

/// Reason why a PTX text cannot be run exactly. Lines are the text's, counted from 1.
#[non_exhaustive]
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ParseError {
    /// Text that does not follow the grammar of PTX as the interpreter reads it.
    #[error("PTX line {line}: expected {expected}, found `{found}`")]
    Syntax {
        /// Line of the PTX text.
        line: u32,
        /// Word or construct that the grammar allows there.
        expected: &'static str,
        /// Word that stands there.
        found: String,
    },
    /// Directive that the interpreter has no meaning for.
    #[error("PTX line {line}: directive `{name}` is not supported")]
    Directive {
        /// Line of the directive.
        line: u32,
        /// Name of the directive, with its leading point.
        name: String,
    },
    /// Opcode whose exact spelling, all suffixes included, is not in the table.
    #[error(
        "PTX line {line}: unknown instruction form `{form}`; add it to the table in `isa` with its exact meaning"
    )]
    Form {
        /// Line of the instruction.
        line: u32,
        /// Opcode with all suffixes.
        form: String,
    },
    /// Known opcode with an operand of a kind that it does not take.
    #[error("PTX line {line}: `{form}`: operand {index}: expected {expected}, found {found}")]
    Operand {
        /// Line of the instruction.
        line: u32,
        /// Opcode with all suffixes.
        form: &'static str,
        /// Number of the operand, from 1.
        index: usize,
        /// Kind of operand that the form takes there.
        expected: String,
        /// Operand as the text has it.
        found: String,
    },
    /// Known opcode with too few or too many operands.
    #[error("PTX line {line}: `{form}` takes {expected} operands, found {found}")]
    Operands {
        /// Line of the instruction.
        line: u32,
        /// Opcode with all suffixes.
        form: &'static str,
        /// Number of operands that the form takes.
        expected: usize,
        /// Number of operands in the text.
        found: usize,
    },
    /// Name that is declared a second time: a label or an entry.
    #[error("PTX line {line}: `{name}` is there already")]
    Twice {
        /// Line of the second declaration.
        line: u32,
        /// Name as written.
        name: String,
    },
    /// Register, label or variable that nothing declares.
    #[error("PTX line {line}: `{name}` is not declared")]
    Undeclared {
        /// Line that uses it.
        line: u32,
        /// Name as written.
        name: String,
    },
    /// Arithmetic that a host cannot repeat bit for bit.
    #[error(
        "PTX line {line}: `{form}` is not reproducible: write the rounding (`.rn`) and keep subnormals"
    )]
    NotReproducible {
        /// Line of the instruction.
        line: u32,
        /// Opcode with all suffixes.
        form: String,
    },
    /// Instruction that the module's target does not have.
    #[error(
        "PTX line {line}: `{form}` needs compute capability {needs}, the module's target is {target}"
    )]
    Target {
        /// Line of the instruction.
        line: u32,
        /// Opcode with all suffixes.
        form: &'static str,
        /// Least compute capability that has the instruction.
        needs: Capability,
        /// Compute capability of the module's `.target`.
        target: Capability,
    },
}

impl binade_core::Error for ParseError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Syntax { .. } | Self::Undeclared { .. } | Self::Twice { .. } => {
                ErrorKind::InvalidArgument
            }
            _ => ErrorKind::Unsupported,
        }
    }
}

/// Reason why a launch cannot be made; nothing of it ran.
#[non_exhaustive]
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum LaunchError {
    /// Entry that the module does not have.
    #[error("the module has no entry `{name}`; it has {}", .has.join(", "))]
    NoEntry {
        /// Name of the entry that was asked for.
        name: String,
        /// Names of the module's entries.
        has: Vec<String>,
    },
    /// More or fewer arguments than the entry has parameters.
    #[error("`{kernel}` takes {expected} arguments, {found} were given")]
    ArgumentCount {
        /// Name of the entry.
        kernel: String,
        /// Number of the entry's parameters.
        expected: usize,
        /// Number of the call's arguments.
        found: usize,
    },
    /// Argument whose type is not the parameter's.
    #[error(
        "`{kernel}`: argument {index}: parameter `{parameter}` is {expected}, {found} was given"
    )]
    Argument {
        /// Name of the entry.
        kernel: String,
        /// Index of the argument, from 0.
        index: usize,
        /// Name of the parameter in the PTX.
        parameter: String,
        /// Type and size in bytes of the parameter.
        expected: String,
        /// Type and size in bytes of the argument.
        found: String,
    },
    /// Module that is built for a newer GPU than this one.
    #[error("the module's target is compute capability {target}, the device's is {device}")]
    TooNew {
        /// Compute capability of the module's `.target`.
        target: Capability,
        /// Compute capability of the device.
        device: Capability,
    },
    /// Grid or block dimension of zero, or above a GPU's limit.
    #[error("`{what}` of {value} is outside 1 to {most}")]
    Dimension {
        /// Name of the dimension, such as `grid.x`.
        what: &'static str,
        /// Value that was asked for.
        value: u64,
        /// Greatest value that a GPU takes.
        most: u64,
    },
    /// More shared memory than a block may have.
    #[error("{bytes} bytes of shared memory a block, at most {most}")]
    SharedBytes {
        /// Bytes a block, static and dynamic together.
        bytes: u64,
        /// Greatest number of bytes a block.
        most: u64,
    },
}

impl binade_core::Error for LaunchError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::TooNew { .. } => ErrorKind::Unsupported,
            _ => ErrorKind::InvalidArgument,
        }
    }
}

/// Host access to device memory that no allocation holds whole.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{bytes} bytes at {address:#x} are in no allocation")]
pub struct MemoryError {
    /// Device address of the first byte.
    pub address: u64,
    /// Length of the access in bytes.
    pub bytes: usize,
}

impl binade_core::Error for MemoryError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::InvalidArgument
    }
}
