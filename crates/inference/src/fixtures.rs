//! Values for tests.

use analysis::triggers::TRIGGER;
use models::encoder::Encoder;
use models::tokenizer::Tokenizer;
use models::{Decoder, DeviceSpec, RowInit, device, random_model};
use repo::candidates::{Candidate, CodeCandidate};
use repo::language::Language;
use repo::source::SourceFile;

/// Returns a Python file.
pub(crate) fn file(path: &str, text: &str) -> SourceFile {
    SourceFile { path: path.to_owned(), language: Language::Python, text: text.to_owned() }
}

/// Returns a tiny random decoder.
pub(crate) fn decoder() -> Decoder {
    let directory = tempfile::tempdir().unwrap();
    random_model::write_llama(directory.path(), 7).unwrap();
    Decoder::load(directory.path(), &device::resolve(&DeviceSpec::Cpu).unwrap()).unwrap()
}

/// Returns a tiny random decoder that knows the trigger.
pub(crate) fn asking_decoder() -> Decoder {
    let mut decoder = decoder();
    decoder.add_tokens(&[TRIGGER], RowInit::Mean).unwrap();
    decoder
}

/// Returns the tokenizer of the tiny random models.
pub(crate) fn tokenizer() -> Tokenizer {
    let directory = tempfile::tempdir().unwrap();
    random_model::write_llama(directory.path(), 7).unwrap();
    Tokenizer::load(directory.path()).unwrap()
}

/// Returns a tiny random encoder.
pub(crate) fn encoder() -> Encoder {
    let directory = tempfile::tempdir().unwrap();
    random_model::write_bert(directory.path(), 7).unwrap();
    Encoder::load(directory.path(), &device::resolve(&DeviceSpec::Cpu).unwrap()).unwrap()
}

/// Returns a Python candidate.
pub(crate) fn code(path: &str, code: &str) -> Candidate {
    Candidate::Code(code_candidate(path, code))
}

/// Returns a Python candidate's code.
pub(crate) fn code_candidate(path: &str, code: &str) -> CodeCandidate {
    let n_lines = code.lines().count();
    CodeCandidate {
        path: path.to_owned(),
        language: Language::Python,
        lines: 0..n_lines,
        listed: (1, n_lines),
        code: code.to_owned(),
    }
}

/// Returns the tokenizer of the tiny random models, with the tokens of a model that fills in the middle.
pub(crate) fn infill_tokenizer() -> Tokenizer {
    let mut decoder = decoder();
    let tokens = ["<fim_prefix>", "<fim_suffix>", "<fim_middle>"];
    decoder.add_tokens(&tokens, RowInit::Mean).unwrap();
    decoder.tokenizer().clone()
}
