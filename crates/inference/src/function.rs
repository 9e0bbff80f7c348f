//! A function of a repository in, the function as a model writes it out, with a completion tool that is asked on the way.
//!
//! ```
//! # use analysis::triggers::TRIGGER;
//! # let directory = tempfile::tempdir().unwrap();
//! # models::random_model::write_llama(directory.path(), 1).unwrap();
//! use analysis::Native;
//! use inference::decode::{DecodingRule, ToolDecoder};
//! use inference::function::{FunctionCompleter, OpenFunction, Place};
//! use inference::layout::Layout;
//! use models::{Decoder, DeviceSpec, device};
//! use repo::{Language, Repository, SourceFile};
//!
//! let text = "class Shape:\n    def area(self):\n        '''Return the area of the shape.'''\n";
//! let file = SourceFile { path: "shapes.py".into(), language: Language::Python, text: text.into() };
//! let repository = Repository::new("shapes", vec![file]);
//! let decoder = Decoder::load(directory.path(), &device::resolve(&DeviceSpec::Cpu)?)?;
//! // A trained adapter brings the trigger with it: decoder.load_peft(adapter)?;
//! let rule = DecodingRule { tokens_max: 8, ..DecodingRule::paper() };
//! let decoder = ToolDecoder { model: &decoder, tokenizer: decoder.tokenizer(), rule };
//! let function = OpenFunction::find(&repository.files()[0], Place::Name("Shape.area"))?;
//! let completer = FunctionCompleter { decoder, layout: Layout::Inline, needs_other_than_builtins: false };
//! let written = completer.complete(&function, &mut Native::new(&repository))?;
//! assert!(written.text.starts_with("def area(self):") && !written.text.contains(TRIGGER));
//! # Ok::<(), inference::Error>(())
//! ```

mod open;

use analysis::CodeIntelligence;
use models::decoder::BatchedLanguageModel;

use crate::Result;
use crate::decode::{Decoded, ToolDecoder};
use crate::layout::Layout;
use crate::tool::RepositoryTool;

pub use open::{OpenFunction, Place};

/// Writes functions into their files.
#[derive(Debug)]
pub struct FunctionCompleter<'a, M> {
    /// What writes.
    pub decoder: ToolDecoder<'a, M>,
    /// How a function is laid out for the model, as it was in training.
    pub layout: Layout,
    /// Whether suggestions that are all names of the language count as none, as in the released code.
    pub needs_other_than_builtins: bool,
}

/// A function as a model wrote it.
#[derive(Debug, Clone, PartialEq)]
pub struct CompletedFunction {
    /// The function without its docstring and without triggers.
    pub text: String,
    /// What follows the signature in it.
    pub body: String,
    /// The same with triggers.
    pub marked_body: String,
    /// The tokens, how each came to be written, and the questions that were asked.
    pub decoded: Decoded,
}

impl<M: BatchedLanguageModel> FunctionCompleter<'_, M> {
    /// Writes one function; `tool` knows the repository of its file.
    ///
    /// # Errors
    ///
    /// Returns an error if the rule is not valid or if the model's context does not hold the prompt. A tool that fails is
    /// no error: what became of each question is told.
    pub fn complete(&self, function: &OpenFunction<'_>, tool: &mut dyn CodeIntelligence) -> Result<CompletedFunction> {
        let (layout, signature) = (self.layout, function.signature.as_str());
        let prompt = layout.prompt_tokens(&function.header(), self.decoder.tokenizer);
        let source = RepositoryTool::new(tool, function.file, function.span.clone(), signature, layout);
        let mut source = source.needing_other_than_builtins(self.needs_other_than_builtins);
        let decoded = self.decoder.decode(&prompt, &mut source)?;
        Ok(CompletedFunction {
            text: layout.function(signature, &decoded.unmarked),
            body: layout.body_of(signature, &decoded.unmarked).to_owned(),
            marked_body: layout.body_of(signature, &decoded.text).to_owned(),
            decoded,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{DecodingRule, Outcome};
    use crate::fixtures::asking_decoder;
    use analysis::Native;
    use analysis::triggers::TRIGGER;
    use repo::{Language, Repository, SourceFile};

    #[test]
    fn what_is_written_is_told_with_and_without_triggers() {
        let text = "import os\n\ndef name(path):\n    '''Return the name of a path.'''\n    return path\n";
        let file = SourceFile { path: "a.py".into(), language: Language::Python, text: text.into() };
        let repository = Repository::new("r", vec![file]);
        let model = asking_decoder();
        let function = OpenFunction::find(&repository.files()[0], Place::Name("name")).unwrap();
        for layout in [Layout::Inline, Layout::Sections] {
            let rule = DecodingRule { tokens_max: 24, ..DecodingRule::paper() };
            let decoder = ToolDecoder { model: &model, tokenizer: model.tokenizer(), rule };
            let completer = FunctionCompleter { decoder, layout, needs_other_than_builtins: false };
            let written = completer.complete(&function, &mut Native::new(&repository)).unwrap();
            assert_eq!(written.text, layout.function("def name(path):", &written.decoded.unmarked));
            assert!(written.text.ends_with(&written.body) && !written.text.contains(TRIGGER));
            assert_eq!(written.marked_body.replace(TRIGGER, ""), written.body);
            let is_answered = |outcome: &Outcome| !matches!(outcome, Outcome::Refused(_));
            assert!(written.decoded.questions.iter().all(|question| is_answered(&question.outcome)));
        }
    }
}
