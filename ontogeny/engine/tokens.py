"""Tokens in words: what a task calls them, prompts that people type, batches that they can read."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from ..core.fields import ConfigError, did_you_mean
from ..core.types import Batch, Task, World


def names(task: Task, world: World) -> tuple[str, ...]:
    """What a task calls its tokens, checked."""
    found, kind = tuple(task.token_names(world)), type(task).__name__
    if len(found) != task.vocab:
        raise ConfigError(f"{kind}.token_names gives {len(found)} names for {task.vocab} tokens")
    for name in found:
        if not isinstance(name, str) or not name or name.split() != [name]:
            raise ConfigError(f"{kind}.token_names: {name!r} is no name: text without blanks is")
    if len(set(found)) < len(found):
        twice = next(name for name in found if found.count(name) > 1)
        raise ConfigError(f"{kind}.token_names calls two tokens {twice!r}")
    return found


def numbers(task: Task, world: World, prompt: str | Sequence[str]) -> list[int]:
    """The tokens of a prompt, which names them, as in `s3 r1 r2`."""
    known = {name: token for token, name in enumerate(names(task, world))}
    words = prompt.split() if isinstance(prompt, str) else list(prompt)
    if not 0 < len(words) <= task.length:
        kind = f"sequences of {type(task).__name__} have 1 to {task.length}"
        raise ConfigError(f"the prompt {' '.join(words)!r} has {len(words)} tokens: {kind}")
    for word in words:
        if word not in known:
            hint = did_you_mean(word, known)
            raise ConfigError(f"{type(task).__name__} has no token {word!r}: {hint}")
    return [known[word] for word in words]


def are_numbers(task: Task, world: World) -> bool:
    """Whether targets are numbers, as in a regression, rather than tokens."""
    drawn = jax.eval_shape(lambda key: task.sample(world, task.splits[0], key), jax.random.key(0))
    return bool(jnp.issubdtype(drawn.targets.dtype, jnp.floating))


_LONGEST = 40  # tokens of a row that are shown


def in_words(
    task: Task, world: World, batch: Batch, rows: int | Sequence[int] = 6, longest: int = _LONGEST
) -> list[str]:
    """Rows of a batch as people read them: `s3 r1 → b3`. If a row is read at several positions,
    what should come out stands after each: `t h e (→ _) _ q (→ u)`.

    Shows so many rows, from the first that count to the last, or those of these numbers.
    """
    tokens, answers = names(task, world), task.answer_names(world)
    inputs, at, targets, weights = (np.asarray(field) for field in batch[:4])
    if isinstance(rows, int):
        counted = np.flatnonzero((weights > 0).any(axis=1))
        chosen = np.unique(np.linspace(0, len(counted) - 1, min(rows, len(counted))).astype(int))
        rows = [int(counted[place]) for place in chosen]

    def target(value: float) -> str:
        number = np.issubdtype(targets.dtype, np.floating)
        return f"{value:+.4g}" if number else answers[int(value)]

    lines = []
    for row in rows:
        read = {
            int(position): target(value)
            for position, value, weight in zip(at[row], targets[row], weights[row], strict=True)
            if weight > 0
        }
        # what comes after the last position read is padding, or for models that look ahead
        last = max(read, default=inputs.shape[1] - 1)
        told = [tokens[token] for token in inputs[row, : last + 1]]
        if list(read) == [last]:
            lines.append(" ".join([*_shortened(told, longest), "→", read[last]]))
            continue
        told = [
            f"{name} (→ {read[position]})" if position in read else name
            for position, name in enumerate(told)
        ]
        lines.append(" ".join(_shortened(told, longest)))
    return lines


def _shortened(words: list[str], longest: int) -> list[str]:
    """The beginning and the end, if it is too long."""
    if len(words) <= longest:
        return words
    return [*words[: longest // 2], "…", *words[len(words) - longest // 2 :]]
