"""How programs of stores are found and installed: from Debian, with Go or Cargo, from PyPI."""
