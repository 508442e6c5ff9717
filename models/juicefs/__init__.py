"""JuiceFS, a file system on an object store: files as blocks in the store below, their metadata in a database."""
