//! Requests and their answers.

use std::io::{self, Read, Write};
use std::time::Instant;

use serde_json::{Value, json};

use super::json_rpc::{Framing, Incoming, Silence, beginning};

/// The error code for a method that is not known.
const METHOD_NOT_FOUND: i64 = -32601;
/// How many messages of a tool may come before the answer to a request.
const MESSAGES_MAX: usize = 100_000;

/// A stream of requests to a tool and of its answers.
#[derive(Debug)]
pub(super) struct Connection<W> {
    writer: W,
    incoming: Incoming,
    framing: Framing,
    last_id: i64,
}

/// Why a request got no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// None came in time.
    Deadline,
    /// The tool closed its end.
    Closed,
    /// The tool broke the protocol: the beginning of what it said.
    Garbage(String),
    /// The tool answered that it failed.
    Failed(String),
}

impl From<Silence> for Fault {
    fn from(silence: Silence) -> Self {
        match silence {
            Silence::Deadline => Self::Deadline,
            Silence::Closed => Self::Closed,
            Silence::Garbage(beginning) => Self::Garbage(beginning),
        }
    }
}

/// What a tool says and asks by itself.
pub(super) trait Listener {
    /// Takes note of a notification.
    fn notified(&mut self, method: &str, parameters: &Value);

    /// Answers a request; `None` if the method is not known.
    fn asked(&mut self, method: &str, parameters: &Value) -> Option<Value>;
}

/// Hears nothing and knows no answer.
pub(super) struct Deaf;

impl Listener for Deaf {
    fn notified(&mut self, _method: &str, _parameters: &Value) {}

    fn asked(&mut self, _method: &str, _parameters: &Value) -> Option<Value> {
        None
    }
}

impl<W: Write> Connection<W> {
    pub(super) fn new(writer: W, reader: impl Read + Send + 'static, framing: Framing) -> io::Result<Self> {
        Ok(Self { writer, incoming: Incoming::new(reader, framing)?, framing, last_id: 0 })
    }

    /// Asks, and waits for the answer while the listener hears all else.
    pub(super) fn request(
        &mut self,
        method: &str,
        parameters: Value,
        deadline: Instant,
        listener: &mut dyn Listener,
    ) -> Result<Value, Fault> {
        self.last_id += 1;
        let id = self.last_id;
        let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
        message["params"] = parameters;
        self.write(&message)?;
        for _ in 0..MESSAGES_MAX {
            let mut message = self.incoming.next(deadline)?;
            if message.get("method").is_some() {
                self.hear(&message, listener)?;
            } else if message.get("id").and_then(Value::as_i64) == Some(id) {
                return match message.get("error") {
                    Some(error) if !error.is_null() => Err(Fault::Failed(reason(error))),
                    _ => Ok(message.get_mut("result").map(Value::take).unwrap_or_default()),
                };
            } else if message.get("id").and_then(Value::as_i64).is_none_or(|old| old > id) {
                return Err(Fault::Garbage(beginning(message.to_string().as_bytes())));
            }
        }
        Err(Fault::Garbage(format!("{MESSAGES_MAX} messages but no answer")))
    }

    /// Tells the tool something.
    pub(super) fn notify(&mut self, method: &str, parameters: Value) -> Result<(), Fault> {
        let mut message = json!({"jsonrpc": "2.0", "method": method});
        message["params"] = parameters;
        self.write(&message)
    }

    /// Hears messages until `is_enough` says so after one.
    pub(super) fn listen<L: Listener>(
        &mut self,
        deadline: Instant,
        listener: &mut L,
        is_enough: impl Fn(&L) -> bool,
    ) -> Result<(), Fault> {
        while !is_enough(listener) {
            let message = self.incoming.next(deadline)?;
            self.hear(&message, listener)?;
        }
        Ok(())
    }

    /// Handles a message that is not the awaited answer.
    fn hear(&mut self, message: &Value, listener: &mut dyn Listener) -> Result<(), Fault> {
        let Some(method) = message.get("method").and_then(Value::as_str) else { return Ok(()) };
        let parameters = message.get("params").unwrap_or(&Value::Null);
        let Some(id) = message.get("id") else {
            listener.notified(method, parameters);
            return Ok(());
        };
        let unknown = || json!({"code": METHOD_NOT_FOUND, "message": format!("{method} is not known")});
        self.write(&match listener.asked(method, parameters) {
            Some(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            None => json!({"jsonrpc": "2.0", "id": id, "error": unknown()}),
        })
    }

    fn write(&mut self, message: &Value) -> Result<(), Fault> {
        // What keeps the tool from reading is told by how it ends.
        self.framing.write(&mut self.writer, message).map_err(|_| Fault::Closed)
    }
}

fn reason(error: &Value) -> String {
    let message = error.get("message").and_then(Value::as_str).map_or_else(|| error.to_string(), str::to_owned);
    message.lines().next().unwrap_or_default().chars().take(200).collect()
}

#[cfg(test)]
mod tests;
