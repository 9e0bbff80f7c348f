//! Tests of the conversation with a scripted server, on pipes.

use super::*;
use crate::server::connection::Connection;
use std::io::{self, BufReader, Write};
use std::thread::spawn;
use std::time::Duration;

/// Plays a server that says the messages, one after each request, and returns what the handshake makes of it.
fn shake(answers: Vec<Value>) -> (std::result::Result<Server, Fault>, Vec<String>) {
    let (their_reader, our_writer) = io::pipe().unwrap();
    let (our_reader, their_writer) = io::pipe().unwrap();
    let server = spawn(move || play(BufReader::new(their_reader), their_writer, &answers));
    let mut connection = Connection::new(our_writer, our_reader, Framing::Headers).unwrap();
    let mut ears = Ears::new(handshake::settings(&Repository::new("r", Vec::new())));
    let deadline = Instant::now() + Duration::from_millis(500);
    let shaken = handshake::shake(&mut connection, deadline, &mut ears, "file:///r");
    drop(connection);
    (shaken, server.join().unwrap())
}

fn play(reader: impl io::Read + Send + 'static, mut writer: impl Write, answers: &[Value]) -> Vec<String> {
    let incoming = crate::server::json_rpc::Incoming::new(reader, Framing::Headers).unwrap();
    let mut methods = Vec::new();
    while let Ok(message) = incoming.next(Instant::now() + Duration::from_secs(30)) {
        methods.push(message["method"].as_str().unwrap_or("answer").to_owned());
        if methods.len() == 1 {
            for answer in answers {
                Framing::Headers.write(&mut writer, answer).unwrap();
            }
        }
    }
    methods
}

fn initialized(capabilities: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "result": {"capabilities": capabilities}})
}

#[test]
fn the_handshake_reads_what_the_server_can() {
    let (server, methods) = shake(vec![initialized(&json!({"positionEncoding": "utf-32", "diagnosticProvider": {}}))]);
    let server = server.unwrap();
    assert_eq!((server.unit, server.gives_diagnostics), (Unit::Character, true));
    assert_eq!(methods, ["initialize", "initialized", "workspace/didChangeConfiguration"]);
    let (server, _) = shake(vec![initialized(&json!({}))]);
    assert_eq!(server.unwrap().unit, Unit::Utf16);
    let (server, _) = shake(vec![initialized(&json!({"positionEncoding": "utf-8"}))]);
    assert!(matches!(server, Err(Fault::Garbage(_))));
}

#[test]
fn a_server_that_tells_its_status_is_waited_for() {
    let status = |kind: &str| json!({"method": "language/status", "params": {"type": kind}});
    let (server, _) = shake(vec![status("Starting"), initialized(&json!({})), status("ServiceReady")]);
    assert!(server.is_ok());
    let (server, _) = shake(vec![status("Starting"), initialized(&json!({}))]);
    assert_eq!(server.unwrap_err(), Fault::Deadline);
}

#[test]
fn diagnostics_of_an_older_version_are_not_taken() {
    use crate::server::connection::Listener;
    let mut ears = Ears::new(Value::Null);
    let publish = |version: Value| json!({"uri": "file:///r/a%3Ab.py", "version": version, "diagnostics": []});
    ears.notified("textDocument/publishDiagnostics", &publish(json!(1)));
    assert_eq!(ears.diagnostics("file:///r/a:b.py", 2), None);
    ears.notified("textDocument/publishDiagnostics", &publish(json!(2)));
    assert!(ears.diagnostics("file:///r/a:b.py", 2).is_some());
    ears.notified("textDocument/publishDiagnostics", &publish(json!(null)));
    assert!(ears.diagnostics("file:///r/a:b.py", 9).is_some_and(|published| !published.is_versioned));
    ears.forget_diagnostics("file:///r/a:b.py");
    assert_eq!(ears.diagnostics("file:///r/a:b.py", 2), None);
}
