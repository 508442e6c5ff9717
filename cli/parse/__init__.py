"""The small languages of options: text to typed values, with errors that name the option."""
