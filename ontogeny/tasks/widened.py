"""The same task among more tokens, or longer sequences, than it needs.

So one model, of one size, can be given many tasks.
"""

import jax
from jaxtyping import Array, Bool, Float, Key

from ..core.fields import ConfigError, count
from ..core.types import Batch, Task, World


class Widened(Task):
    """`task`, in a vocabulary of `vocab` tokens; sequences may be up to `length` long.

    Every token can be an answer, as far as a model knows; those that cannot be are never heard.
    """

    task: Task
    vocab: int = count(256)
    length: int = count(80)

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

    def world(self, key: Key[Array, ""]) -> World:
        return self.task.world(key)

    def sample(self, world: World, split: str, key: Key[Array, ""]) -> Batch:
        return self.task.sample(world, split, key)

    def loss(self, outputs: Float[Array, "row read vocab"], batch: Batch) -> Float[Array, ""]:
        return self.task.loss(self._heard(outputs), batch)

    def correct(
        self, outputs: Float[Array, "row read vocab"], batch: Batch
    ) -> Bool[Array, "row read"]:
        return self.task.correct(self._heard(outputs), batch)

    def _heard(self, outputs: Float[Array, "row read vocab"]) -> Float[Array, "row read answer"]:
        return jax.lax.slice_in_dim(outputs, 0, self.task.answers, axis=2)
