"""The same task among more tokens, or longer sequences, than it needs.

So one model, of one size, can be given many tasks.
"""

from collections.abc import Iterable

import jax
from jaxtyping import Array, Bool, Float, Key

from ..core.fields import ConfigError, Example, component, count
from ..core.types import Batch, Task, World


class Widened(Task):
    """`task`, in a vocabulary of `vocab` tokens; sequences may be up to `length` long.

    A model has an output for every token; those that cannot be answers of the task are ignored.
    """

    task: Task = component(Task, doc="the task itself")
    vocab: int = count(256, doc="how many tokens there are, at least as many as the task has")
    length: int = count(80, doc="the longest sequence, at least as long as the task's")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        from .facts import Facts

        small = Facts(most=4, subjects=3, relations=4, choices=3, length=5, rows=20, test_rows=10)
        return [Example(cls(small, vocab=99, length=9))]

    def __check_init__(self) -> None:
        super().__check_init__()
        for name in ("vocab", "length"):
            if getattr(self, name) < (needed := getattr(self.task, name)):
                kind = type(self.task).__name__
                raise ConfigError(f"Widened.{name}={getattr(self, name)}: {kind} needs {needed}")

    @property
    def splits(self) -> tuple[str, ...]:  # type: ignore[override]
        """Those of the task."""
        return self.task.splits

    def token_names(self, world: World) -> tuple[str, ...]:
        """Those of the task; no row has the others."""
        named = self.task.token_names(world)
        return (*named, *(f"unused{n}" for n in range(len(named), self.vocab)))

    def answer_names(self, world: World) -> tuple[str, ...]:
        return self.task.answer_names(world)

    def world(self, key: Key[Array, ""]) -> World:
        return self.task.world(key)

    def sample(self, world: World, split: str, key: Key[Array, ""]) -> Batch:
        return self.task.sample(world, split, key)

    def loss(self, outputs: Float[Array, "row read vocab"], batch: Batch) -> Float[Array, ""]:
        return self.task.loss(self._answers(outputs), batch)

    def correct(
        self, outputs: Float[Array, "row read vocab"], batch: Batch
    ) -> Bool[Array, "row read"]:
        return self.task.correct(self._answers(outputs), batch)

    def _answers(self, outputs: Float[Array, "row read vocab"]) -> Float[Array, "row read answer"]:
        # the task's answers are its first tokens
        return jax.lax.slice_in_dim(outputs, 0, self.task.answers, axis=2)
