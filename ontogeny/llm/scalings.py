"""Trainable identities in the attention of a pretrained model, which change nothing at first.

In every head, W_K W_Qᵀ becomes W_K W_Qᵀ + a·I and W_V W_Oᵀ becomes W_V W_Oᵀ + b·I, both between the
inputs of attention, x, which are normed as the model norms them. So

    score(i, j)  gains  a · ⟨x_i, x_j⟩, scaled as the model scales its own scores,
    output(i)    gains  b · Σ_j weight(i, j) x_j.

Where positions rotate keys and queries, the identity stands beside the rotation: ⟨x_i, x_j⟩ is not
rotated, since it compares tokens, not positions. Where several heads share keys and values, each
head still has an a and a b of its own.
"""

from pathlib import Path
from typing import Any

from ..core.fields import ConfigError
from .libraries import library

NAME = "identity_scalings"
NAMES = ("kq_identity", "vo_identity")  # a and b
FAMILIES = ("gpt2", "llama", "mistral", "qwen2", "qwen3", "gemma", "gemma3_text", "smollm3")


def add_identity_scalings(
    model: Any, *, initial: float = 0.0, own: bool = True, saved: str | Path | None = None
) -> Any:
    """Adds the identities to a GPT-2 or a Llama-like model, and returns it; with an `initial` value
    of 0 its outputs are unchanged. If not `own`, a token is not compared with itself.

    They are parameters like others: an optimiser made afterwards trains them, `state_dict` and
    `save_pretrained` hold them, and `saved` is a folder of the latter to take their values from.
    """
    if model.config.model_type not in FAMILIES:
        known = ", ".join(FAMILIES)
        raise ConfigError(
            f"no identities can be added to a {model.config.model_type}: known: {known}"
        )
    torch = library("torch")
    if saved is not None:
        own = bool(model.config.identity_scalings["own"])
    for attention in attentions(model):
        if hasattr(attention, "kq_identity"):
            raise ConfigError("this model has identity scalings already")
        like = next(attention.parameters())
        for name in NAMES:
            values = torch.full((heads(model),), initial, dtype=like.dtype, device=like.device)
            attention.register_parameter(name, torch.nn.Parameter(values))
        attention.compares_itself = own
        attention.register_forward_pre_hook(_remember, with_kwargs=True)
        attention.register_forward_hook(_add_copies)
    model.config.identity_scalings = {"own": own}
    model.config.use_cache = False  # a cache holds keys and values, not the inputs compared here
    _register()
    model.set_attn_implementation(NAME)
    if saved is not None:
        _fill(model, Path(saved))
    return model


def attentions(model: Any) -> list[Any]:
    """The attention of each layer."""
    return [getattr(layer, "attn", None) or layer.self_attn for layer in layers(model)]


def layers(model: Any) -> Any:
    """The layers of a model, whatever it calls them."""
    body = model.base_model
    return body.h if hasattr(body, "h") else body.layers


def heads(model: Any) -> int:
    """How many heads each layer has."""
    return int(model.config.num_attention_heads)


def _register() -> None:
    """Registers attention with identities in transformers; once or more often."""
    library("transformers")
    masks = library("transformers.masking_utils").ALL_MASK_ATTENTION_FUNCTIONS
    # eager's mask is a tensor to be added, as `_attend` does; others may be None or boolean
    masks.register(NAME, masks["eager"])
    library("transformers.modeling_utils").ALL_ATTENTION_FUNCTIONS.register(NAME, _attend)


def _remember(attention: Any, given: tuple[Any, ...], named: dict[str, Any]) -> None:
    """Keeps the inputs of attention, which the attention function is not given."""
    past = named.get("past_key_values")
    if past is not None and past.get_seq_length(attention.layer_idx):
        raise ConfigError("with identity scalings a model reads whole texts: use_cache=False")
    attention.given = given[0] if given else named["hidden_states"]


def _attend(
    attention: Any,
    query: Any,
    key: Any,
    value: Any,
    attention_mask: Any,
    scaling: float | None = None,
    dropout: float = 0.0,
    **_: Any,
) -> tuple[Any, Any]:
    """Attention with the identities; the output hook adds what b copies."""
    torch = library("torch")
    shared = query.shape[1] // key.shape[1]
    # grouped queries: heads that share keys and values each get a copy
    key, value = (x.repeat_interleave(shared, dim=1) for x in (key, value))
    alike = attention.given @ attention.given.transpose(-1, -2)
    if not attention.compares_itself:
        alike = alike - torch.diag_embed(torch.diagonal(alike, dim1=-2, dim2=-1))
    # before the scale, so that a I stands beside W_K W_Qᵀ
    scores = query @ key.transpose(-1, -2) + attention.kq_identity[:, None, None] * alike[:, None]
    scores = scores * (query.shape[-1] ** -0.5 if scaling is None else scaling)
    if attention_mask is not None:
        scores = scores + attention_mask
    weights = torch.softmax(scores, dim=-1, dtype=torch.float32).to(query.dtype)
    weights = torch.nn.functional.dropout(weights, p=dropout, training=attention.training)
    attention.copied = torch.einsum(
        "h,bhij,bjd->bid", attention.vo_identity, weights, attention.given
    )
    return (weights @ value).transpose(1, 2).contiguous(), weights


def _add_copies(attention: Any, _: Any, came_out: tuple[Any, ...]) -> tuple[Any, ...]:
    outputs = came_out[0] + attention.copied
    attention.given = attention.copied = None  # else a batch would stay in memory
    return (outputs, *came_out[1:])


def _fill(model: Any, folder: Path) -> None:
    """Reads the identities' values from what `save_pretrained` wrote."""
    torch = library("torch")
    found: dict[str, Any] = {}
    # `from_pretrained` does not know these parameters, and leaves them out
    for path in sorted(folder.glob("*.safetensors")):
        with library("safetensors").safe_open(path, "pt") as opened:
            names = [n for n in opened.keys() if n.endswith(NAMES)]  # noqa: SIM118
            found |= {name: opened.get_tensor(name) for name in names}
    own = {name: values for name, values in model.named_parameters() if name.endswith(NAMES)}
    if set(found) != set(own):
        raise ConfigError(f"{folder} says that it has identity scalings, and does not hold them")
    with torch.no_grad():
        for name, values in own.items():
            values.copy_(found[name])
