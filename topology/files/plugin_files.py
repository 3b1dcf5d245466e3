"""Plug-in files: read once, run, and passed to other processes exactly as they were run."""

from __future__ import annotations

import codecs
import hashlib
import importlib.util
import os
import sys
import tokenize
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from topology.errors import ParameterError, UsageError
from topology.files.foreign import Foreign, foreign_file
from topology.files.inheritance import inheritable, inherited
from topology.files.reading import SETTINGS_BYTES, read_bytes, text_of
from topology.plugins import PYTHON, Plugin, plugin_named, registering, registries, unregister

_SUFFIX = ".py"
_loaded: dict[str, Plugin] = {}  # by path

# (path, content) of each file
Sources = Sequence[tuple[str, bytes]]


def load_plugin(path: Path, approves: Callable[[Foreign, str], bool]) -> None:
    """Runs a plug-in file, which registers its definitions.

    A file that was run before is not run again, unless its content has changed.

    Args:
        path: the file.
        approves: (file, its text) -> whether root may run a file that another user can change.

    Raises:
        UsageError: the file cannot be read, is not approved, fails, or registers something invalid.
    """
    if path.suffix != _SUFFIX:
        raise ParameterError(f"plug-in must be a Python file such as my_routing{_SUFFIX}, got {path}")
    judged: list[Foreign | None] = []
    content = read_bytes(
        path, SETTINGS_BYTES, what="plug-in", opened=lambda opened: judged.append(foreign_file(path, opened))
    )
    text, foreign = _text(content, str(path)), judged[0]
    if foreign is not None and not approves(foreign, text):
        raise UsageError(
            f"{foreign.reason}, and root would run the plug-in; check the file, then give --run-programs"
        )
    _run(os.path.abspath(path), content, str(path))


def _text(content: bytes, shown: str) -> str:
    """Returns the source text of a plug-in.

    Raises ParameterError if the content is not UTF-8, or declares another encoding.

    With another encoding, Python could run other code than the text that was shown for approval.
    """
    text = text_of(content, shown, what="plug-in")
    try:
        declared, _ = tokenize.detect_encoding(iter(text.encode().split(b"\n")).__next__)
        encoding = codecs.lookup(declared).name
    except SyntaxError as error:  # unknown
        encoding = error.msg
    if encoding != "utf-8":
        raise ParameterError(f"plug-in {shown} must be UTF-8 text, got {encoding}")
    return text


def take_over(files: Sources) -> None:
    """Loads the plug-in files that another process has loaded, and unloads all others.

    Args:
        files: (path, content) of each file. A file that this process has run with the same content is not
            run again; definitions from all other files are removed.

    Raises:
        UsageError: a file fails, or registers something invalid.
    """
    for path, plugin in [*_loaded.items()]:
        if (path, plugin.content) not in files:
            unregister(_loaded.pop(path))
    for path, content in files:
        _run(path, content, path)


def _run(path: str, content: bytes, shown: str) -> None:
    """Runs a plug-in file, unless this path has already been run with the same content.

    Args:
        path: the absolute path of the file.
        content: its bytes.
        shown: its name in errors.
    """
    before = _loaded.get(path)
    if before is not None:
        if before.content == content:
            return
        unregister(_loaded.pop(path))
    plugin = Plugin(os.path.basename(path), content=content)
    module = ModuleType(f"polarlab_plugin_{plugin.digest[:16]}")
    module.__dict__.update(__file__=path, __plugin__=plugin)
    sys.modules[module.__name__] = module  # dataclasses and pickle look the module up
    with registering(plugin, f"plug-in {shown}"):
        # Compiled from text: bytes could declare another encoding than the one that was shown.
        code = compile(_text(content, shown), path, "exec", dont_inherit=True)
        exec(code, module.__dict__)  # noqa: S102  # the user asked for it
        if not any(one is plugin for registry in registries() for one in registry.plugins()):
            raise UsageError("it must register something, with `register(NAME, DEFINITION)`")
    _loaded[path] = plugin


class Needed(NamedTuple):
    """The plug-ins that another process needs in order to use some definitions.

    Attributes:
        files: (path, content) of each plug-in file, for `take_over`; empty if no definition is from a file.
        kept: name of each definition -> `str` of its plug-in, for `check_plugins`.
    """

    files: Sources
    kept: Mapping[str, str]


def needed(*names: str) -> Needed:
    """Returns the plug-ins that another process needs in order to use the named definitions.

    Args:
        *names: names of the definitions that the process needs.

    Raises:
        UsageError: one of them was registered from Python, and cannot be passed to another process.
    """
    plugins = {name: plugin for name in names if (plugin := plugin_named(name)) is not None}
    for name, plugin in plugins.items():
        if plugin is PYTHON:
            raise UsageError(
                f"{name} must come from a file or a package to be used in other processes, got a definition "
                f'from Python; put it into a file, and polarlab.register("FILE{_SUFFIX}")'
            )
    files = any(plugin.content is not None for plugin in plugins.values())
    return Needed(
        [(path, plugin.content or b"") for path, plugin in _loaded.items()] if files else [],
        {name: str(plugin) for name, plugin in plugins.items()},
    )


def handed_over(*names: str) -> AbstractContextManager[tuple[int, ...]]:
    """Passes plug-in files to child processes, which load them with `receive`.

    Args:
        *names: names of the definitions that the child processes need.

    Returns:
        A context manager whose value is a tuple with one file descriptor, as in `inheritable`; the tuple is
        empty if no definition comes from a plug-in file.

    Raises:
        UsageError: one of them was registered from Python, and cannot be passed to another process.
    """
    files = needed(*names).files
    return inheritable([(path, content.decode("latin-1")) for path, content in files] or None)


def receive(descriptor: int) -> None:
    """Runs the plug-ins that the parent process has passed on.

    Args:
        descriptor: the inherited descriptor of the file.
    """
    take_over([(path, content.encode("latin-1")) for path, content in inherited(descriptor)])


def package_digest(module: str) -> str:
    """Returns the SHA-256 of the names and contents of all files of an installed package, except byte code.

    Args:
        module: one of its modules, such as `my_package.routing`.
    """
    spec = importlib.util.find_spec(module.partition(".")[0])
    folders = [Path(one) for one in (spec.submodule_search_locations or ())] if spec else []
    files = [(one.relative_to(f), one) for f in folders for one in f.rglob("*") if one.is_file()]
    if spec and spec.origin and not folders:
        files = [(Path(spec.origin).relative_to(Path(spec.origin).parent), Path(spec.origin))]
    digest = hashlib.sha256()
    for name, path in sorted(files):
        if "__pycache__" not in name.parts:
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
            digest.update(os.fsencode(name) + f"\n{content}\n".encode())
    return digest.hexdigest()
