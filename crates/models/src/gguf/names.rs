//! What tensors are called in a GGUF file and in a Hugging Face checkpoint.

/// Tensors that occur once.
const WHOLE: [(&str, &str); 3] =
    [("token_embd", "model.embed_tokens"), ("output_norm", "model.norm"), ("output", "lm_head")];

/// Tensors of every layer.
const LAYER: [(&str, &str); 9] = [
    ("attn_norm", "input_layernorm"),
    ("attn_q", "self_attn.q_proj"),
    ("attn_k", "self_attn.k_proj"),
    ("attn_v", "self_attn.v_proj"),
    ("attn_output", "self_attn.o_proj"),
    ("ffn_norm", "post_attention_layernorm"),
    ("ffn_gate", "mlp.gate_proj"),
    ("ffn_up", "mlp.up_proj"),
    ("ffn_down", "mlp.down_proj"),
];

/// Returns the checkpoint's name of a tensor of a GGUF file, if it has one.
pub(super) fn checkpoint_name(name: &str) -> Option<String> {
    let (stem, suffix) = name.rsplit_once('.')?;
    if let Some((_, whole)) = WHOLE.iter().find(|(known, _)| *known == stem) {
        return Some(format!("{whole}.{suffix}"));
    }
    let (layer, field) = stem.strip_prefix("blk.")?.split_once('.')?;
    let (_, field) = LAYER.iter().find(|(known, _)| *known == field)?;
    Some(format!("model.layers.{layer}.{field}.{suffix}"))
}

/// Returns the GGUF name of a tensor of a checkpoint, if it has one.
pub(super) fn gguf_name(name: &str) -> Option<String> {
    let (stem, suffix) = name.rsplit_once('.')?;
    if let Some((whole, _)) = WHOLE.iter().find(|(_, known)| *known == stem) {
        return Some(format!("{whole}.{suffix}"));
    }
    let (layer, field) = stem.strip_prefix("model.layers.")?.split_once('.')?;
    let (field, _) = LAYER.iter().find(|(_, known)| *known == field)?;
    Some(format!("blk.{layer}.{field}.{suffix}"))
}

/// Tells whether the rows of a tensor of a GGUF file are queries or keys, which are rotated.
pub(super) fn is_rotated(name: &str) -> bool {
    name.contains(".attn_q.") || name.contains(".attn_k.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_there_and_back() {
        let layers = LAYER.iter().map(|(field, _)| format!("blk.17.{field}.bias"));
        for name in layers.chain(WHOLE.iter().map(|(whole, _)| format!("{whole}.weight"))) {
            assert_eq!(gguf_name(&checkpoint_name(&name).unwrap()), Some(name));
        }
        assert_eq!(checkpoint_name("blk.3.attn_q.weight").unwrap(), "model.layers.3.self_attn.q_proj.weight");
    }

    #[test]
    fn what_is_not_known_has_no_name() {
        for name in ["", "output", "blk.0.weight", "blk.0.attn_qkv.weight", "rope_freqs.weight", "lm_head.weight"] {
            assert_eq!(checkpoint_name(name), None);
        }
        assert_eq!(gguf_name("model.layers.0.self_attn.rotary_emb.inv_freq"), None);
    }
}
