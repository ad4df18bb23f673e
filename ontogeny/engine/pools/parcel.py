"""Units on their way to a worker: with the classes and functions that were typed at a prompt, in
a notebook or in a script, which a worker cannot import.

They are packed by cloudpickle, for a pipe or a connection between processes of our own; nothing
that lies on a disk is ever unpacked.
"""

import dataclasses
import inspect
import io
import sys
import uuid
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import cloudpickle
import equinox as eqx

from ...core.errors import one_line
from ...core.fields import ConfigError
from ..loads import functions_of
from ..runs import confirm
from ..serialize import code_behind
from ..sources import Sent, is_generated
from ..units import Unit


class _Parcel(NamedTuple):
    unit: Unit
    besides: Any  # whatever else is sent along
    sent: Sent | None


def pack(unit: Unit, besides: Any = None) -> bytes:
    """A unit as bytes; or an error that names what cannot be sent."""
    spec, sent = unit.specs[0], None  # all of a unit have the same code
    if not spec.unknown:
        sent = Sent.of(code_behind(spec.experiment))
        if sent.main or sent.texts:
            confirm(spec)  # what is sent is what it was named by
    try:
        return _packed(_Parcel(unit, besides, sent))
    except Exception as error:
        why = one_line(error)
    if _is_script():  # which workers import, and find what is in it
        with suppress(Exception):
            return bytes(ForkingPickler.dumps(_Parcel(unit, besides, None)))
    name = _unsendable(spec.experiment) or "something that it uses"
    raise ConfigError(
        f"{spec.label}: {name} cannot be sent to a worker process ({why}): make it where it is "
        "used, put it into a file and import it, or leave out `workers=`"
    )


def unpack(data: bytes) -> tuple[Unit, Any]:
    """A unit, and what was sent along."""
    parcel: _Parcel = cloudpickle.loads(data)
    if parcel.sent:
        parcel.sent.receive()
    return parcel.unit, parcel.besides


def _packed(thing: Any) -> bytes:
    with io.BytesIO() as file:
        _Pickler(file).dump(thing)
        return file.getvalue()


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Classes of components are made anew from what was written: cloudpickle would make an empty
    class and fill it, and equinox looks at the fields when a class is made."""

    def reducer_override(self, thing: Any) -> Any:
        if isinstance(thing, type) and issubclass(thing, eqx.Module) and not _importable(thing):
            return _made, (_name_of(thing), type(thing), thing.__bases__, _written(thing))
        return super().reducer_override(thing)


def _importable(kind: type) -> bool:
    """Whether a worker finds a class by its name."""
    found: Any = None if kind.__module__ == "__main__" else sys.modules.get(kind.__module__)
    for name in kind.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is kind


_NAMES: WeakKeyDictionary[type, str] = WeakKeyDictionary()


def _name_of(kind: type) -> str:
    return _NAMES.setdefault(kind, uuid.uuid4().hex)


_MADE: dict[str, type] = {}  # so that units of one structure share programs


def _made(
    name: str, meta: Any, bases: tuple[type, ...], written: dict[str, Any]
) -> type:  # by a worker
    if name not in _MADE:
        _MADE[name] = meta(written["__qualname__"].rpartition(".")[2], bases, written)
    return _MADE[name]


def _written(kind: type) -> dict[str, Any]:
    """What stands in the definition of a class, without what was made of it."""
    own = {name: _inner(value) for name, value in vars(kind).items()}
    written = {
        name: value
        for name, value in own.items()
        if name in ("__module__", "__doc__")
        or not (name.startswith("__") or name == "_abc_impl")
        or (isinstance(value, FunctionType) and not is_generated(value))
    }
    fields = {
        field.name: field
        for field in dataclasses.fields(kind)
        if field.name in own.get("__annotations__", {})
    }
    given = ("default", "default_factory", "init", "repr", "hash", "compare", "kw_only")
    for name, field in fields.items():
        keywords: dict[str, Any] = {each: getattr(field, each) for each in given}
        written[name] = dataclasses.field(metadata=dict(field.metadata), **keywords)
    return written | {
        "__qualname__": kind.__qualname__,
        "__annotations__": dict.fromkeys(fields, "Any"),
    }


def _inner(value: Any) -> Any:
    """A method as it was written, where equinox has wrapped it."""
    return (
        getattr(value, "method", value) if type(value).__module__.startswith("equinox") else value
    )


def _unsendable(thing: Any, path: str = "", depth: int = 0) -> str:
    """The name of the innermost part that cannot be packed; nothing if all can."""
    try:
        _packed(thing)
    except Exception:
        for name, part in _parts(thing) if depth < 6 else ():
            if found := _unsendable(part, name, depth + 1):
                return found
        return f"{path or 'it'}, a {type(thing).__name__},"
    return ""


def _parts(thing: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(thing, dict):
        yield from ((str(name), each) for name, each in thing.items())
    elif isinstance(thing, tuple | list):
        yield from ((str(place), each) for place, each in enumerate(thing))
    elif isinstance(thing, eqx.Module):
        fields = dataclasses.fields(thing)
        yield from ((field.name, getattr(thing, field.name)) for field in fields)
        yield type(thing).__qualname__, type(thing)
    elif isinstance(thing, type) or inspect.isroutine(thing):
        for function in functions_of(thing):
            names = inspect.getclosurevars(function)
            for name, value in {**names.globals, **names.nonlocals}.items():
                if value is not thing:
                    yield f"{name} (used by {function.__qualname__})", value


def _is_script() -> bool:
    return Path(getattr(sys.modules["__main__"], "__file__", None) or "").is_file()
