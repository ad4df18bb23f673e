"""A diagonal state-space layer in equinox, computed by an associative scan."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr


class Layer(eqx.Module):
    """h_t = a h_{t-1} + b x_t, y_t = c h_t + d x_t in every channel; then a feed-forward layer."""

    decay: jax.Array
    into: jax.Array
    out: jax.Array
    skip: jax.Array
    norms: list
    widen: eqx.nn.Linear
    narrow: eqx.nn.Linear

    def __init__(self, width, states, key):
        keys = jr.split(key, 4)
        self.decay = jnp.log(jnp.expm1(jnp.geomspace(0.01, 1.0, states))) * jnp.ones((width, 1))
        self.into = jr.normal(keys[0], (width, states)) * states**-0.5
        self.out = jr.normal(keys[1], (width, states)) * states**-0.5
        self.skip = jnp.ones(width)
        self.norms = [eqx.nn.LayerNorm(width), eqx.nn.LayerNorm(width)]
        self.widen = eqx.nn.Linear(width, 4 * width, key=keys[2])
        self.narrow = eqx.nn.Linear(4 * width, width, key=keys[3])

    def __call__(self, x):
        normed = jax.vmap(self.norms[0])(x)
        keep = jnp.exp(-jax.nn.softplus(self.decay)) * jnp.ones((len(x), 1, 1))
        fed = normed[:, :, None] * self.into
        _, states = jax.lax.associative_scan(
            lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1]), (keep, fed)
        )
        x = x + jnp.sum(states * self.out, axis=2) + self.skip * normed
        hidden = jax.nn.gelu(jax.vmap(self.widen)(jax.vmap(self.norms[1])(x)))
        return x + jax.vmap(self.narrow)(hidden)


class Model(eqx.Module):
    """Tokens, layers, logits."""

    tokens: jax.Array
    layers: list
    read: eqx.nn.Linear

    def __init__(self, vocab, length, key, width=112, states=8, depth=2):
        first, *keys, last = jr.split(key, depth + 2)
        self.tokens = jr.normal(first, (vocab, width))
        self.layers = [Layer(width, states, each) for each in keys]
        self.read = eqx.nn.Linear(width, vocab, key=last)

    def __call__(self, tokens):
        x = self.tokens[tokens]
        for layer in self.layers:
            x = layer(x)
        return jax.vmap(self.read)(x)
