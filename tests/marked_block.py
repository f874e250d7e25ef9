"""What a page of the documentation holds between two comments."""


def block(text: str, name: str) -> str:
    """What stands between ``<!-- NAME -->`` and ``<!-- /NAME -->``.

    Raises:
        ValueError: there is no such block.
    """
    _, begun, rest = text.partition(f"<!-- {name} -->\n")
    inside, ended, _ = rest.partition(f"<!-- /{name} -->")
    if not (begun and ended):
        raise ValueError(f"no block {name}")
    return inside
