"""Identities added to somebody's attention."""

import numpy as np
import pytest
from language_models import FAMILIES, save, small, tokenizer, torch, write_gguf

from ontogeny import ConfigError
from ontogeny.llm import add_identity_scalings, diagonal_strength, draw_diagonals, models
from ontogeny.llm.scalings import attentions


def texts():
    both = ("the cat is here", "cacacat the catcher")
    return torch.tensor([tokenizer()(text)["input_ids"][:9] for text in both])


def logits(model, **given):
    with torch.no_grad():
        return model(texts(), **given).logits


@pytest.mark.parametrize("family", FAMILIES)
def test_they_say_nothing_until_trained(family, tmp_path):
    model = save(family, tmp_path)
    before = logits(model)
    padded = torch.ones_like(texts())
    padded[0, :3] = 0
    masked = logits(model, attention_mask=padded)
    assert add_identity_scalings(model) is model
    np.testing.assert_allclose(logits(model), before, atol=1e-5)
    np.testing.assert_allclose(
        logits(model, attention_mask=padded)[:, 3:], masked[:, 3:], atol=1e-5
    )


@pytest.mark.parametrize("own", [True, False])
def test_a_gpt2_computes_what_the_products_with_identities_say(own, tmp_path):
    """With one head as wide as the model, W_Q + a·W_K⁻ᵀ makes the same product."""
    plain = small("gpt2")
    plain.config.n_head = 1
    torch.manual_seed(0)
    import transformers

    model = transformers.AutoModelForCausalLM.from_config(plain.config).eval()
    attention = attentions(model)[0]
    given = torch.randn(1, 5, 32)
    add_identity_scalings(model, own=own)
    with torch.no_grad():
        attention.kq_identity += 0.7
        attention.vo_identity += 0.3
        mask = torch.full((5, 5), -torch.inf).triu(1)[None, None]
        found = attention(given, attention_mask=mask)[0][0]
    query, key, value = (w.numpy() for w in attention.c_attn.weight.detach().split(32, dim=1))
    output = attention.c_proj.weight.detach().numpy()
    x = given[0].numpy()
    alike = x @ x.T if own else x @ x.T - np.diag((x**2).sum(1))
    scores = (x @ query @ key.T @ x.T + 0.7 * alike) / 32**0.5 + mask[0, 0].numpy()
    weights = np.exp(scores - scores.max(1, keepdims=True))
    weights /= weights.sum(1, keepdims=True)
    np.testing.assert_allclose(found, weights @ x @ (value @ output + 0.3 * np.eye(32)), atol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_head_has_its_own_and_each_matters(family, tmp_path):
    model = add_identity_scalings(save(family, tmp_path))
    before = logits(model)
    for part in ("kq_identity", "vo_identity"):
        for head in range(4):
            values = getattr(attentions(model)[1], part)
            with torch.no_grad():
                values[head] = 0.5
                assert not np.allclose(logits(model), before, atol=1e-3), (part, head)
                values[head] = 0.0


def test_plain_torch_trains_them(tmp_path):
    model = add_identity_scalings(save("llama", tmp_path))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(5):
        loss = model(texts(), labels=texts()).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    for attention in attentions(model):
        assert (attention.kq_identity != 0).all() and (attention.vo_identity != 0).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_they_survive_saving_and_loading(family, tmp_path):
    model = add_identity_scalings(save(family, tmp_path / "plain"), own=False)
    with torch.no_grad():
        for attention in attentions(model):
            attention.kq_identity += torch.randn(4) / 10
            attention.vo_identity += torch.randn(4)
    model.save_pretrained(tmp_path / "scaled")
    tokenizer().save_pretrained(tmp_path / "scaled")
    loaded = models.load(str(tmp_path / "scaled")).model
    np.testing.assert_allclose(logits(loaded), logits(model), atol=1e-5)
    other = add_identity_scalings(small(family), own=False)
    other.load_state_dict(model.state_dict())
    np.testing.assert_allclose(logits(other), logits(model), atol=1e-5)


def test_a_gguf_file_can_be_given_them_and_a_fresh_model_has_them_too(tmp_path):
    write_gguf(tmp_path / "tiny.gguf")
    loaded = models.load(str(tmp_path))
    before = logits(loaded.model)
    add_identity_scalings(loaded.model)
    np.testing.assert_allclose(logits(loaded.model), before, atol=1e-5)
    new = models.fresh(loaded, 0).model
    for model in (loaded.model, new):
        was = logits(model)
        with torch.no_grad():
            attentions(model)[0].kq_identity += 1
        assert not np.allclose(logits(model), was, atol=1e-6)


def test_scalings_that_were_lost_are_missed(tmp_path):
    from safetensors.torch import load_file, save_file

    add_identity_scalings(save("llama", tmp_path)).save_pretrained(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    kept = {name: values for name, values in weights.items() if not name.endswith("kq_identity")}
    save_file(kept, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ConfigError, match="says that it has identity scalings"):
        models.load(str(tmp_path))


def test_what_cannot_be_is_refused(tmp_path):
    model = add_identity_scalings(save("gpt2", tmp_path))
    with pytest.raises(ConfigError, match="already"):
        add_identity_scalings(model)
    with torch.no_grad():
        began = model(texts(), use_cache=True).past_key_values
        with pytest.raises(ConfigError, match="use_cache=False"):
            model(texts()[:, :1], past_key_values=began, use_cache=True)
    other = small("gpt2")
    other.config.model_type = "bert"
    with pytest.raises(ConfigError, match="no identities can be added to a bert"):
        add_identity_scalings(other)
    with pytest.raises(ConfigError, match="the heads of a bert cannot be read"):
        diagonal_strength(other)


# -------------------------------------------------------------------------------------- diagonals


@pytest.mark.parametrize("family", FAMILIES)
def test_diagonals_are_traces_over_norms(family):
    model = small(family)
    found = diagonal_strength(model)
    assert found.kq.shape == found.vo.shape == (3, 4)
    attention, shared = attentions(model)[2], 1 if family == "gpt2" else 2
    if family == "gpt2":
        query, key, value = attention.c_attn.weight.detach().double().split(32, dim=1)
        output = attention.c_proj.weight.detach().double()
    else:
        query, key, value, output = (
            getattr(attention, f"{kind}_proj").weight.detach().double().T for kind in "qkvo"
        )
    for head in range(4):
        mine, its = (
            slice(8 * head, 8 * head + 8),
            slice(8 * (head // shared), 8 * (head // shared) + 8),
        )
        for strength, product in (
            (found.kq, key[:, its] @ query[:, mine].T),
            (found.vo, value[:, its] @ output[mine]),
        ):
            expected = torch.trace(product) / torch.linalg.norm(product)
            np.testing.assert_allclose(strength[2, head], expected, rtol=1e-9)


def test_random_heads_are_at_chance_and_an_identity_is_not():
    wide = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 16}
    model = small("llama", **wide, num_key_value_heads=16, head_dim=16)
    found = diagonal_strength(model)
    assert found.chance == 1 / 16 and found.most == 4
    assert 0.8 < np.std(found.kq) / found.chance < 1.2
    first = attentions(model)[0]
    with torch.no_grad():
        first.k_proj.weight.copy_(first.q_proj.weight)
    np.testing.assert_array_less(3, diagonal_strength(model).kq[0])


def test_diagonals_are_drawn(tmp_path):
    model = small("llama")
    figure = draw_diagonals(diagonal_strength(model))
    figure.savefig(tmp_path / "diagonals.pdf")
    assert (tmp_path / "diagonals.pdf").stat().st_size > 1000
    images = [image for axis in figure.axes for image in axis.images]
    np.testing.assert_allclose(images[0].get_array().T * 32**-0.5, diagonal_strength(model).kq)
