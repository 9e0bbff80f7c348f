//! A completion tool as a source of suggestions: it sees the function as far as it is written, within its file.

use std::ops::Range;

use analysis::locality::LastUses;
use analysis::triggers::{TRIGGER, is_skipped};
use analysis::{Caret, CodeIntelligence, Suggestion};
use repo::SourceFile;

use crate::decode::{Refusal, SuggestionSource};
use crate::layout::Layout;

/// A tool that is asked while a function is written into its file.
///
/// The tool sees the file with what is written in place of the function, without triggers, and the code after it.
pub struct RepositoryTool<'a> {
    intelligence: &'a mut dyn CodeIntelligence,
    file: &'a SourceFile,
    span: Range<usize>,
    signature: &'a str,
    layout: Layout,
    /// Whether suggestions that are all [skipped](is_skipped) count as none.
    needs_other_than_builtins: bool,
    last_uses: LastUses<'a>,
}

impl<'a> RepositoryTool<'a> {
    /// Asks `intelligence` about the function that takes the place of the bytes `span` of a file, its signature being
    /// `signature`.
    ///
    /// # Panics
    ///
    /// Panics if `span` is not a span of the text on character boundaries.
    #[must_use]
    pub fn new(
        intelligence: &'a mut dyn CodeIntelligence,
        file: &'a SourceFile,
        span: Range<usize>,
        signature: &'a str,
        layout: Layout,
    ) -> Self {
        assert!(file.text.get(span.clone()).is_some(), "{span:?} is no span of {}", file.path);
        let last_uses = LastUses::new(&file.text[..span.start], file.language);
        Self { intelligence, file, span, signature, layout, needs_other_than_builtins: false, last_uses }
    }

    /// Returns this tool with suggestions counting as none if all of them are names that the language gives to every
    /// file.
    ///
    /// # References
    ///
    /// The released code of `ToolGen`; the paper takes them all.
    #[must_use]
    pub fn needing_other_than_builtins(self, needs_other_than_builtins: bool) -> Self {
        Self { needs_other_than_builtins, ..self }
    }

    /// Returns whether none of the suggestions counts.
    fn are_skipped(&self, suggestions: &[Suggestion]) -> bool {
        let is_skipped = |suggestion: &Suggestion| is_skipped(&suggestion.name, self.file.language);
        self.needs_other_than_builtins && suggestions.iter().all(is_skipped)
    }
}

impl SuggestionSource for RepositoryTool<'_> {
    fn suggest(&mut self, written: &str) -> Result<Vec<String>, Refusal> {
        let function = self.layout.function(self.signature, &written.replace(TRIGGER, ""));
        let caret = Caret::unfinished(self.file, self.span.clone(), &function);
        let mut suggestions = self.intelligence.completions(&caret).map_err(|error| match error {
            analysis::Error::Deadline { .. } => Refusal::Deadline,
            other => Refusal::Failed(other.to_string()),
        })?;
        if self.are_skipped(&suggestions) {
            return Ok(Vec::new());
        }
        self.last_uses.order(&mut suggestions, &caret);
        let suffix = |suggestion: &Suggestion| suggestion.name.strip_prefix(caret.prefix()).map(str::to_owned);
        Ok(suggestions.iter().filter_map(suffix).filter(|suffix| !suffix.is_empty()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::Native;
    use repo::{Language, Repository};

    const TEXT: &str = "import os\n\nclass Stack:\n    limit = 3\n    def push(self, item):\n        return item\n\n    def pop(self): ...\n\nlast = Stack()\n";

    fn suggest(written: &str, layout: Layout, released: bool) -> Vec<String> {
        let file = SourceFile { path: "stack.py".into(), language: Language::Python, text: TEXT.into() };
        let repository = Repository::new("sample", vec![file]);
        let file = &repository.files()[0];
        let start = TEXT.find("def push").unwrap();
        let end = TEXT.find("\n\n    def pop").unwrap();
        let mut native = Native::new(&repository);
        let tool = RepositoryTool::new(&mut native, file, start..end, "def push(self, item):", layout);
        tool.needing_other_than_builtins(released).suggest(written).unwrap()
    }

    #[test]
    fn the_tool_sees_the_function_as_far_as_it_is_written_and_the_code_after_it() {
        let members = suggest("\n        self.limit = 1\n        <COMP>self.<COMP>", Layout::Inline, false);
        assert_eq!(members[0], "limit", "what was used last stands first: {members:?}");
        assert!(members.contains(&"pop".to_owned()) && members.contains(&"push".to_owned()));
        let globals = suggest("\n        return <COMP>", Layout::Inline, false);
        assert!(["item", "last", "os", "Stack", "len"].iter().all(|name| globals.contains(&(*name).to_owned())));
        let whole = "def push(self, item):\n        return <COMP>";
        assert_eq!(suggest(whole, Layout::Sections, false), globals);
    }

    #[test]
    fn what_is_typed_already_is_not_inserted_again() {
        assert_eq!(suggest("\n        self.po<COMP>", Layout::Inline, false), ["p"]);
        assert_eq!(suggest("\n        self.pop<COMP>", Layout::Inline, false), [""; 0]);
    }

    #[test]
    fn builtins_alone_count_as_none_by_the_released_rule() {
        let written = "\n        return isinstan<COMP>";
        assert_eq!(suggest(written, Layout::Inline, false), ["ce"]);
        assert_eq!(suggest(written, Layout::Inline, true), [""; 0]);
        assert!(!suggest("\n        return <COMP>", Layout::Inline, true).is_empty());
    }

    /// Gives no answer.
    struct Silent(fn() -> analysis::Error);

    #[test]
    fn a_failure_is_a_refusal() {
        let file = SourceFile { path: "a.py".into(), language: Language::Python, text: String::new() };
        let refusal = |error| {
            let mut silent = Silent(error);
            let mut tool = RepositoryTool::new(&mut silent, &file, 0..0, "def f():", Layout::Inline);
            tool.suggest("<COMP>").unwrap_err()
        };
        let late = || analysis::Error::Deadline { tool: "jedi".into(), deadline: std::time::Duration::from_secs(1) };
        assert_eq!(refusal(late), Refusal::Deadline);
        let failed = || analysis::Error::Failed { tool: "jedi".into(), reason: "no reason".into() };
        assert_eq!(refusal(failed), Refusal::Failed("jedi failed: no reason".into()));
    }

    impl CodeIntelligence for Silent {
        fn name(&self) -> &'static str {
            "silent"
        }

        fn completions(&mut self, _caret: &Caret<'_>) -> analysis::Result<Vec<Suggestion>> {
            Err(self.0())
        }

        fn definitions(&mut self, _caret: &Caret<'_>) -> analysis::Result<Vec<analysis::Definition>> {
            Err(self.0())
        }

        fn inferred_type(&mut self, _caret: &Caret<'_>) -> analysis::Result<Option<String>> {
            Err(self.0())
        }

        fn expected_type(&mut self, _caret: &Caret<'_>) -> analysis::Result<Option<String>> {
            Err(self.0())
        }

        fn reachable_types(&mut self, _caret: &Caret<'_>) -> analysis::Result<Vec<analysis::TypeDefinition>> {
            Err(self.0())
        }

        fn headers(&mut self, _caret: &Caret<'_>) -> analysis::Result<Vec<analysis::Header>> {
            Err(self.0())
        }

        fn diagnostics(&mut self, _path: &str, _text: &str) -> analysis::Result<Vec<analysis::Diagnostic>> {
            Err(self.0())
        }
    }
}
