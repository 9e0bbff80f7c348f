//! Messages on a stream: JSON values with a `Content-Length` header each, or one a line.
//!
//! What comes in is not trusted: headers, bodies, nesting and what waits to be read all have limits, and whatever breaks
//! a rule ends the stream with its reason.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::Builder;
use std::time::Instant;

use serde_json::Value;

/// The longest header line, in bytes.
const HEADER_BYTES_MAX: u64 = 1024;
/// The most header lines of a message.
const HEADERS_MAX: usize = 16;
/// The longest message, in bytes.
const BODY_BYTES_MAX: usize = 16 << 20;
/// How many bytes of messages may wait to be read.
const WAITING_BYTES_MAX: usize = 64 << 20;

/// How messages are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// A `Content-Length` header before each, as the Language Server Protocol has it.
    Headers,
    /// One line each.
    Lines,
}

impl Framing {
    /// Writes one message.
    pub(super) fn write(self, stream: &mut impl Write, message: &Value) -> io::Result<()> {
        let body = message.to_string();
        match self {
            Self::Headers => write!(stream, "Content-Length: {}\r\n\r\n{body}", body.len())?,
            Self::Lines => writeln!(stream, "{body}")?,
        }
        stream.flush()
    }

    /// Reads one message and tells its length in bytes; `None` at the end of the stream, and what is wrong otherwise.
    fn read(self, stream: &mut impl BufRead) -> Result<Option<(Value, usize)>, String> {
        let body = match self {
            Self::Headers => {
                let Some(length) = content_length(stream)? else { return Ok(None) };
                let mut body = Vec::new();
                // A length is only a promise: memory grows with what really comes.
                stream.take(length as u64).read_to_end(&mut body).map_err(|error| error.to_string())?;
                if body.len() < length {
                    return Err(format!("{} of {length} bytes", body.len()));
                }
                body
            }
            Self::Lines => match line(stream, BODY_BYTES_MAX as u64)? {
                Some(line) => line,
                None => return Ok(None),
            },
        };
        match serde_json::from_slice(&body) {
            Ok(message) => Ok(Some((message, body.len()))),
            Err(_) => Err(beginning(&body)),
        }
    }
}

/// Messages that a thread of its own reads from a stream.
#[derive(Debug)]
pub(super) struct Incoming {
    receiver: Receiver<(Result<Value, String>, usize)>,
    /// How many bytes of messages wait in the receiver.
    waiting: Arc<AtomicUsize>,
}

/// Why no message came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Silence {
    /// None came in time.
    Deadline,
    /// The stream ended.
    Closed,
    /// The stream broke a rule: the beginning of what it said.
    Garbage(String),
}

impl Incoming {
    /// Starts to read. The thread ends with the stream.
    pub(super) fn new(stream: impl Read + Send + 'static, framing: Framing) -> io::Result<Self> {
        let (sender, receiver) = mpsc::channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&waiting);
        let read_all = move || read_all(&mut BufReader::new(stream), framing, &sender, &counter);
        Builder::new().name("messages".into()).spawn(read_all)?;
        Ok(Self { receiver, waiting })
    }

    /// Waits for the next message.
    pub(super) fn next(&self, deadline: Instant) -> Result<Value, Silence> {
        let patience = deadline.saturating_duration_since(Instant::now());
        let (message, length) = self.receiver.recv_timeout(patience).map_err(|error| match error {
            RecvTimeoutError::Timeout => Silence::Deadline,
            RecvTimeoutError::Disconnected => Silence::Closed,
        })?;
        self.waiting.fetch_sub(length, Ordering::Relaxed);
        message.map_err(Silence::Garbage)
    }
}

type Sent = (Result<Value, String>, usize);

fn read_all(stream: &mut impl BufRead, framing: Framing, sender: &Sender<Sent>, waiting: &AtomicUsize) {
    loop {
        let (message, length) = match framing.read(stream) {
            Ok(None) => return,
            Ok(Some((_, length))) if waiting.load(Ordering::Relaxed) + length > WAITING_BYTES_MAX => {
                (Err("more than anybody reads".to_owned()), 0)
            }
            Ok(Some((message, length))) => (Ok(message), length),
            Err(reason) => (Err(reason), 0),
        };
        waiting.fetch_add(length, Ordering::Relaxed);
        let is_last = message.is_err();
        if sender.send((message, length)).is_err() || is_last {
            return;
        }
    }
}

/// Reads the headers of a message; `None` at the end of the stream.
fn content_length(stream: &mut impl BufRead) -> Result<Option<usize>, String> {
    let mut length = None;
    for n_headers in 0..HEADERS_MAX {
        let Some(header) = line(stream, HEADER_BYTES_MAX)? else {
            return if n_headers == 0 { Ok(None) } else { Err("half a header".to_owned()) };
        };
        let text = String::from_utf8_lossy(&header);
        let text = text.trim();
        if text.is_empty() {
            return length.map(Some).ok_or_else(|| "a message without Content-Length".to_owned());
        }
        let (name, value) = text.split_once(':').ok_or_else(|| beginning(&header))?;
        if name.eq_ignore_ascii_case("content-length") {
            let number: usize = value.trim().parse().map_err(|_| beginning(&header))?;
            if number > BODY_BYTES_MAX {
                return Err(format!("a message of {number} bytes"));
            }
            length = Some(number);
        }
    }
    Err(format!("more than {HEADERS_MAX} headers"))
}

/// Reads one line of at most `bytes_max` bytes, without its end; `None` at the end of the stream.
fn line(stream: &mut impl BufRead, bytes_max: u64) -> Result<Option<Vec<u8>>, String> {
    let mut line = Vec::new();
    let length = stream.take(bytes_max).read_until(b'\n', &mut line).map_err(|error| error.to_string())?;
    match line.pop() {
        None => Ok(None),
        Some(b'\n') => Ok(Some(line)),
        Some(last) => {
            line.push(last);
            Err(if length as u64 == bytes_max { "a line without end".to_owned() } else { beginning(&line) })
        }
    }
}

/// Returns the beginning of something that is no message, fit for an error message.
pub(super) fn beginning(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(400)]);
    let shown: String = text.chars().take(80).map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!("`{}`", shown.trim())
}

#[cfg(test)]
mod tests;
