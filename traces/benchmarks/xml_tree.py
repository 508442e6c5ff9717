"""XML read without what makes XML dangerous: no document types, so no entities of their own and no other files."""

from __future__ import annotations

import re
from typing import Any
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from traces.errors import InputError

_ATTRIBUTE = re.compile(rb'=\s*"[^"]*"')


def xml_root(data: bytes, source: str) -> Element:
    """The root element.

    A ``<`` within an attribute, as the placeholders of sample files have it (``accesskey=<accesskey>``), is taken as
    it stands.

    Raises:
        InputError: the XML is broken, the line is named; or it has a document type.
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
        raise InputError(f"{source}: line {parser.CurrentLineNumber}: has a document type (DOCTYPE); leave it away")

    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = lambda name, attributes: builder.start(name, attributes)
    parser.EndElementHandler = lambda name: builder.end(name)
    parser.Parse(data, True)
    return builder.close()
