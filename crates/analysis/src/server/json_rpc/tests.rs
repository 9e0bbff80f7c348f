//! Tests of what comes in, whole, in parts and broken.

use super::*;
use proptest::prelude::*;
use serde_json::json;
use std::time::Duration;

fn read(bytes: &[u8], framing: Framing) -> Vec<Result<Value, Silence>> {
    let incoming = Incoming::new(io::Cursor::new(bytes.to_vec()), framing).unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    let mut messages = Vec::new();
    loop {
        match incoming.next(deadline) {
            Err(Silence::Closed) => return messages,
            message => messages.push(message),
        }
    }
}

fn garbage(reason: &str) -> Vec<Result<Value, Silence>> {
    vec![Err(Silence::Garbage(reason.into()))]
}

#[test]
fn messages_survive_both_framings() {
    let messages = [json!({"id": 1, "text": "é\n😀"}), json!([]), json!(null)];
    for framing in [Framing::Headers, Framing::Lines] {
        let mut bytes = Vec::new();
        for message in &messages {
            framing.write(&mut bytes, message).unwrap();
        }
        assert_eq!(read(&bytes, framing), messages.clone().map(Ok));
    }
}

#[test]
fn headers_are_read_whatever_their_case_and_order() {
    let bytes = b"content-type: application/json\r\nCONTENT-LENGTH:  2 \r\n\r\n[]Content-Length: 1\n\n7";
    assert_eq!(read(bytes, Framing::Headers), [Ok(json!([])), Ok(json!(7))]);
}

#[test]
fn broken_messages_end_the_stream_with_a_reason() {
    let check = |bytes: &str, reason: &str| assert_eq!(read(bytes.as_bytes(), Framing::Headers), garbage(reason));
    check("Traceback (most recent call last)\n", "`Traceback (most recent call last)`");
    check("Content-Length: -1\r\n\r\n", "`Content-Length: -1`");
    check("Content-Length: 9999999999\r\n\r\n", "a message of 9999999999 bytes");
    check("Content-Length: 99999999999999999999999\r\n\r\n", "`Content-Length: 99999999999999999999999`");
    check("Content-Length: 5\r\n\r\n[]", "2 of 5 bytes");
    check("Content-Length: 5\r\n", "half a header");
    check("\r\n", "a message without Content-Length");
    check("Content-Length: 3\r\n\r\n{\u{1b}[", "`{ [`");
    check(&"a: b\n".repeat(20), "more than 16 headers");
    check(&"a".repeat(1 << 20), "a line without end");
    let deep = "[".repeat(100_000);
    check(&format!("Content-Length: {}\r\n\r\n{deep}", deep.len()), &format!("`{}`", "[".repeat(80)));
}

#[test]
fn a_line_without_end_is_no_message() {
    assert_eq!(read(b"[]\n[", Framing::Lines), [Ok(json!([])), Err(Silence::Garbage("`[`".into()))]);
    assert_eq!(read(b"oops\n", Framing::Lines), garbage("`oops`"));
}

/// Reads one stream after the other.
struct Chain<I>(I, io::Cursor<Vec<u8>>);

impl<I: Iterator<Item = io::Cursor<Vec<u8>>>> Read for Chain<I> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.1.read(buffer)? {
            0 => self.0.next().map_or(Ok(0), |next| {
                self.1 = next;
                self.1.read(buffer)
            }),
            length => Ok(length),
        }
    }
}

#[test]
fn what_nobody_reads_is_not_kept_without_end() {
    let body = format!("\"{}\"", "x".repeat(BODY_BYTES_MAX - 2));
    let stream = format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes();
    let endless = std::iter::repeat_n(stream, 100).map(io::Cursor::new);
    let incoming = Incoming::new(Chain(endless, io::Cursor::default()), Framing::Headers).unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    let deadline = Instant::now() + Duration::from_mins(1);
    let n_messages = std::iter::from_fn(|| incoming.next(deadline).ok()).count();
    assert!((1..100).contains(&n_messages), "{n_messages} messages");
}

#[test]
fn a_deadline_passes_while_half_a_message_is_there() {
    let (reader, mut writer) = io::pipe().unwrap();
    let incoming = Incoming::new(reader, Framing::Headers).unwrap();
    writer.write_all(b"Content-Length: 2\r\n\r\n[").unwrap();
    assert_eq!(incoming.next(Instant::now() + Duration::from_millis(50)), Err(Silence::Deadline));
    writer.write_all(b"]").unwrap();
    assert_eq!(incoming.next(Instant::now() + Duration::from_secs(30)), Ok(json!([])));
    drop(writer);
    assert_eq!(incoming.next(Instant::now() + Duration::from_secs(30)), Err(Silence::Closed));
}

proptest! {
    #[test]
    fn no_stream_is_survived_with_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for framing in [Framing::Headers, Framing::Lines] {
            read(&bytes, framing);
        }
    }
}
