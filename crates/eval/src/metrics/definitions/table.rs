//! The table of metrics.

use super::{Definition, Formula};
use crate::metrics::bleu::Smoothing;
use crate::metrics::codebleu::Variant;
use crate::significance::Direction;

/// Every metric that a report may hold, in the order in which tables show them.
pub const METRICS: [Definition; 36] = [
    Definition {
        name: "weighted_perplexity",
        label: "weighted perplexity",
        unit: "per token",
        direction: Direction::Lower,
        definition: "Exponential of the mean over samples of the weighted NLL of the target under the generator.",
        formula: Formula::Exponential("weighted_nll"),
    },
    Definition {
        name: "perplexity",
        label: "perplexity",
        unit: "per token",
        direction: Direction::Lower,
        definition: "Exponential of the mean over samples of the NLL per target token under the generator.",
        formula: Formula::Exponential("nll"),
    },
    Definition {
        name: "weighted_nll",
        label: "weighted NLL",
        unit: "nats per token",
        direction: Direction::Lower,
        definition: "Negative log-likelihood of the target, averaged with token weights.",
        formula: Formula::Mean,
    },
    Definition {
        name: "nll",
        label: "NLL",
        unit: "nats per token",
        direction: Direction::Lower,
        definition: "Negative log-likelihood of the target, averaged over its tokens.",
        formula: Formula::Mean,
    },
    Definition {
        name: "first_choice_weighted_perplexity",
        label: "weighted perplexity, first choice alone",
        unit: "per token",
        direction: Direction::Lower,
        definition: "Exponential of the mean over samples of the weighted NLL under the evaluator, in the prompt of \
                     training, with only the arm's first choice shown.",
        formula: Formula::Exponential("first_choice_weighted_nll"),
    },
    Definition {
        name: "first_choice_weighted_nll",
        label: "weighted NLL, first choice alone",
        unit: "nats per token",
        direction: Direction::Lower,
        definition: "Weighted NLL of the target under the evaluator, with only the arm's first choice shown: what \
                     training rewards.",
        formula: Formula::Mean,
    },
    Definition {
        name: "first_choice_nll",
        label: "NLL, first choice alone",
        unit: "nats per token",
        direction: Direction::Lower,
        definition: "NLL of the target under the evaluator, with only the arm's first choice shown.",
        formula: Formula::Mean,
    },
    Definition {
        name: "oracle_gap_closed",
        label: "share of the oracle's gain",
        unit: "0–1",
        direction: Direction::Higher,
        definition: "How far the first choice lies on the way from the untrained encoder's first choice to the best of its \
                     ten, in weighted NLL: hits over keys, summed over samples.",
        formula: Formula::Ratio,
    },
    Definition {
        name: "iterations",
        label: "iterations",
        unit: "per completion",
        direction: Direction::Lower,
        definition: "How often an arm that retrieves and writes by turns has written.",
        formula: Formula::Mean,
    },
    Definition {
        name: "pass_rate",
        label: "pass rate",
        unit: "0–1",
        direction: Direction::Higher,
        definition: "The repository's own tests pass with the prediction in place of the target; over samples whose own text passes.",
        formula: Formula::Mean,
    },
    Definition {
        name: "exact_match_cceval",
        label: "exact match, CrossCodeEval",
        unit: "0–1",
        direction: Direction::Higher,
        definition: "Stripped non-blank lines of the prediction, cut to one statement, equal those of the target; \
                     comments are removed from both.",
        formula: Formula::Mean,
    },
    Definition {
        name: "edit_similarity_cceval",
        label: "edit similarity, CrossCodeEval",
        unit: "0–100",
        direction: Direction::Higher,
        definition: "Whole-number insertion and deletion ratio (fuzzywuzzy) of the prediction, cut to one statement, and \
                     the target.",
        formula: Formula::Mean,
    },
    Definition {
        name: "identifier_exact_match_cceval",
        label: "identifier exact match, CrossCodeEval",
        unit: "0–1",
        direction: Direction::Higher,
        definition: "The prediction, cut to one statement, has the identifiers of the target in the same order.",
        formula: Formula::Mean,
    },
    Definition {
        name: "identifier_precision_cceval",
        label: "identifier precision, CrossCodeEval",
        unit: "0–1",
        direction: Direction::Higher,
        definition: "Share of the set of identifiers of the prediction, cut to one statement, that the target has; 0 if it has none.",
        formula: Formula::Mean,
    },
    Definition {
        name: "identifier_recall_cceval",
        label: "identifier recall, CrossCodeEval",
        unit: "0–1",
        direction: Direction::Higher,
        definition: "Share of the set of identifiers of the target that the prediction, cut to one statement, has; 0 if there are none.",
        formula: Formula::Mean,
    },
    Definition {
        name: "identifier_f1_cceval",
        label: "identifier F1, CrossCodeEval",
        unit: "0–1",
        direction: Direction::Higher,
        definition: "F1 over the sets of identifiers; 0 if neither side has any.",
        formula: Formula::Mean,
    },
    Definition {
        name: "exact_match_repoeval",
        label: "exact match, RepoEval",
        unit: "0–1",
        direction: Direction::Higher,
        definition: "The first lines of the raw prediction, as many as the target has, equal those of the target.",
        formula: Formula::Mean,
    },
    Definition {
        name: "edit_similarity_repoeval",
        label: "edit similarity, RepoEval",
        unit: "0–1",
        direction: Direction::Higher,
        definition: "1 − Levenshtein distance / longer length, over the first lines of the raw prediction, as many as \
                     the target has.",
        formula: Formula::Mean,
    },
    Definition {
        name: "exact_match_rlcoder_repoeval",
        label: "exact match, RLCoder on RepoEval",
        unit: "0–1",
        direction: Direction::Higher,
        definition: "RepoEval's exact match, taken as RLCoder does after CrossCodeEval's cut to one statement and its removal of comments.",
        formula: Formula::Mean,
    },
    Definition {
        name: "edit_similarity_rlcoder_repoeval",
        label: "edit similarity, RLCoder on RepoEval",
        unit: "0–1",
        direction: Direction::Higher,
        definition: "RepoEval's edit similarity, taken as RLCoder does after CrossCodeEval's cut to one statement and its removal of comments.",
        formula: Formula::Mean,
    },
    Definition {
        name: "exact_match_rlcoder_github",
        label: "prefix match, RLCoder GitHubEval",
        unit: "0–1",
        direction: Direction::Higher,
        definition: "Without whitespace, one of prediction and target starts with the other; an empty prediction \
                     scores 1.",
        formula: Formula::Mean,
    },
    Definition {
        name: "dependency_coverage",
        label: "Dependency Coverage",
        unit: "0–1",
        direction: Direction::Higher,
        definition: "Share of the dependencies of all target functions, taken from their marks as the released code \
                     of ToolGen does, whose names the predictions have: hits over keys, summed over functions.",
        formula: Formula::Ratio,
    },
    Definition {
        name: "dependency_coverage_definitions",
        label: "Dependency Coverage, by definitions",
        unit: "0–1",
        direction: Direction::Higher,
        definition: "Share of the dependencies of all target functions, told by where their names are defined as the \
                     paper of ToolGen words it, that the predictions have: hits over keys, summed over functions.",
        formula: Formula::Ratio,
    },
    Definition {
        name: "validity_native",
        label: "Static Validity Rate, native",
        unit: "0–1",
        direction: Direction::Higher,
        definition: "Share of predictions without syntax error, unknown member and undefined name in the eyes of the \
                     native engine.",
        formula: Formula::Mean,
    },
    Definition {
        name: "validity_pylint",
        label: "Static Validity Rate, pylint",
        unit: "0–1",
        direction: Direction::Higher,
        definition: "Share of predictions without `syntax-error`, `no-member` and `undefined-variable` in the eyes of \
                     pylint.",
        formula: Formula::Mean,
    },
    Definition {
        name: "validity_native_dependent",
        label: "Static Validity Rate, native, with dependencies",
        unit: "0–1",
        direction: Direction::Higher,
        definition: "As `validity_native`, over functions whose target has at least one dependency by its marks.",
        formula: Formula::Mean,
    },
    Definition {
        name: "validity_pylint_dependent",
        label: "Static Validity Rate, pylint, with dependencies",
        unit: "0–1",
        direction: Direction::Higher,
        definition: "As `validity_pylint`, over functions whose target has at least one dependency by its marks.",
        formula: Formula::Mean,
    },
    Definition {
        name: "bleu4_toolgen",
        label: "BLEU-4, ToolGen",
        unit: "0–1",
        direction: Direction::Higher,
        definition: "Corpus BLEU-4 over the tokens of the model: counts summed over functions, one added to both \
                     sides of each precision, standard brevity penalty; string literals are blank.",
        formula: Formula::Bleu4(Smoothing::AddOne),
    },
    Definition {
        name: "bleu4_codexglue",
        label: "BLEU-4, CodeXGLUE",
        unit: "0–1",
        direction: Direction::Higher,
        definition: "Corpus BLEU-4 over words between white space, one added to both sides of each precision, as in CodeXGLUE's bleu.py.",
        formula: Formula::Bleu4(Smoothing::AddOne),
    },
    Definition {
        name: "bleu4_nltk",
        label: "BLEU-4, NLTK method 1",
        unit: "0–1",
        direction: Direction::Higher,
        definition: "Corpus BLEU-4 over words between white space; an order without matches counts a tenth of one, as in NLTK's method1.",
        formula: Formula::Bleu4(Smoothing::Epsilon),
    },
    Definition {
        name: "bleu4_sacrebleu",
        label: "BLEU-4, sacrebleu",
        unit: "0–100",
        direction: Direction::Higher,
        definition: "Corpus BLEU-4 over the tokens of sacrebleu (13a); orders without matches count a half, a quarter and so on.",
        formula: Formula::Bleu4Percent(Smoothing::Exponential),
    },
    Definition {
        name: "codebleu_toolgen",
        label: "CodeBLEU, ToolGen",
        unit: "0–1",
        direction: Direction::Higher,
        definition: "Corpus CodeBLEU as in the released code of ToolGen, counts summed over functions: string \
                     literals are blank, comments count, a missing data flow scores 0.",
        formula: Formula::CodeBleu(Variant::Toolgen),
    },
    Definition {
        name: "codebleu_codexglue",
        label: "CodeBLEU, CodeXGLUE",
        unit: "0–1",
        direction: Direction::Higher,
        definition: "Corpus CodeBLEU as in CodeXGLUE's code-to-code translation: string literals stay, what looks like a Java comment is taken out of every language, a missing data flow scores 0.",
        formula: Formula::CodeBleu(Variant::Codexglue),
    },
    Definition {
        name: "codebleu_k4black",
        label: "CodeBLEU, codebleu 0.7.0",
        unit: "0–1",
        direction: Direction::Higher,
        definition: "Corpus CodeBLEU as in the package codebleu 0.7.0, counts summed over functions: string literals \
                     stay, syntax and data flow know neither comments nor docstrings, a data-flow score of 0 counts as \
                     1.",
        formula: Formula::CodeBleu(Variant::K4black),
    },
    Definition {
        name: "edit_similarity_toolgen",
        label: "edit similarity, ToolGen",
        unit: "0–100",
        direction: Direction::Higher,
        definition: "Whole-number insertion and deletion ratio (fuzzywuzzy); string literals are blank, runs of \
                     whitespace one space.",
        formula: Formula::Mean,
    },
    Definition {
        name: "exact_match_toolgen",
        label: "exact match, ToolGen",
        unit: "0–1",
        direction: Direction::Higher,
        definition: "The prediction equals the target; string literals are blank.",
        formula: Formula::Mean,
    },
];
