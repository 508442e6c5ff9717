"""How programs of stores are found and installed: from Debian, with Go, from PyPI."""
