"""The engines that execute a program."""
