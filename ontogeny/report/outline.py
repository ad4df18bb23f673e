"""A spelled-out experiment as indented lines."""

from typing import Any


def outline(serialized: dict[str, Any], depth: int = 1) -> str:
    """A spelled-out component as indented lines, by the paths that `sweep` takes."""
    lines = [serialized["is"].rpartition(".")[2]]
    for name, value in serialized.items():
        parts = _parts(name, value)
        if parts:
            lines += [f"{'  ' * depth}{n}: {outline(part, depth + 1)}" for n, part in parts.items()]
        elif name != "is":
            plain = "+".join(map(str, value)) if isinstance(value, list) else value
            lines.append(f"{'  ' * depth}{name}: {plain}")
    return "\n".join(lines)


def _parts(name: str, value: Any) -> dict[str, Any]:
    """The components in a field: one, or several with a number or a name each."""
    if isinstance(value, list):
        value = {str(n): part for n, part in enumerate(value)}
    if not isinstance(value, dict):
        return {}
    if "is" in value:
        return {name: value}
    named = {f"{name}.{key}": part for key, part in value.items()}
    return named if all(isinstance(part, dict) for part in named.values()) else {}
