//! A function that is to be written: found in its file, with or without a body.

use std::ops::Range;

use analysis::triggers::{bare, summary};
use repo::functions::functions;
use repo::{Function, Language, SourceFile};

use crate::layout::{FunctionHeader, indentation};
use crate::{Error, Result};

/// What stands for a body where there is none, so that the file can be parsed.
const ELLIPSIS: &str = " ...";

/// Which function of a file is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place<'a> {
    /// The one of this name, `area`; or of this class and name, `Shape.area`.
    Name(&'a str),
    /// The innermost one that this zero-based line belongs to.
    Line(usize),
}

/// A function that is to be written, whatever its body holds now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenFunction<'f> {
    /// Its file.
    pub file: &'f SourceFile,
    /// The bytes of the file that the function takes.
    pub span: Range<usize>,
    /// Its signature without comments.
    pub signature: String,
    /// What it is to do, in one line.
    pub docstring: String,
    /// The docstring as the function holds it now, with its quotes: within the function in Python, else empty.
    pub docstring_raw: String,
    /// The white space before the statements of its body.
    pub indentation: String,
}

impl<'f> OpenFunction<'f> {
    /// Finds a function that is there, or one of Python of which only the signature is.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such function, or several.
    pub fn find(file: &'f SourceFile, place: Place<'_>) -> Result<Self> {
        let is_meant = |function: &Function| match place {
            Place::Name(name) => match (name.rsplit_once('.'), &function.class) {
                (Some((class, name)), Some(own)) => function.name == name && own == class,
                (Some(_), None) => false,
                (None, _) => function.name == name,
            },
            Place::Line(line) => lines(file, &function.span).contains(&line),
        };
        let mut found: Vec<Function> = functions(file).into_iter().filter(is_meant).collect();
        if found.is_empty() {
            found = without_body(file).into_iter().filter(is_meant).collect();
        }
        if let Place::Line(_) = place {
            found = found.into_iter().min_by_key(|function| function.span.len()).into_iter().collect();
        }
        let wanted = || match place {
            Place::Name(name) => format!("function `{name}`"),
            Place::Line(line) => format!("function at line {}", line + 1),
        };
        match found.as_slice() {
            [function] => Ok(Self::new(file, function)),
            [] => Err(Error::NoFunction { path: file.path.clone(), wanted: wanted() }),
            several => {
                let lines = several.iter().map(|function| lines(file, &function.span).start + 1).collect();
                Err(Error::SeveralFunctions { path: file.path.clone(), wanted: wanted(), lines })
            }
        }
    }

    /// Takes a function of a file.
    fn new(file: &'f SourceFile, function: &Function) -> Self {
        let (text, body) = (&file.text[function.span.clone()], &file.text[function.body.clone()]);
        let (bare, ends) = bare(text, file.language, &[function.signature.len()]);
        let raw = function.docstring.clone().map_or("", |span| &file.text[span]);
        let is_within = function.docstring.as_ref().is_some_and(|span| span.start >= function.span.start);
        let written = indentation(body);
        Self {
            file,
            span: function.span.clone(),
            signature: bare[..ends[0]].to_owned(),
            docstring: summary(raw, file.language),
            docstring_raw: if is_within { raw.to_owned() } else { String::new() },
            indentation: if written.is_empty() { default_indentation(file, function) } else { written.to_owned() },
        }
    }

    /// Returns the function with another docstring, which is put on one line.
    #[must_use]
    pub fn with_docstring(self, docstring: &str) -> Self {
        let words: Vec<&str> = docstring.split_whitespace().collect();
        Self { docstring: words.join(" "), docstring_raw: String::new(), ..self }
    }

    /// Returns what a layout shows of it.
    #[must_use]
    pub fn header(&self) -> FunctionHeader<'_> {
        FunctionHeader {
            language: self.file.language,
            signature: &self.signature,
            docstring: &self.docstring,
            indentation: &self.indentation,
        }
    }

    /// Returns `text`, which begins with the signature, with the docstring that belongs into the function.
    #[must_use]
    pub fn documented(&self, text: &str) -> String {
        let Some(body) = text.strip_prefix(&self.signature) else { return text.to_owned() };
        let docstring = match (self.file.language, self.docstring_raw.as_str()) {
            (Language::Java, _) => return text.to_owned(),
            (Language::Python, "") => format!("\"\"\"{}\"\"\"", self.docstring),
            (Language::Python, raw) => raw.to_owned(),
        };
        format!("{}\n{}{docstring}{body}", self.signature, self.indentation)
    }
}

/// Returns the zero-based lines of a span.
fn lines(file: &SourceFile, span: &Range<usize>) -> Range<usize> {
    let first = file.text[..span.start].matches('\n').count();
    first..first + file.text[span.clone()].matches('\n').count() + 1
}

/// Returns one step more than the line of the function has.
fn default_indentation(file: &SourceFile, function: &Function) -> String {
    let line = file.text[..function.span.start].rsplit('\n').next().unwrap_or_default();
    let before: String = line.chars().take_while(|c| c.is_whitespace()).collect();
    let uses_tabs = before.contains('\t') || file.text.contains("\n\t");
    before + if uses_tabs { "\t" } else { "    " }
}

/// Returns the functions of Python that end with their signature, which no parser takes for functions.
fn without_body(file: &SourceFile) -> Vec<Function> {
    if file.language != Language::Python {
        return Vec::new();
    }
    let starts = file.text.match_indices("def ").map(|(at, _)| at).filter(|&at| begins_line(&file.text[..at]));
    starts.filter_map(|start| signature_only(file, start)).collect()
}

/// Returns whether nothing but white space and `async` stands before on the line.
fn begins_line(before: &str) -> bool {
    matches!(before.rsplit('\n').next().unwrap_or_default().trim(), "" | "async")
}

/// Returns the function whose `def` stands at `start`, if it is one with an ellipsis behind the signature.
fn signature_only(file: &SourceFile, start: usize) -> Option<Function> {
    let end = start + signature_length(&file.text[start..])?;
    let text = [&file.text[..end], ELLIPSIS, &file.text[end..]].concat();
    let closed = SourceFile { path: file.path.clone(), language: file.language, text };
    let function = functions(&closed).into_iter().find(|function| function.signature.end == end)?;
    (function.body.len() == ELLIPSIS.len()).then_some(Function {
        span: function.span.start..end,
        body: end..end,
        docstring: None,
        ..function
    })
}

/// Returns the bytes up to the first colon outside of brackets and literals on one line, the colon included.
fn signature_length(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0_usize, None);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), _) if open == c => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth = depth.checked_sub(1)?,
            (None, ':') if depth == 0 => return Some(at + 1),
            // A signature that was never closed.
            (None, '\n') if depth == 0 || text[at..].trim_start().starts_with("def ") => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests;
