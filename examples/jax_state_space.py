"""A diagonal state-space layer in equinox: time-invariant, so computed as a convolution."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr


class Layer(eqx.Module):
    """h_t = a h_{t-1} + b x_t, y_t = c h_t + d x_t in every channel; then an MLP."""

    decay: jax.Array
    into: jax.Array
    out: jax.Array
    skip: jax.Array
    norms: list
    mlp_in: jax.Array
    mlp_out: jax.Array

    def __init__(self, width, states, key):
        keys = jr.split(key, 4)
        self.decay = jnp.log(jnp.expm1(jnp.geomspace(0.01, 1.0, states))) * jnp.ones((width, 1))
        self.into = jr.normal(keys[0], (width, states)) * states**-0.5
        self.out = jr.normal(keys[1], (width, states)) * states**-0.5
        self.skip = jnp.ones(width)
        self.norms = [eqx.nn.LayerNorm(width), eqx.nn.LayerNorm(width)]
        self.mlp_in = jr.normal(keys[2], (width, 4 * width)) * width**-0.5
        self.mlp_out = jr.normal(keys[3], (4 * width, width)) * (4 * width) ** -0.5

    def __call__(self, x):
        normed = jax.vmap(self.norms[0])(x)
        time = jnp.arange(len(x))
        kept = jnp.exp(-jax.nn.softplus(self.decay)[..., None] * time)  # of a state, after so long
        kernel = jnp.einsum("ws,ws,wst->wt", self.into, self.out, kept)
        since = time[:, None] - time
        felt = jnp.where(since >= 0, kernel[:, since], 0)
        x = x + jnp.einsum("wts,sw->tw", felt, normed) + self.skip * normed
        hidden = jax.nn.relu(jax.vmap(self.norms[1])(x) @ self.mlp_in)
        return x + hidden @ self.mlp_out


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
