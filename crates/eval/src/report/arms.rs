//! How arms are called in tables and sentences.

/// Returns the name of an arm in a table.
pub(super) fn label(arm: &str) -> &str {
    match arm {
        "none" => "no context",
        "random" => "random candidate",
        "bm25" => "BM25",
        "jaccard" => "Jaccard windows",
        "repocoder" => "RepoCoder",
        "repocoder_adaptive" => "RepoCoder, adaptive",
        "repocoder_trained" => "RepoCoder with the trained retriever",
        "sft" => "supervised retriever",
        "best_of_random" => "best of ten random (oracle)",
        "best_of_untrained" => "best of the untrained encoder's ten (oracle)",
        "best_of_trained" => "best of the trained retriever's ten (oracle)",
        "untrained_without_stop" => "untrained encoder without stop",
        "trained_without_stop" => "trained retriever without stop",
        "untrained" => "untrained encoder",
        "trained" => "trained retriever",
        "plain" => "plain decoding",
        "toolgen_paper" => "ToolGen, paper's rule",
        "toolgen_released" => "ToolGen, released rule",
        "toolgen_beam" => "ToolGen, beam search",
        "toolgen_ranked" => "ToolGen, rank-aware",
        other => other,
    }
}

/// Returns the name of an arm within a sentence, after a preposition.
pub(super) fn phrase(arm: &str) -> String {
    match arm {
        "none" => "no cross-file context".to_owned(),
        "bm25" => "BM25".to_owned(),
        "plain" => "plain decoding".to_owned(),
        "toolgen_paper" => "ToolGen by the paper's rule".to_owned(),
        "toolgen_released" => "ToolGen by the released rule".to_owned(),
        "toolgen_beam" => "ToolGen with beam search".to_owned(),
        "toolgen_ranked" => "ToolGen with ranked suggestions".to_owned(),
        "baseline" | "untrained" | "trained" => format!("the {}", label(arm)),
        "random" => "a random candidate".to_owned(),
        other if label(other) != other => label(other).to_owned(),
        other => format!("the arm “{other}”"),
    }
}

/// Returns a number with at most the decimals given, or a dash if it is not finite.
pub(super) fn number(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let text = format!("{value:.decimals$}");
    // A typographic minus, and none in front of a zero.
    match text.strip_prefix('-') {
        Some(digits) if digits.chars().all(|c| matches!(c, '0' | '.')) => digits.to_owned(),
        Some(digits) => format!("−{digits}"),
        None => text,
    }
}

/// Returns a number with its sign, or a dash if it is not finite.
pub(super) fn signed(value: f64, decimals: usize) -> String {
    let text = number(value, decimals);
    let is_zero = text.chars().all(|c| matches!(c, '0' | '.'));
    if value > 0.0 && !is_zero && value.is_finite() { format!("+{text}") } else { text }
}

/// Returns a relative difference as a percentage with its sign.
pub(super) fn signed_percent(share: f64) -> String {
    let text = signed(100.0 * share, 1);
    if share.is_finite() { text + " %" } else { text }
}

/// Returns a share as a percentage without decimals.
pub(super) fn percent(share: f64) -> String {
    if share.is_finite() { format!("{:.0} %", 100.0 * share) } else { "–".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_a_true_minus_and_no_negative_zero() {
        assert_eq!(number(-1.256, 2), "−1.26");
        assert_eq!(number(-0.001, 2), "0.00");
        assert_eq!(number(f64::NAN, 2), "–");
        assert_eq!(signed(0.5, 1), "+0.5");
        assert_eq!(signed(-0.5, 1), "−0.5");
        assert_eq!(signed(0.001, 2), "0.00");
        assert_eq!(percent(0.846), "85 %");
        assert_eq!((signed_percent(0.1534).as_str(), signed_percent(f64::INFINITY).as_str()), ("+15.3 %", "–"));
    }
}
