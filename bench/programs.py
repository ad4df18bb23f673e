"""Seven models as one would write them in PyTorch: nothing is left out, nothing is shared.

Each starts from our initial parameters and gives the same outputs, so that a test can train both
side by side. `at` are the positions read; whole sequences are computed.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812


def linear(params: dict[str, Tensor], name: str) -> nn.Linear:
    """An affine map; torch stores the transposed matrix."""
    weight, bias = params[f"{name}.weight"], params[f"{name}.bias"]
    made = nn.Linear(weight.shape[0], weight.shape[1])
    made.weight.data, made.bias.data = weight.T.contiguous(), bias
    return made


def norm(params: dict[str, Tensor], name: str) -> nn.LayerNorm:
    """Its scale and shift."""
    made = nn.LayerNorm(len(params[f"{name}.scale"]))
    made.weight.data, made.bias.data = params[f"{name}.scale"], params[f"{name}.shift"]
    return made


def layer(params: dict[str, Tensor], prefix: str, index: int) -> dict[str, Tensor]:
    """The parameters of one of the stacked layers."""
    return {k.removeprefix(prefix): v[index] for k, v in params.items() if k.startswith(prefix)}


def causal(scores: Tensor) -> Tensor:
    """Softmax over what came before."""
    length = scores.shape[-1]
    later = torch.ones(length, length, dtype=torch.bool).triu(1)
    return scores.masked_fill(later, -math.inf).softmax(-1)


def read(values: Tensor, at: Tensor) -> Tensor:
    """The rows of a sequence that are read."""
    return values.gather(1, at[..., None].expand(-1, -1, values.shape[-1]))


def cross_entropy(outputs: Tensor, batch: dict[str, Tensor]) -> Tensor:
    """The weighted mean over all that is read."""
    losses = F.cross_entropy(outputs.flatten(0, 1), batch["targets"].flatten(), reduction="none")
    weights = batch["weights"].flatten()
    return (losses * weights).sum() / weights.sum()


class OneLayer(nn.Module):
    """Orthonormal tokens, merged key-query matrix, a linear MLP of m units for each class."""

    def __init__(self, params: dict[str, Tensor], settings: dict[str, float]) -> None:
        super().__init__()
        vocab, width = params["value"].shape
        units = int(settings["mlp_width"])
        self.tokens = torch.eye(vocab, width)  # any orthonormal rows
        self.key_query = nn.Parameter(self.tokens.T @ params["key_query"] @ self.tokens)
        self.value = nn.Parameter(self.tokens.T @ params["value"])
        spread = params["output"][:, None, :] / math.sqrt(units)
        self.output = nn.Parameter(spread.repeat(1, units, 1))
        self.gain = settings["gain"] * math.sqrt(width)

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        x = self.tokens[batch["inputs"]]
        scores = x @ self.key_query.T @ x.transpose(1, 2)
        features = read(causal(scores) @ x @ self.value, batch["at"])
        classes, units, width = self.output.shape
        hidden = features @ self.output.reshape(classes * units, width).T
        return self.gain * hidden.unflatten(-1, (classes, units)).mean(-1)

    loss = staticmethod(cross_entropy)


class EmbeddingMLP(nn.Module):
    """Embeddings are added up and projected."""

    def __init__(self, params: dict[str, Tensor], settings: dict[str, float]) -> None:
        super().__init__()
        self.embed = nn.Parameter(params["embed"])
        self.project = nn.Parameter(params["project"])

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        features = self.embed[batch["inputs"]].cumsum(1)
        return read(features, batch["at"]) @ self.project

    loss = staticmethod(cross_entropy)


class InductionPair(nn.Module):
    """Two layers of attention, one head each, without norms."""

    def __init__(self, params: dict[str, Tensor], settings: dict[str, float]) -> None:
        super().__init__()
        for name, value in params.items():
            setattr(self, name, nn.Parameter(value))

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        inputs = batch["inputs"]
        x = self.tokens[inputs] + self.positions[: inputs.shape[1]]
        for key, value, out in (
            (self.key1, self.value1, self.out1),
            (self.key2, self.value2, self.out2),
        ):
            scores = x @ (x @ key.T).transpose(1, 2) / math.sqrt(x.shape[-1])
            x = x + causal(scores) @ (x @ value.T) @ out.T
        return read(x, batch["at"]) @ self.unembed.T

    loss = staticmethod(cross_entropy)


class ClauseTransformer(nn.Module):
    """Attention from answers to clauses, each the sum of the embeddings of its tokens."""

    def __init__(self, params: dict[str, Tensor], settings: dict[str, float]) -> None:
        super().__init__()
        name = "embeddings."
        tables = {k.removeprefix(name): v for k, v in params.items() if k.startswith(name)}
        self.tables = nn.ParameterDict({k: nn.Parameter(v) for k, v in tables.items()})
        self.unembed = nn.Parameter(params["unembed"])
        self.one_hot = "query" not in params  # then a token has its own query, key and value
        if not self.one_hot:
            self.query, self.key, self.value = (
                nn.Parameter(params[name]) for name in ("query", "key", "value")
            )
        self.mlp_in, self.mlp_out = linear(params, "mlp_in"), linear(params, "mlp_out")
        self.heads = int(settings["heads"])

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        predicates, answers = self._stated(batch["predicates"]), self._held(batch["answers"])
        clauses = torch.cat([predicates, answers], 1)
        if self.one_hot:
            asked, (_, kept, held) = answers.chunk(3, -1)[0], clauses.chunk(3, -1)
        else:
            asked, kept, held = answers @ self.query, clauses @ self.key, clauses @ self.value
        query, key, values = map(self._heads, (asked, kept, held))
        position = torch.arange(clauses.shape[1])
        later = position > position[predicates.shape[1] :, None]
        return self._answered(query, key, values, later)

    def _answered(self, query: Tensor, key: Tensor, values: Tensor, later: Tensor) -> Tensor:
        scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
        mixed = scores.masked_fill(later, -math.inf).softmax(-1) @ values
        stream = mixed.transpose(1, 2).flatten(2)
        return self.mlp_out(F.relu(self.mlp_in(stream))) @ self.unembed

    @torch.no_grad()
    def follow(self, predicates: Tensor, answer: Tensor) -> Tensor:
        """All answers after the first, each the likeliest; keys and values are kept."""
        if not self.one_hot:
            raise NotImplementedError("no claim that is timed needs it")
        variables = len(self.tables["variable"])
        clauses = self._stated(predicates)
        rows, chain, wide = clauses.shape
        clauses = torch.cat([clauses, clauses.new_zeros(rows, chain, wide)], 1)
        _, key, values = (self._heads(x).contiguous() for x in clauses.chunk(3, -1))
        found = []
        for position in range(chain, 2 * chain):
            held = self._held(answer[:, None])
            query, key[:, :, position : position + 1], values[:, :, position : position + 1] = (
                self._heads(x) for x in held.chunk(3, -1)
            )
            seen = slice(0, position + 1)
            later = torch.zeros(1, position + 1, dtype=torch.bool)
            outputs = self._answered(query, key[:, :, seen], values[:, :, seen], later)[:, 0]
            named, value = outputs[:, :variables].argmax(1), outputs[:, variables:].argmax(1)
            answer = torch.stack([named, value], 1)
            found.append(answer)
        return torch.stack(found, 1)

    def _stated(self, predicates: Tensor) -> Tensor:
        made, action, of = predicates.unbind(-1)
        return self.tables["made"][made] + self.tables["action"][action] + self.tables["of"][of]

    def _held(self, answers: Tensor) -> Tensor:
        variable, value = answers.unbind(-1)
        return self.tables["variable"][variable] + self.tables["value"][value]

    def _heads(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def loss(self, outputs: Tensor, batch: dict[str, Tensor]) -> Tensor:
        """Of the next variable and the next value."""
        variables, values = len(self.tables["variable"]), len(self.tables["value"])
        named, held = outputs[..., :variables], outputs[..., variables:]
        targets = batch["targets"]
        return cross_entropy(named, batch | {"targets": targets // values}) + cross_entropy(
            held, batch | {"targets": targets % values}
        )


class Transformer(nn.Module):
    """[CLS] last, no mask, norms first; the identity a I is added to scores, b I to values."""

    def __init__(self, params: dict[str, Tensor], settings: dict[str, float]) -> None:
        super().__init__()
        self.tokens, self.positions, self.cls = (
            nn.Parameter(params[name]) for name in ("tokens", "positions", "cls")
        )
        self.settings = settings
        depth = len(params["attention.a"])
        self.layers = nn.ModuleList(
            _Layer(layer(params, "attention.", index), layer(params, "mlp.", index), settings)
            for index in range(depth)
        )
        self.head = linear(params, "head")

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        inputs = batch["inputs"]
        x = self.tokens[inputs] + self.positions[: inputs.shape[1]]
        last = (self.cls + self.positions[-1]).expand(len(x), 1, -1)
        x = torch.cat([x, last], 1)
        for each in self.layers:
            x = each(x)
        return self.head(F.layer_norm(x[:, -1:], x.shape[-1:]))

    @staticmethod
    def loss(outputs: Tensor, batch: dict[str, Tensor]) -> Tensor:
        """The squared error."""
        errors = (outputs[..., 0] - batch["targets"]) ** 2
        return (errors * batch["weights"]).sum() / batch["weights"].sum()


class OneHotMLP(nn.Module):
    """One-hot tokens by position, and which positions hold the same token; ReLU layers."""

    def __init__(self, params: dict[str, Tensor], settings: dict[str, float]) -> None:
        super().__init__()
        self.tokens, self.pairs, self.bias = (
            nn.Parameter(params[name]) for name in ("tokens", "pairs", "bias")
        )
        names = sorted({name.split(".")[1] for name in params if name.startswith("layers")})
        self.layers = nn.ModuleList(linear(params, f"layers.{name}") for name in names)
        self.incidence = settings["incidence"]

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        inputs = batch["inputs"]
        length, vocab, width = self.tokens.shape
        where = inputs + vocab * torch.arange(length)
        same = (inputs[:, :, None] == inputs[:, None, :]).float().flatten(1)
        x = F.embedding(where, self.tokens.reshape(-1, width)).sum(1)
        x = F.relu(x + self.incidence * (same @ self.pairs.reshape(-1, width)) + self.bias)
        *between, last = self.layers
        for each in between:
            x = F.relu(each(x))
        return last(x)[:, None]  # read at the end

    loss = staticmethod(Transformer.loss)


class _Layer(nn.Module):
    def __init__(
        self, attention: dict[str, Tensor], mlp: dict[str, Tensor], settings: dict[str, float]
    ) -> None:
        super().__init__()
        self.first, self.second = norm(attention, "norm"), norm(mlp, "norm")
        self.query, self.key, self.value, self.out, self.a, self.b = (
            nn.Parameter(attention[name]) for name in ("query", "key", "value", "out", "a", "b")
        )
        self.mlp_in, self.mlp_out = linear(mlp, "mlp_in"), linear(mlp, "mlp_out")
        self.kq_identity, self.vo_identity = settings["kq_identity"], settings["vo_identity"]

    def forward(self, x: Tensor) -> Tensor:
        normed = self.first(x)
        query, key, value = (
            torch.einsum("bnd,dhp->bhnp", normed, w) for w in (self.query, self.key, self.value)
        )
        scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
        alike = (normed @ normed.transpose(-1, -2))[:, None]
        weights = (scores + self.kq_identity * self.a[:, None, None] * alike).softmax(-1)
        mixed = torch.einsum("bhnp,hpd->bnd", weights @ value, self.out)
        passed = torch.einsum("h,bhqk,bkd->bqd", self.b, weights, normed)
        x = x + mixed + self.vo_identity * passed
        return x + self.mlp_out(F.gelu(self.mlp_in(self.second(x))))


class GPT2(nn.Module):
    """Pre-norm, GELU, learned positions, tied head; torch's own attention."""

    def __init__(self, params: dict[str, Tensor], settings: dict[str, float]) -> None:
        super().__init__()
        self.tokens = nn.Parameter(params["tokens"])
        self.positions = nn.Parameter(params["positions"])
        depth = len(params["blocks.attention_norm.scale"])
        self.blocks = nn.ModuleList(
            _Block(layer(params, "blocks.", index), int(settings["heads"]))
            for index in range(depth)
        )
        self.norm = norm(params, "norm")

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        inputs = batch["inputs"]
        x = self.tokens[inputs] + self.positions[: inputs.shape[1]]
        for block in self.blocks:
            x = block(x)
        return read(self.norm(x), batch["at"]) @ self.tokens.T

    loss = staticmethod(cross_entropy)


class _Block(nn.Module):
    def __init__(self, params: dict[str, Tensor], heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.attention_norm, self.mlp_norm = (
            norm(params, "attention_norm"),
            norm(params, "mlp_norm"),
        )
        self.query, self.key_value, self.mix, self.mlp_in, self.mlp_out = (
            linear(params, name) for name in ("query", "key_value", "mix", "mlp_in", "mlp_out")
        )

    def forward(self, x: Tensor) -> Tensor:
        normed = self.attention_norm(x)
        key, value = self.key_value(normed).chunk(2, -1)
        query, key, value = (
            y.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for y in (self.query(normed), key, value)
        )
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.mix(mixed.transpose(1, 2).flatten(2))
        hidden = F.gelu(self.mlp_in(self.mlp_norm(x)), approximate="tanh")
        return x + self.mlp_out(hidden)


PROGRAMS = {
    kind.__name__: kind
    for kind in (
        OneLayer,
        EmbeddingMLP,
        InductionPair,
        ClauseTransformer,
        Transformer,
        OneHotMLP,
        GPT2,
    )
}
