"""A conversation and its answer as plain text, for a judge: every turn, with tool calls and their results.

Messages of the three kinds of calls are read: chat completions, the Responses API, and Anthropic's messages.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ["answer_text", "chat_messages", "conversation_text"]

_EMPTY = "(nothing)"


def conversation_text(messages: Sequence[Any]) -> str:
    """Return all turns of a conversation, each under the role of its author.

    Examples
    --------
    >>> call = {"function": {"name": "add", "arguments": '{"a": 2}'}}
    >>> print(conversation_text([
    ...     {"role": "system", "content": "Be short."},
    ...     {"role": "assistant", "content": None, "tool_calls": [call]},
    ... ]))
    [system]
    Be short.
    <BLANKLINE>
    [assistant]
    (calls the tool add with {"a": 2})
    """
    turns = []
    for message in messages:
        role = "user"
        if isinstance(message, Mapping):
            role = str(message.get("role") or _ROLES.get(str(message.get("type")), "user"))
        turns.append(f"[{role}]\n{_joined(_parts(message))}")
    return "\n\n".join(turns)


def answer_text(response: Any) -> str:
    """Return an answer with its tool calls, whatever the route: chat, text, responses or messages.

    Examples
    --------
    >>> answer_text({"content": [{"type": "tool_use", "name": "add", "input": {"a": 2}}]})
    '(calls the tool add with {"a": 2})'
    """
    plain = response.model_dump() if hasattr(response, "model_dump") else response
    if isinstance(plain, str):
        return plain or _EMPTY
    if not isinstance(plain, Mapping):
        return _EMPTY
    for choice in plain.get("choices") or ():
        return _joined(_parts(choice.get("message") or {"content": choice.get("text")}))
    output = plain.get("output")
    if isinstance(output, list | tuple):
        return _joined(part for item in output for part in _parts(item))
    return _joined(_parts(plain))


def chat_messages(messages: Sequence[Any]) -> list[Any]:
    """Return messages as a chat completion takes them: a text alone is a message of the user."""
    return [{"role": "user", "content": each} if isinstance(each, str) else each for each in messages]


# Items of the Responses API that have no role.
_ROLES = {"function_call": "assistant", "function_call_output": "tool", "reasoning": "assistant"}


def _joined(parts: Any) -> str:
    return "\n".join(part for part in parts if part) or _EMPTY


def _parts(message: Any) -> Iterator[str]:
    """Return the texts, tool calls and tool results of a message or an item, in order."""
    if not isinstance(message, Mapping):
        yield from _content(message)
        return
    kind = message.get("type")
    if kind == "function_call":
        yield _call(message.get("name"), message.get("arguments"))
        return
    if kind == "function_call_output":
        yield from _content(message.get("output"))
        return
    yield from _content(message.get("content"))
    if message.get("refusal"):
        yield f"(refuses: {message['refusal']})"
    for call in (*(message.get("tool_calls") or ()), message.get("function_call")):
        function = call.get("function", call) if isinstance(call, Mapping) else None
        if isinstance(function, Mapping):
            yield _call(function.get("name"), function.get("arguments"))


def _content(content: Any) -> Iterator[str]:
    """Return the texts of a content, which is a text or a list of blocks."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, Mapping):
        yield from _content([content])
    elif isinstance(content, Sequence):
        for block in content:
            yield from _block(block)


def _block(block: Any) -> Iterator[str]:
    if not isinstance(block, Mapping):
        yield str(block)
        return
    kind = str(block.get("type") or "text")
    if kind in ("tool_use", "server_tool_use"):
        yield _call(block.get("name"), block.get("input"))
    elif kind == "tool_result":
        yield from _content(block.get("content"))
    elif isinstance(block.get("text"), str):
        yield block["text"]
    elif kind == "refusal":
        yield f"(refuses: {block.get('refusal')})"
    elif kind not in ("text", "thinking", "redacted_thinking"):
        yield f"({kind})"


def _call(name: Any, arguments: Any) -> str:
    given = arguments if isinstance(arguments, str) else json.dumps(arguments, default=str)
    return f"(calls the tool {name} with {given})"
