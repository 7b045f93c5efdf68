"""The kinds of rules: each says in one file how its rules are asked for, stored, shown and described."""
