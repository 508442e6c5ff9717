"""Safe XML parsing: document types are rejected, and with them custom entities and external files."""

from __future__ import annotations

import re
from typing import Any
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from traces.errors import InputError

_ATTRIBUTE = re.compile(rb'=\s*"[^"]*"')


def xml_root(data: bytes, source: str) -> Element:
    """Parse XML and return the root element.

    A ``<`` within an attribute is read literally, as in the placeholders of sample files (``accesskey=<accesskey>``).

    Raises:
        InputError: the XML is invalid (the message names the line), or it has a document type.
    """
    try:
        return _parsed(data, source)
    except expat.ExpatError as error:
        escaped = _ATTRIBUTE.sub(lambda found: found[0].replace(b"<", b"&lt;"), data)
        try:
            return _parsed(escaped, source)
        except expat.ExpatError:
            reason = expat.errors.messages[error.code]
            raise InputError(f"{source}: line {error.lineno}: broken XML: {reason}") from error


def _parsed(data: bytes, source: str) -> Element:
    parser, builder = expat.ParserCreate(), TreeBuilder()

    def refuse(*_: Any) -> None:
        raise InputError(f"{source}: line {parser.CurrentLineNumber}: has a document type (DOCTYPE); remove it")

    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = lambda name, attributes: builder.start(name, attributes)
    parser.EndElementHandler = lambda name: builder.end(name)
    parser.Parse(data, True)
    return builder.close()
