"""Measures a drive and the cores of this machine in a minute: jobs of fio in a folder, and a hash loop."""
