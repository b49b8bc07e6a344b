"""A schedule as a script: a list of inputs that can be written down, shortened and played again.

An input is a JSON list, its first element the name:

- `["begin", start]`: a `ProcessInput` as JSON; always first.
- `["say", message]`: a message is stored and everything stored in its lane is delivered. `message`: `kind`, `role`, `alias`,
  `via` (`agent` or empty), and the fields of its kind. Lane and number are those that the records would give.
- `["store", message]`, `["deliver", lane]`, `["repeat", lane]`: the same in parts; the last sends again what was applied.
- `["signal", message]`: from an operator, without a number.
- `["succeed", key, decisions]`, `["fail", key, kind, code]`: a running step ends.
- `["late", key, decisions]`: a step that was cancelled or lost in a kill ends all the same.
- `["pass", seconds]`: time passes and nothing wakes the process; `["tick", seconds]`: then it wakes; `["alarm"]`: it wakes when it
  wants to, `["alarm", seconds]`: so much later.
- `["kill"]`: the state is written and read, running steps are lost; `["continue"]`: it continues as new, if nothing runs.
- `["checkpoint"]`, `["reset"]`: back to the last checkpoint; applied messages from after it are sent again.

An input that does not fit the state (a step that does not run, an empty lane) does nothing, so a script stays playable when
inputs are taken out.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

Input = list[Any]
Script = list[Input]


def literal(script: Script) -> str:
    """The script as a Python literal, one input a line."""
    return "[\n" + "".join(f"    {one!r},\n" for one in script) + "]"


def read(path: Path) -> Script:
    """A script out of a file that holds what `literal` gives. Raises `ValueError` when it is none."""
    script: Any = ast.literal_eval(path.read_text(encoding="utf-8"))
    if not isinstance(script, list) or not script or script[0][0] != "begin":
        raise ValueError(f"{path} holds no schedule: a list of inputs that starts with `begin` is expected")
    return script
