"""Replays on a mount: files below one folder take the place of objects in buckets."""
