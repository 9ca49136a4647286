//! PyTorch as a process of its own, which does a row's work when it is asked to.

use super::row::Work;
use crate::Result;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;

/// Process of Python that runs `torch_cpu.py`.
pub(crate) struct Peer {
    pipe: Rc<RefCell<Pipe>>,
    /// Version of PyTorch.
    pub(crate) version: String,
}

/// A request and an answer are a line of JSON each.
struct Pipe {
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    pub(crate) fn open([python, script]: &[PathBuf; 2], threads: usize) -> Result<Self> {
        let mut command = Command::new(python);
        command.arg(script).arg("--threads").arg(threads.to_string());
        let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut process =
            started.map_err(|error| format!("cannot start {}: {error}", python.display()))?;
        let (Some(requests), Some(answers)) = (process.stdin.take(), process.stdout.take()) else {
            return Err("no pipe to Python".into());
        };
        let mut pipe = Pipe { process, requests, answers: BufReader::new(answers) };
        let version = pipe.ask(&json!({ "version": true }))?.to_string();
        Ok(Self { pipe: Rc::new(RefCell::new(pipe)), version: version.trim_matches('"').into() })
    }

    /// Prepares the work of a row, in place of the last one's.
    pub(crate) fn prepare(&mut self, row: &Value) -> Result<Work> {
        self.pipe.borrow_mut().ask(&json!({ "prepare": row }))?;
        let pipe = self.pipe.clone();
        Ok(Box::new(move |times| {
            let answer = pipe.borrow_mut().ask(&json!({ "run": times }))?;
            answer
                .as_f64()
                .ok_or_else(|| format!("PyTorch answered {answer}, and no seconds").into())
        }))
    }
}

impl Pipe {
    fn ask(&mut self, request: &Value) -> Result<Value> {
        writeln!(self.requests, "{request}")?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        let answer: Value =
            serde_json::from_str(&line).map_err(|_| format!("PyTorch ended at {request}"))?;
        match answer.get("error") {
            Some(error) => Err(format!("PyTorch at {request}: {error}").into()),
            None => Ok(answer["done"].clone()),
        }
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
