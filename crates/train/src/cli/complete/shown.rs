//! A written function as it is shown: for people, with what the tool had a part in underlined, and for programs.

use std::io::Write;

use inference::decode::{Outcome, Question, Step};
use inference::function::{CompletedFunction, OpenFunction};
use models::Tokenizer;
use serde_json::{Value, json};

/// Suggestions of a question that are shown.
const SUGGESTIONS_MAX: usize = 10;

const UNDERLINED: &str = "\x1b[4m";
const FAINT_UNDERLINED: &str = "\x1b[2;4m";
const PLAIN: &str = "\x1b[0m";

/// What is shown.
pub(super) struct Shown<'a> {
    pub(super) function: &'a OpenFunction<'a>,
    pub(super) written: &'a CompletedFunction,
    pub(super) tokenizer: &'a Tokenizer,
}

impl Shown<'_> {
    /// Prints the function with its docstring; on a terminal, what was chosen among suggestions is underlined, and faint
    /// where nothing was left to choose.
    pub(super) fn print(&self, on_terminal: bool, out: &mut dyn Write) -> anyhow::Result<()> {
        let plain = self.function.documented(&self.written.text);
        // The docstring is no part of what was written, and everything before the body is shown as it is.
        let head = plain.strip_suffix(&self.written.body).filter(|_| on_terminal);
        let Some(head) = head.filter(|_| self.written.body == self.written.decoded.unmarked) else {
            return Ok(writeln!(out, "{plain}")?);
        };
        write!(out, "{head}")?;
        for (step, text) in self.pieces() {
            match step {
                Step::Chosen => write!(out, "{UNDERLINED}{text}{PLAIN}")?,
                Step::Forced => write!(out, "{FAINT_UNDERLINED}{text}{PLAIN}")?,
                Step::Sampled | Step::Trigger => write!(out, "{text}")?,
            }
        }
        Ok(writeln!(out)?)
    }

    /// Returns the text of each run of tokens that came to be written the same way, triggers left out.
    fn pieces(&self) -> Vec<(Step, String)> {
        let tokens: Vec<_> =
            self.written.decoded.tokens.iter().filter(|token| token.step != Step::Trigger).copied().collect();
        let ids: Vec<u32> = tokens.iter().map(|token| token.token).collect();
        let (mut pieces, mut shown, mut end) = (Vec::new(), String::new(), 0);
        for run in tokens.chunk_by(|a, b| a.step == b.step) {
            end += run.len();
            // A character may have tokens of two runs: it belongs to the later.
            let text = self.tokenizer.decode(&ids[..end]);
            let whole = if end == ids.len() { text.as_str() } else { text.trim_end_matches('\u{fffd}') };
            pieces.push((run[0].step, whole.strip_prefix(&shown).unwrap_or_default().to_owned()));
            whole.clone_into(&mut shown);
        }
        pieces
    }

    /// Prints what the tool offered at each trigger and what was chosen.
    pub(super) fn trace(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        for (number, question) in (1..).zip(&self.written.decoded.questions) {
            let n = question.suggestions.len();
            let confidence = question.confidence;
            writeln!(out, "\n{number}. {}<COMP>, {confidence:.2} sure, {n} suggestions", self.line_before(question))?;
            if n > 0 {
                let more = if n > SUGGESTIONS_MAX { ", ..." } else { "" };
                writeln!(out, "   {}{more}", first(question).join(", "))?;
            }
            writeln!(out, "   {}", outcome(question))?;
        }
        let decoded = &self.written.decoded;
        let n = decoded.questions.len();
        writeln!(out, "\n{n} triggers, {} asked, {:.3} s for the tool", decoded.n_asked, decoded.tool_seconds)?;
        Ok(())
    }

    /// Returns what stands before a trigger on its line.
    fn line_before(&self, question: &Question) -> String {
        let before = self.written.decoded.tokens[..question.position].iter();
        let ids: Vec<u32> = before.filter(|token| token.step != Step::Trigger).map(|token| token.token).collect();
        self.tokenizer.decode(&ids).rsplit('\n').next().unwrap_or_default().trim_start().to_owned()
    }

    /// Returns everything as one object.
    pub(super) fn json(&self) -> Value {
        let (function, written, decoded) = (self.function, self.written, &self.written.decoded);
        let token = |token: &inference::decode::DecodedToken| json!({ "id": token.token, "spelling": self.tokenizer.spelling(token.token), "step": token.step.name() });
        json!({
            "path": function.file.path,
            "span": [function.span.start, function.span.end],
            "signature": function.signature,
            "docstring": function.docstring,
            "text": written.text,
            "body": written.body,
            "marked_body": written.marked_body,
            "documented": function.documented(&written.text),
            "finish": decoded.finish.name(),
            "score": decoded.score,
            "tokens": decoded.tokens.iter().map(token).collect::<Vec<_>>(),
            "questions": decoded.questions.iter().map(|question| self.question(question)).collect::<Vec<_>>(),
            "n_asked": decoded.n_asked,
            "n_refused": decoded.n_refused,
            "tool_seconds": decoded.tool_seconds,
        })
    }

    fn question(&self, question: &Question) -> Value {
        let inserted = if let Outcome::Inserted(text) = &question.outcome { Some(text) } else { None };
        json!({
            "position": question.position,
            "line_before": self.line_before(question),
            "confidence": question.confidence,
            "n_suggestions": question.suggestions.len(),
            "suggestions": first(question),
            "outcome": question.outcome.name(),
            "inserted": inserted,
        })
    }
}

fn first(question: &Question) -> &[String] {
    &question.suggestions[..question.suggestions.len().min(SUGGESTIONS_MAX)]
}

fn outcome(question: &Question) -> String {
    match &question.outcome {
        Outcome::Inserted(text) => format!("-> {text}"),
        Outcome::Nothing => "-> nothing to insert".to_owned(),
        Outcome::Unsure => "-> not asked: the model is not sure enough".to_owned(),
        Outcome::Refused(refusal) => format!("-> no answer: {refusal}"),
        Outcome::CutShort => "-> the text ended".to_owned(),
    }
}

#[cfg(test)]
mod tests;
