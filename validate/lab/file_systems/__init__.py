"""File systems on a store of the lab: mounts and a gateway, with a recorder of what reaches the store."""
