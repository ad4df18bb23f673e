"""Language models of a few thousand numbers, which the other tests work with."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
gguf = pytest.importorskip("gguf")

SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "intermediate_size": 48,
    "max_position_embeddings": 64,
    "tie_word_embeddings": True,
}
FAMILIES = ("gpt2", "llama", "qwen2", "gemma3_text")


def tokenizer():
    """One token for each byte, and for a few words."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("Ġ", "t"), ("h", "e"), ("Ġt", "he"), ("i", "s"), ("Ġ", "is"), ("c", "a")]
    words = ["<s>", "</s>", *letters, *("".join(pair) for pair in merges)]
    made = Tokenizer(models.BPE({word: n for n, word in enumerate(words)}, merges))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken("<s>", special=True), AddedToken("</s>", special=True)])
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token="<s>", eos_token="</s>", pad_token="</s>"
    )


def small(family, seed=0, **changes):
    """A model of a family that has learnt nothing."""
    words = len(tokenizer())
    if family == "gpt2":
        config = transformers.GPT2Config(
            vocab_size=words, n_embd=32, n_layer=3, n_head=4, n_positions=64, n_inner=48
        )
    else:
        kinds = {
            "llama": transformers.LlamaConfig,
            "qwen2": transformers.Qwen2Config,
            "gemma3_text": transformers.Gemma3TextConfig,
        }
        config = kinds[family](vocab_size=words, **SIZES | changes)
    config.bos_token_id, config.eos_token_id, config.pad_token_id = 0, 1, 1
    torch.manual_seed(seed)
    return transformers.AutoModelForCausalLM.from_config(config).eval()


def save(family, folder, seed=0, **changes):
    """Saves a small model with its tokenizer, as its authors would."""
    model = small(family, seed, **changes)
    with torch.no_grad():
        for values in model.parameters():  # large enough for what they do to be seen
            if values.ndim > 1:
                values.mul_(8)
    model.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return model


def write_gguf(path, seed=0):
    """Writes a small Llama as a GGUF file, and returns its embedding."""
    rng = np.random.default_rng(seed)
    words = tokenizer()
    names = words.convert_ids_to_tokens(range(len(words)))
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(32)
    writer.add_block_count(2)
    writer.add_feed_forward_length(48)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_rope_dimension_count(8)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(names))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(names)
    writer.add_token_types([3, 3, *[1] * (len(names) - 2)])
    writer.add_token_merges(["Ġ t", "h e", "Ġt he", "i s", "Ġ is", "c a"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    shapes = {"attn_q": (32, 32), "attn_k": (16, 32), "attn_v": (16, 32), "attn_output": (32, 32)}
    shapes |= {"ffn_gate": (48, 32), "ffn_up": (48, 32), "ffn_down": (32, 48)}
    embedding = rng.normal(size=(len(names), 32)).astype(np.float32)
    writer.add_tensor("token_embd.weight", embedding)
    writer.add_tensor("output_norm.weight", np.ones(32, np.float32))
    for layer in range(2):
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", np.ones(32, np.float32))
        for name, shape in shapes.items():
            values = rng.normal(size=shape).astype(np.float32)
            writer.add_tensor(f"blk.{layer}.{name}.weight", values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return embedding
