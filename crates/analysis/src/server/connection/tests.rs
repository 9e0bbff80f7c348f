//! Tests against scripted tools: threads that read requests from a pipe and say what the test wants.

use super::*;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter};
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

#[derive(Default)]
struct Notes(Vec<String>);

impl Listener for Notes {
    fn notified(&mut self, method: &str, parameters: &Value) {
        self.0.push(format!("{method} {parameters}"));
    }

    fn asked(&mut self, method: &str, _parameters: &Value) -> Option<Value> {
        self.0.push(format!("{method}?"));
        (method == "known").then(|| json!("answer"))
    }
}

/// Starts a tool that says the lines of `script` after the first request, and returns what it was told.
fn tool(script: &'static str) -> (Connection<PipeWriter>, JoinHandle<Vec<Value>>) {
    let (their_reader, our_writer) = io::pipe().unwrap();
    let (our_reader, their_writer) = io::pipe().unwrap();
    let thread = spawn(move || play(BufReader::new(their_reader), their_writer, script));
    (Connection::new(our_writer, our_reader, Framing::Lines).unwrap(), thread)
}

fn play(reader: BufReader<PipeReader>, mut writer: PipeWriter, script: &str) -> Vec<Value> {
    let mut told = Vec::new();
    for line in reader.lines() {
        told.push(serde_json::from_str(&line.unwrap()).unwrap());
        if told.len() == 1 {
            writer.write_all(script.as_bytes()).unwrap();
        }
    }
    told
}

fn soon() -> Instant {
    Instant::now() + Duration::from_millis(300)
}

#[test]
fn what_comes_before_the_answer_is_heard_and_answered() {
    let script = r#"{"method": "log", "params": [1]}
{"id": "a", "method": "known"}
{"id": 8, "method": "unknown"}
{"id": 0, "result": "late answer to an older request"}
{"id": 1, "result": {"x": 2}}
"#;
    let (mut connection, tool) = tool(script);
    let mut notes = Notes::default();
    let later = Instant::now() + Duration::from_secs(30);
    assert_eq!(connection.request("ask", json!({}), later, &mut notes), Ok(json!({"x": 2})));
    assert_eq!(notes.0, ["log [1]", "known?", "unknown?"]);
    drop(connection);
    let told = tool.join().unwrap();
    assert_eq!(told[0]["method"], "ask");
    assert_eq!(told[1], json!({"jsonrpc": "2.0", "id": "a", "result": "answer"}));
    assert_eq!((&told[2]["id"], &told[2]["error"]["code"]), (&json!(8), &json!(METHOD_NOT_FOUND)));
}

#[test]
fn every_way_to_give_no_answer_has_its_fault() {
    let check = |script: &'static str, expected: Fault| {
        let (mut connection, _tool) = tool(script);
        assert_eq!(connection.request("ask", json!({}), soon(), &mut Deaf), Err(expected), "{script}");
    };
    check("", Fault::Deadline);
    check("{}\n", Fault::Garbage("`{}`".into()));
    check("{\"id\": 7, \"result\": 1}\n", Fault::Garbage("`{\"id\":7,\"result\":1}`".into()));
    check("7\n", Fault::Garbage("`7`".into()));
    check("oops\n", Fault::Garbage("`oops`".into()));
    check("{\"id\": 1, \"error\": {\"message\": \"too deep\\nlong\"}}\n", Fault::Failed("too deep".into()));
    check("{\"id\": 1, \"error\": 3}\n", Fault::Failed("3".into()));
}

#[test]
fn a_closed_tool_is_told_from_a_slow_one() {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let (reader, _) = io::pipe().unwrap();
    let mut connection = Connection::new(writer, reader, Framing::Headers).unwrap();
    assert_eq!(connection.request("ask", json!({}), soon(), &mut Deaf), Err(Fault::Closed));
}

#[test]
fn listening_ends_when_enough_was_heard() {
    let (mut connection, _tool) = tool("{\"method\": \"one\"}\n{\"method\": \"two\"}\n{\"method\": \"three\"}\n");
    connection.notify("begin", json!(null)).unwrap();
    let mut notes = Notes::default();
    assert_eq!(connection.listen(soon(), &mut notes, |notes| notes.0.len() == 2), Ok(()));
    assert_eq!(notes.0, ["one null", "two null"]);
    assert_eq!(connection.listen(soon(), &mut notes, |notes| notes.0.len() == 4), Err(Fault::Deadline));
}
