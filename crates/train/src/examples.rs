//! Functions as a generator learns and writes them: which are used, their text, and their tokens.

use std::collections::{BTreeMap, BTreeSet};

use analysis::triggers::{bare, mark};
use corpus::functions::StoredFunction;
use corpus::manifest::Split;
use inference::layout::{FunctionHeader, Layout, indentation};
use models::Tokenizer;
use models::decoder::CountedSequence;
use rand::seq::SliceRandom;
use repo::Language;

use crate::experiment::{FunctionConfig, LayoutConfig, LossName};

/// A function without docstring and comments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BareFunction {
    /// The language.
    pub language: Language,
    /// The signature.
    pub signature: String,
    /// What follows it.
    pub body: String,
    /// The same with triggers.
    pub marked_body: String,
    /// What the docstring says.
    pub docstring: String,
}

impl BareFunction {
    /// Takes docstring and comments out of a function.
    #[must_use]
    pub fn new(function: &StoredFunction) -> Self {
        let text = [function.signature.as_str(), &function.body].concat();
        let marks = function.marks.iter().map(|mark| mark.offset);
        let offsets: Vec<usize> = [function.signature.len()].into_iter().chain(marks).collect();
        let (text, offsets) = bare(&text, function.language, &offsets);
        let end = offsets[0];
        let in_body = offsets[1..].iter().map(|offset| offset - end);
        Self {
            language: function.language,
            signature: text[..end].to_owned(),
            body: text[end..].to_owned(),
            marked_body: mark(&text[end..], in_body),
            docstring: function.docstring.clone(),
        }
    }

    /// Returns what a layout needs to know before the body is written.
    #[must_use]
    pub fn header(&self) -> FunctionHeader<'_> {
        FunctionHeader {
            language: self.language,
            signature: &self.signature,
            docstring: &self.docstring,
            indentation: indentation(&self.body),
        }
    }

    /// Returns the tokens of the function without triggers.
    fn n_code_tokens(&self, tokenizer: &Tokenizer) -> usize {
        tokenizer.encode(&[self.signature.as_str(), &self.body].concat()).len()
    }
}

/// The tokens that a model reads, and those that it is to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// What is read.
    pub prompt: Vec<u32>,
    /// What is written, the token that ends a text included unless it was cut.
    pub completion: Vec<u32>,
    /// Tokens that were cut.
    pub cut: usize,
}

impl Example {
    /// Lays a function out and tokenizes it, with the token `end` behind it; nothing if the prompt alone is as long as
    /// allowed.
    #[must_use]
    pub fn new(
        function: &BareFunction,
        marked: bool,
        config: &LayoutConfig,
        (tokenizer, end): (&Tokenizer, u32),
    ) -> Option<Self> {
        let layout: Layout = config.layout();
        let body = if marked { &function.marked_body } else { &function.body };
        let prompt = layout.prompt_tokens(&function.header(), tokenizer);
        let mut completion = tokenizer.encode(&layout.completion(&function.signature, body));
        completion.push(end);
        let room = config.tokens_max.checked_sub(prompt.len()).filter(|&room| room > 0)?;
        let cut = completion.len().saturating_sub(room);
        completion.truncate(room);
        Some(Self { prompt, completion, cut })
    }

    /// Returns the number of tokens.
    #[must_use]
    pub fn n_tokens(&self) -> usize {
        self.prompt.len() + self.completion.len()
    }

    /// Returns the tokens and which of them count in the loss.
    #[must_use]
    pub fn counted(&self, loss: LossName) -> CountedSequence {
        let first = match loss {
            LossName::Whole => 1,
            LossName::Completion => self.prompt.len(),
        };
        let tokens = [&self.prompt[..], &self.completion].concat();
        let counts = (0..tokens.len()).map(|index| index >= first).collect();
        CountedSequence { tokens, counts }
    }
}

/// The functions of a dataset that an experiment uses.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Functions {
    /// The functions of each split, in the order of the table.
    pub splits: BTreeMap<Split, Vec<StoredFunction>>,
    /// How many were left out of each split, by reason.
    pub dropped: BTreeMap<(Split, &'static str), usize>,
}

impl Functions {
    /// Chooses from all functions of a dataset.
    ///
    /// Of functions with the same docstring and signature one is used in training, and none elsewhere that training has.
    /// Functions are drawn from those that are left, by `seed`.
    #[must_use]
    pub fn choose(all: Vec<StoredFunction>, config: &FunctionConfig, tokenizer: &Tokenizer, seed: u64) -> Self {
        let mut chosen = Self::default();
        let mut trained = BTreeSet::new();
        let mut by_split: BTreeMap<Split, Vec<StoredFunction>> = BTreeMap::new();
        for function in all {
            by_split.entry(function.split).or_default().push(function);
        }
        // Training comes first in the order of splits, so that the others are held against it.
        for split in [Split::Train, Split::Validation, Split::Test] {
            let mut kept = Vec::new();
            let mut own = BTreeSet::new();
            for function in by_split.remove(&split).unwrap_or_default() {
                let key = (function.docstring.clone(), function.signature.clone());
                let bare = BareFunction::new(&function);
                let reason = if trained.contains(&key) || !own.insert(key.clone()) {
                    Some("duplicate")
                } else if bare.n_code_tokens(tokenizer) > config.code_tokens_max {
                    Some("many_tokens")
                } else {
                    None
                };
                match reason {
                    Some(reason) => *chosen.dropped.entry((split, reason)).or_default() += 1,
                    None => kept.push(function),
                }
            }
            if split == Split::Train {
                trained = own;
            }
            chosen.splits.insert(split, drawn(kept, limit(config, split), seed, split));
        }
        chosen
    }

    /// Returns the functions of a split.
    #[must_use]
    pub fn of(&self, split: Split) -> &[StoredFunction] {
        self.splits.get(&split).map_or(&[], Vec::as_slice)
    }
}

fn limit(config: &FunctionConfig, split: Split) -> usize {
    match split {
        Split::Train => config.train_max,
        Split::Validation => config.validation_max,
        Split::Test => config.test_max,
    }
}

/// Draws `n` functions, 0 for all, and keeps their order.
fn drawn(functions: Vec<StoredFunction>, n: usize, seed: u64, split: Split) -> Vec<StoredFunction> {
    if n == 0 || n >= functions.len() {
        return functions;
    }
    let mut order: Vec<usize> = (0..functions.len()).collect();
    order.shuffle(&mut repo::random::stream(seed, &format!("functions/{split}")));
    let chosen: BTreeSet<usize> = order.into_iter().take(n).collect();
    functions
        .into_iter()
        .enumerate()
        .filter_map(|(index, function)| chosen.contains(&index).then_some(function))
        .collect()
}

/// Means over the functions of a split, as the paper reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Functions.
    pub n: usize,
    /// Tokens of the docstring.
    pub docstring_tokens: f64,
    /// Tokens of the function without docstring, comments and triggers.
    pub code_tokens: f64,
    /// Triggers.
    pub marks: f64,
}

impl Statistics {
    /// What the paper reports of its training functions.
    pub const PAPER: Self = Self { n: 256_870, docstring_tokens: 10.96, code_tokens: 54.13, marks: 5.37 };

    /// Averages over functions.
    #[must_use]
    pub fn of(functions: &[StoredFunction], tokenizer: &Tokenizer) -> Self {
        let n = functions.len();
        let mean = |count: &dyn Fn(&StoredFunction) -> usize| {
            functions.iter().map(|function| count(function) as f64).sum::<f64>() / n.max(1) as f64
        };
        Self {
            n,
            docstring_tokens: mean(&|function| tokenizer.encode(&function.docstring).len()),
            code_tokens: mean(&|function| BareFunction::new(function).n_code_tokens(tokenizer)),
            marks: mean(&|function| function.marks.len()),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use analysis::triggers::{Context, Eligibility, Mark, TRIGGER};

    const END: u32 = 5;
    const SIGNATURE: &str = "def area(self, scale):";
    const BODY: &str =
        "\n        \"\"\"Return the area.\"\"\"\n        # Both sides.\n        return self.width * scale";

    /// Returns a documented function with two marks.
    pub(crate) fn function(split: Split, name: &str) -> StoredFunction {
        let text = [SIGNATURE, BODY].concat();
        let offsets = ["width", "scale"].map(|word| text.rfind(word).unwrap());
        StoredFunction {
            split,
            repository: "r".into(),
            source: "dir:r".into(),
            version: String::new(),
            revision: String::new(),
            license: "MIT".into(),
            path: format!("{name}.py"),
            language: Language::Python,
            class: String::new(),
            name: name.into(),
            span: 0..text.len(),
            docstring: format!("Return the {name}."),
            docstring_raw: String::new(),
            signature: SIGNATURE.into(),
            body: BODY.into(),
            marked_body: mark(BODY, offsets.map(|offset| offset - SIGNATURE.len())),
            marks: offsets.map(|offset| Mark { offset, n_suggestions: 3 }).to_vec(),
            tool: "script".into(),
            eligibility: Eligibility::Paper,
            context: Context::Intact,
        }
    }

    fn tokenizer() -> Tokenizer {
        let directory = tempfile::tempdir().unwrap();
        models::random_model::write_llama(directory.path(), 1).unwrap();
        let mut decoder = models::Decoder::load(directory.path(), &burn::tensor::Device::flex()).unwrap();
        decoder.add_tokens(&[TRIGGER], models::RowInit::Mean).unwrap();
        decoder.tokenizer().clone()
    }

    #[test]
    fn docstring_and_comments_are_taken_out_and_triggers_stay_before_their_identifiers() {
        let bare = BareFunction::new(&function(Split::Train, "area"));
        assert_eq!(bare.signature, SIGNATURE);
        assert_eq!(bare.body, "\n        return self.width * scale");
        assert_eq!(bare.marked_body, "\n        return self.<COMP>width * <COMP>scale");
        assert_eq!(bare.header().indentation, "        ");
    }

    #[test]
    fn what_is_read_and_what_is_written_make_up_the_text() {
        let tokenizer = tokenizer();
        let bare = BareFunction::new(&function(Split::Train, "area"));
        let config = LayoutConfig::default();
        let example = Example::new(&bare, true, &config, (&tokenizer, END)).unwrap();
        let text = tokenizer.decode(&[&example.prompt[..], &example.completion].concat());
        let written =
            "def area(self, scale):\n        '''Return the area.'''\n        return self.<COMP>width * <COMP>scale";
        assert!(text.contains(written), "{text}");
        assert_eq!(example.completion.last(), Some(&END));
        let trigger = tokenizer.token(TRIGGER).unwrap();
        assert_eq!(example.completion.iter().filter(|&&token| token == trigger).count(), 2);
        let plain = Example::new(&bare, false, &config, (&tokenizer, END)).unwrap();
        assert!(!plain.completion.contains(&trigger));
        let counted = example.counted(LossName::Completion);
        assert_eq!(counted.counts.iter().filter(|counts| **counts).count(), example.completion.len());
        assert_eq!(example.counted(LossName::Whole).counts.iter().filter(|counts| !**counts).count(), 1);
    }

    #[test]
    fn what_is_too_long_is_cut_and_a_prompt_without_room_is_refused() {
        let tokenizer = tokenizer();
        let bare = BareFunction::new(&function(Split::Train, "area"));
        let example = Example::new(&bare, true, &LayoutConfig::default(), (&tokenizer, END)).unwrap();
        let with_limit = |tokens_max| {
            let config = LayoutConfig { tokens_max, ..LayoutConfig::default() };
            Example::new(&bare, true, &config, (&tokenizer, END))
        };
        let cut = with_limit(example.prompt.len() + 3).unwrap();
        assert_eq!((cut.completion.len(), cut.cut), (3, example.completion.len() - 3));
        assert_eq!(with_limit(example.prompt.len()), None);
    }

    #[test]
    fn functions_that_training_has_are_not_used_elsewhere() {
        let tokenizer = tokenizer();
        let all = vec![
            function(Split::Train, "area"),
            function(Split::Train, "area"),
            function(Split::Train, "edge"),
            function(Split::Validation, "area"),
            function(Split::Validation, "side"),
            function(Split::Test, "edge"),
            function(Split::Test, "side"),
            function(Split::Test, "width"),
        ];
        let config = FunctionConfig { code_tokens_max: 1_000, ..FunctionConfig::default() };
        let chosen = Functions::choose(all.clone(), &config, &tokenizer, 1);
        let names = |split| chosen.of(split).iter().map(|f| f.name.as_str()).collect::<Vec<_>>();
        assert_eq!(names(Split::Train), ["area", "edge"]);
        assert_eq!(names(Split::Validation), ["side"]);
        assert_eq!(names(Split::Test), ["side", "width"]);
        let config = FunctionConfig { train_max: 1, test_max: 1, ..config };
        let fewer = Functions::choose(all.clone(), &config, &tokenizer, 1);
        assert_eq!((fewer.of(Split::Train).len(), fewer.of(Split::Test).len()), (1, 1));
        let none = Functions::choose(all, &FunctionConfig { code_tokens_max: 3, ..config }, &tokenizer, 1);
        assert_eq!(none.dropped[&(Split::Train, "many_tokens")], 2);
    }
}
