"""A hash of everything that decides what functions and modules compute.

Functions count by their code, defaults, closure and the globals that they read; objects by their
class and attributes; numbers, text, arrays and tensors by value; and what belongs to a library or
to Python by its name. Comments, the names of files and the numbers of lines do not count.
"""

from __future__ import annotations

import copyreg
import dis
import functools
import hashlib
import os
import random
import sys
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

# Hashes are truncated to this many digits.
HASH_DIGITS = 16
PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), slice, range)
TEXT = (torch.dtype, torch.device, torch.layout, np.dtype, os.PathLike)
# Objects whose state changes whenever they are used.
CHANGING = (torch.Generator, np.random.Generator, np.random.RandomState, random.Random)
WRAPPERS = (staticmethod, classmethod, property, functools.cached_property)
# Attributes of a module that are not settings: `collect` sets the mode, and weights are hashed
# apart.
MODULE_STATE = frozenset(vars(nn.Module()))
# What a class has besides the attributes that its author wrote.
CLASS_STATE = frozenset(
    {"__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "__firstlineno__"}
    | {"__parameters__", "__static_attributes__", "__abstractmethods__", "_abc_impl"}
    | {"__orig_bases__", "__annotate_func__", "__annotations_cache__"}
)
# Folders that hold installed libraries, in this environment or in another one.
LIBRARIES = frozenset({"site-packages", "dist-packages"})
ARGUMENT_FLAGS = 0x04 | 0x08  # of code that takes *args or **kwargs


class NoValueError(Exception):
    """Something has no value that could be compared later."""


def value_hash(value: Any) -> str:
    """Return a hash of a function, an object or a value, or raise `NoValueError`.

    >>> scale = 2.0
    >>> first = value_hash(lambda x: scale * x)
    >>> first == value_hash(lambda x: scale * x), first == value_hash(lambda x: 3.0 * x)
    (True, False)
    """
    return _Walk().digest(value)[:HASH_DIGITS]


def module_hashes(model: nn.Module) -> dict[str, str]:
    """Return a hash of each attribute of the modules of a model, and of what its classes compute.

    Weights are left out, and attributes that have no value to compare.
    """
    found = {}
    for name, module in model.named_modules():
        walk = _Walk(lenient=True)
        code = [walk.digest(one) for one in _forward_functions(type(module))]
        found[f"{name}:class"] = f"{type(module).__qualname__} {' '.join(code)}"
        for key, value in vars(module).items():
            if key not in MODULE_STATE:
                try:
                    found[f"{name}:{key}"] = _Walk().digest(value)
                except NoValueError:
                    continue
    return found


def joined_hash(hashes: Mapping[str, str]) -> str:
    """Return one hash of many."""
    return hashlib.sha256(repr(sorted(hashes.items())).encode()).hexdigest()[:HASH_DIGITS]


def is_library(name: str | None) -> bool:
    """Whether a module, given by its name, belongs to Python or to an installed library."""
    root = (name or "").partition(".")[0]
    if root == "__main__":
        return False
    if root in sys.stdlib_module_names or root in ("builtins", "torch", "numpy", "repshape"):
        return True
    file = getattr(sys.modules.get(root), "__file__", None)
    return file is not None and not LIBRARIES.isdisjoint(Path(file).parts)


def _forward_functions(kind: type) -> list[types.FunctionType]:
    """Return the method `forward` of a class, and the methods whose names it reads."""
    found: dict[str, types.FunctionType] = {}
    names = ["forward"]
    while names:
        name = names.pop()
        method = getattr(kind, name, None)
        if name in found or not isinstance(method, types.FunctionType):
            continue
        if not is_library(method.__module__):
            found[name] = method
            names += method.__code__.co_names
    return [found[name] for name in sorted(found)]


def _globals_read(code: types.CodeType, known: dict[str, Any]) -> dict[str, Any]:
    """Return the globals that code reads; of modules, the attributes that it reads."""
    found: dict[str, Any] = {}
    path, value = "", None
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            path = str(step.argval)
            value = known.get(path)
            if path in known:
                found[path] = value
        elif step.opname in ("LOAD_ATTR", "LOAD_METHOD") and isinstance(value, types.ModuleType):
            library = is_library(value.__name__)
            path = f"{path}.{step.argval}"
            value = getattr(value, str(step.argval), None)
            found[path] = None if library else value
        elif step.opname not in ("PUSH_NULL", "CACHE", "PRECALL", "EXTENDED_ARG"):
            value = None
    return found


class _Walk:
    """Walks through a value and all that it refers to."""

    def __init__(self, lenient: bool = False) -> None:
        self._lenient = lenient  # whether what has no value counts by its class
        self._done: dict[int, tuple[Any, str]] = {}  # the value stays alive, and its id its own
        self._path: list[int] = []

    def digest(self, value: Any) -> str:
        """Return the hash of a value, or raise `NoValueError`."""
        if type(value) in PLAIN:
            return f"{type(value).__name__} {value!r}"
        if id(value) in self._done:
            return self._done[id(value)][1]
        if id(value) in self._path:
            return f"cycle {len(self._path) - self._path.index(id(value))}"
        self._path.append(id(value))
        state = hashlib.sha256()
        for part in self._parts(value):
            state.update(part if isinstance(part, bytes) else f"|{part}|".encode())
        self._path.pop()
        self._done[id(value)] = value, state.hexdigest()
        return state.hexdigest()

    def _parts(self, value: Any) -> Iterator[str | bytes]:
        """Yield what identifies a value."""
        if isinstance(value, Tensor | np.ndarray | np.generic):
            yield from self._of_array(value)
        elif isinstance(value, nn.Module):
            yield from self._of_module(value)
        elif isinstance(value, TEXT):
            yield f"{type(value).__qualname__} {value}"
        elif isinstance(value, types.ModuleType):
            yield f"module {value.__name__}"
        elif isinstance(value, list | tuple):
            yield from self._of_items(value, value)
        elif isinstance(value, Mapping):
            yield from self._of_items(value, value.items())
        elif isinstance(value, set | frozenset):
            yield from self._of_items(value, sorted(map(self.digest, value)))
        elif isinstance(value, functools.partial):
            yield from self._of_items(value, (value.func, value.args, value.keywords))
        elif isinstance(value, WRAPPERS):
            names = ("__func__", "fget", "fset", "fdel", "func")
            yield from self._of_items(value, [getattr(value, name, None) for name in names])
        elif isinstance(value, types.MethodType):
            yield from self._of_items(value, (value.__self__, value.__func__))
        elif isinstance(value, types.FunctionType | type):
            yield from self._of_definition(value)
        else:
            yield from self._of_object(value)

    def _of_items(self, value: Any, items: Any) -> Iterator[str | bytes]:
        yield type(value).__qualname__
        for one in items:
            yield self.digest(one)

    def _of_array(self, value: Any) -> Iterator[str | bytes]:
        array: Any = value
        if isinstance(value, Tensor):
            plain = value.detach().cpu()
            plain = plain if plain.layout == torch.strided else plain.to_dense()
            plain = plain.resolve_conj().resolve_neg().contiguous()
            array = plain.reshape(-1).view(torch.uint8).numpy()  # NumPy lacks some of the dtypes
        array = np.asarray(array)
        yield f"array {value.dtype} {tuple(value.shape)}"
        if array.dtype.hasobject:
            yield from self._of_items(array, array.ravel().tolist())
        else:
            yield np.ascontiguousarray(array).tobytes()

    def _of_definition(self, value: Any) -> Iterator[str | bytes]:
        """Yield a class or function: by name if it belongs to a library, by its code otherwise.

        The requested object, and objects without a name, are always identified by their code.
        """
        if is_library(value.__module__) and "<" not in value.__qualname__ and len(self._path) > 1:
            yield f"{value.__module__} {value.__qualname__}"
        elif isinstance(value, type):
            yield f"class {value.__qualname__}"
            yield from self._of_items(value, value.__bases__)
            for name, one in sorted(vars(value).items()):
                if name not in CLASS_STATE:
                    yield name
                    yield self.digest(one)
        else:
            yield "function"
            yield from self._of_code(value.__code__, value.__globals__, value.__doc__)
            cells = [cell for cell in value.__closure__ or () if _is_filled(cell)]
            yield from self._of_items(value, [cell.cell_contents for cell in cells])
            yield from self._of_items(value, (value.__defaults__, value.__kwdefaults__))
            yield from self._of_items(value, vars(value).items())

    def _of_code(
        self, code: types.CodeType, known: dict[str, Any], doc: str | None
    ) -> Iterator[str | bytes]:
        flags = code.co_flags & ARGUMENT_FLAGS
        yield f"{code.co_names} {code.co_argcount} {code.co_kwonlyargcount} {flags}"
        yield code.co_code
        for k, constant in enumerate(code.co_consts):
            if isinstance(constant, types.CodeType):
                yield from self._of_code(constant, known, None)
            elif k > 0 or constant != doc:
                yield self.digest(constant)
        for name, value in _globals_read(code, known).items():
            yield f"global {name}"
            yield self.digest(value)

    def _of_module(self, value: nn.Module) -> Iterator[str | bytes]:
        yield self.digest(type(value))
        yield from self._of_items(value, value.state_dict().items())
        for name, module in value.named_modules():
            yield f"{name} {module.training}"
            yield self.digest(type(module))
            own = [item for item in vars(module).items() if item[0] not in MODULE_STATE]
            yield from self._of_items(module, own)

    def _of_object(self, value: Any) -> Iterator[str | bytes]:
        """Yield an object as it would be rebuilt from its class and attributes."""
        wrapped = getattr(value, "__wrapped__", None)
        if wrapped is not None:
            yield self.digest(wrapped)
            return
        owner = getattr(value, "__self__", None)
        bound = isinstance(value, types.BuiltinFunctionType) and owner is not None
        if bound and not isinstance(owner, types.ModuleType | type):  # a method of an object
            yield self.digest(owner)
        name, home = getattr(value, "__qualname__", None), getattr(value, "__module__", None)
        if name is not None and isinstance(home, str) and is_library(home):  # a compiled function
            yield f"{home} {name}"
            return
        rebuilt = None if isinstance(value, CHANGING) else _rebuilt(value)
        if rebuilt is not None:
            yield "object"
            yield from self._of_items(value, [type(value), rebuilt])
        elif self._lenient:
            yield f"a {type(value).__qualname__}"
        else:
            raise NoValueError(f"a {type(value).__module__}.{type(value).__qualname__}")


def _is_filled(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:  # a variable that has no value yet
        return False
    return True


def _rebuilt(value: Any) -> Any:
    """Return the parts from which an object could be copied; None if it cannot be."""
    reduce = copyreg.dispatch_table.get(type(value))
    try:
        parts = value.__reduce_ex__(2) if reduce is None else reduce(value)
    except Exception:  # files, locks, sockets and generators raise errors of several kinds
        return None
    if isinstance(parts, str):
        return f"{getattr(value, '__module__', '')} {parts}"
    return [list(one) if isinstance(one, Iterator) else one for one in parts]
