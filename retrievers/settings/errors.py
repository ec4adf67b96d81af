"""What is wrong with settings, in one line for people."""

from pydantic import ValidationError


def explain_error(error: ValidationError) -> str:
    """Return the first of Pydantic's complaints: the key and what is wrong."""
    first = error.errors()[0]
    # A union of forms complains of each by its name, which is no key.
    parts = [str(part) for part in first["loc"] if "[" not in str(part)]
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        message = "unknown key"
    return f"{'.'.join(parts) or 'the file'}: {message[:1].lower()}{message[1:]}"
