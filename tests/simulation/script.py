"""A schedule as a script: a list of inputs that can be stored, shortened and played again.

An input is a JSON list. Its first element is its name:

- `["begin", start]`: the first input, with a `ProcessInput` as JSON.
- `["say", message]`: stores a message and delivers everything stored in its lane. `message`: `kind`, `role`,
  `alias_of_author`, `via` (`agent` or empty), and the fields of its kind. Its lane and number are as in the records.
- `["store", message]`, `["deliver", lane]`: the two parts of `say`. `["repeat", lane]`: sends applied messages again.
- `["signal", kind]`: a signal that somebody sends by hand. `["cancel"]`: a cancellation in the Temporal UI.
- `["succeed", key, decisions]`, `["fail", key, kind, code]`: a running step ends.
- `["late", key, decisions]`: a step ends after it was cancelled or lost in a kill.
- `["pass", seconds]`: time passes without waking the process. `["tick", seconds]`: time passes, then the process wakes.
  `["alarm"]`: the process wakes at its next timer. `["alarm", seconds]`: it wakes this much later.
- `["kill"]`: the state is written and read, and running steps are lost. `["continue"]`: continues as new.
- `["checkpoint"]`, `["reset"]`: stores a checkpoint, and goes back to it. Later applied messages are sent again.

An input that does not fit the state (a step that does not run, an empty lane) does nothing. So inputs can be removed
from a script.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

Input = list[Any]
Script = list[Input]


def literal(script: Script) -> str:
    """Return the script as a Python literal, with one input in each line."""
    return "[\n" + "".join(f"    {one!r},\n" for one in script) + "]"


def read(path: Path) -> Script:
    """Read a script from a file with the format of `literal`. Raises `ValueError` for other content."""
    script: Any = ast.literal_eval(path.read_text(encoding="utf-8"))
    if not isinstance(script, list) or not script or script[0][0] != "begin":
        raise ValueError(f"{path} holds no schedule: a list of inputs that starts with `begin` is expected")
    return script
