//! From the engine's words to Python's, in one pass.

use repo::identifiers::is_word;

use super::text::{closing, depths, quoted, split};
use super::{OMITTED, widen};

/// The longest literal that is written, in bytes. Of longer ones the class is.
const LITERAL_BYTES_MAX: usize = 100;

/// An open bracket.
struct Frame {
    /// Where it is in what is written.
    start: usize,
    /// What closes it; `None` if the bracket is not written.
    close: Option<char>,
    /// Whether it may turn out to be needless, or to hold the parameters of a callable.
    is_group: bool,
    /// Brackets to close at its end, of callables whose result it ends with.
    callables: usize,
}

impl Frame {
    fn new(start: usize, close: Option<char>, is_group: bool) -> Self {
        Self { start, close, is_group, callables: 0 }
    }
}

/// Returns `display` in Python's words, from left to right.
pub(super) fn translate(display: &str) -> String {
    let mut translator = Translator { rest: display, plain: String::new(), frames: vec![Frame::new(0, None, false)] };
    while let Some(c) = translator.rest.chars().next() {
        translator.step(c);
    }
    while !translator.frames.is_empty() {
        translator.close_callables();
        translator.frames.pop();
    }
    translator.plain
}

struct Translator<'text> {
    rest: &'text str,
    plain: String,
    frames: Vec<Frame>,
}

impl<'text> Translator<'text> {
    fn step(&mut self, c: char) {
        let at_word = !self.plain.ends_with(is_word);
        match c {
            '"' | '\'' => match quoted(self.rest) {
                long if long > LITERAL_BYTES_MAX => self.replace(long, "..."),
                length => self.copy(length),
            },
            '<' => self.object(),
            '@' => self.owner(),
            '~' => self.replace(atom(self.rest), "object"),
            '(' | '[' | '{' => self.open(c),
            ')' | ']' | '}' => self.close(c),
            ',' => {
                self.close_callables();
                self.copy(1);
            }
            '.' if self.rest.starts_with(OMITTED) => self.omitted(),
            ' ' if self.rest.starts_with(" & ") => self.meet(),
            _ if at_word && self.rest.starts_with("bound method ") => self.bound_method(),
            _ if at_word && is_word(c) => self.word(),
            _ => self.copy(c.len_utf8()),
        }
    }

    fn take(&mut self, length: usize) -> &'text str {
        let (taken, rest) = self.rest.split_at(length.min(self.rest.len()));
        self.rest = rest;
        taken
    }

    fn copy(&mut self, length: usize) {
        let taken = self.take(length);
        self.plain.push_str(taken);
    }

    fn replace(&mut self, length: usize, written: &str) {
        self.take(length);
        self.plain.push_str(written);
    }

    fn word(&mut self) {
        let length = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
        match &self.rest[..length] {
            "Unknown" | "Divergent" | "Todo" => self.replace(length, "Any"),
            "Literal" if self.rest[length..].starts_with('[') => {
                let literal = atom(self.rest);
                // What is displayed of many literals is no type of its own.
                if self.rest[..literal].contains(OMITTED) || literal > LITERAL_BYTES_MAX {
                    self.replace(literal, &widen(&self.rest[..literal]));
                } else {
                    self.copy(literal);
                }
            }
            "Top" if self.rest[length..].starts_with('[') => {
                self.take(length + 1);
                self.frames.push(Frame::new(self.plain.len(), None, false));
            }
            _ => self.copy(length),
        }
    }

    /// `<class 'C'>` is `type[C]`; Python has no word for other objects than their class.
    fn object(&mut self) {
        let object = self.take(closing(self.rest));
        match object.trim_end_matches('>').split_once('\'') {
            Some(("<class ", class)) => {
                let class = class.trim_end_matches('\'').replace("Unknown", "Any");
                self.plain.extend(["type[", &class, "]"]);
            }
            Some(("<module ", _)) => self.plain.push_str("ModuleType"),
            Some(("<types.UnionType special form ", _)) => self.plain.push_str("UnionType"),
            _ => self.plain.push_str("object"),
        }
    }

    /// `T@f` is the `T` of `f`; `@Todo(why)` is a type that the engine does not know yet.
    fn owner(&mut self) {
        let word = self.take(1 + self.rest[1..].find(|c| !is_word(c) && c != '.').unwrap_or(self.rest.len() - 1));
        if word.starts_with("@Todo") {
            let reason = if self.rest.starts_with('(') { closing(self.rest) } else { 0 };
            self.replace(reason, "Any");
        }
    }

    /// `bound method C.f(x: int) -> str` is `def f(x: int) -> str`.
    fn bound_method(&mut self) {
        let signature = depths(self.rest).find(|(at, depth)| *depth == 0 && self.rest[*at..].starts_with('('));
        let path = self.take(signature.map_or(self.rest.len(), |(at, _)| at));
        let path = path.strip_prefix("bound method ").unwrap_or(path);
        self.plain.push_str("def ");
        self.plain.push_str(split(path, ".").pop().unwrap_or(path));
    }

    fn omitted(&mut self) {
        let length = OMITTED.len();
        let count = self.rest[length..].find([']', ')', ',', '|']).unwrap_or(self.rest.len() - length);
        self.replace(length + self.rest[length..length + count].trim_end().len(), "Any");
    }

    /// Of an intersection, Python can write one member: the first that says something.
    fn meet(&mut self) {
        self.take(" & ".len());
        let says_nothing = ["Any", "object"].into_iter().find(|word| self.plain.ends_with(word));
        match says_nothing.filter(|_| !self.rest.starts_with('~')) {
            Some(word) => self.plain.truncate(self.plain.len() - word.len()),
            None => {
                self.take(atom(self.rest));
            }
        }
    }

    fn open(&mut self, bracket: char) {
        let close = match bracket {
            '(' => ')',
            '[' => ']',
            _ => '}',
        };
        let is_group = bracket == '(' && !self.plain.ends_with(|c: char| is_word(c) || c == ']');
        self.frames.push(Frame::new(self.plain.len(), Some(close), is_group));
        self.copy(1);
    }

    fn close(&mut self, bracket: char) {
        self.close_callables();
        self.take(1);
        if self.frames.len() < 2 {
            return self.plain.push(bracket);
        }
        let Some(frame) = self.frames.pop() else { return };
        if frame.is_group && self.rest.starts_with(" -> ") {
            self.callable(frame.start);
        } else if frame.is_group && is_one_type(&self.plain[frame.start + 1..]) {
            self.plain.remove(frame.start);
        } else {
            self.plain.extend(frame.close);
        }
    }

    /// `(x: int, /) -> str` is `Callable[[int], str]`; the result ends where the bracket around it does.
    fn callable(&mut self, start: usize) {
        self.take(" -> ".len());
        let parameters = parameters(&self.plain[start + 1..]);
        self.plain.truncate(start);
        self.plain.extend(["Callable[", &parameters, ", "]);
        self.frames.last_mut().into_iter().for_each(|frame| frame.callables += 1);
    }

    fn close_callables(&mut self) {
        let Some(frame) = self.frames.last_mut() else { return };
        self.plain.extend(std::iter::repeat_n(']', std::mem::take(&mut frame.callables)));
    }
}

fn is_one_type(written: &str) -> bool {
    !written.starts_with("def ") && [", ", " | "].iter().all(|separator| split(written, separator).len() == 1)
}

/// Returns the types of parameters that are given by position; `...` if there are others.
fn parameters(written: &str) -> String {
    let parameters = split(written, ", ");
    let mut types = Vec::new();
    let unnamed = parameters.contains(&"/");
    for parameter in parameters.into_iter().filter(|parameter| !parameter.is_empty() && *parameter != "/") {
        if parameter.starts_with(['*', '.']) {
            return "...".to_owned();
        }
        let declared = split(parameter, " = ")[0];
        types.push(match split(declared, ": ").as_slice() {
            [_, ty, ..] => ty,
            _ if unnamed && !declared.contains('=') => declared,
            _ => "Any",
        });
    }
    format!("[{}]", types.join(", "))
}

/// Returns the length of the one type that `text` begins with: a name with its arguments, or a bracket.
fn atom(text: &str) -> usize {
    let negated = text.len() - text.trim_start_matches('~').len();
    let inner = &text[negated..];
    if inner.starts_with(['(', '<']) {
        return negated + closing(inner);
    }
    let name = inner.find(|c| !is_word(c) && !matches!(c, '.' | '@')).unwrap_or(inner.len());
    let arguments = &inner[name..];
    if !arguments.starts_with('[') {
        return negated + name;
    }
    let end = depths(arguments).find(|(at, depth)| *depth == 1 && arguments[*at..].starts_with(']'));
    negated + name + end.map_or(arguments.len(), |(at, _)| at + 1)
}
