"""The rate at which a store saturates: by demands, or by trials where they do not tell it."""
