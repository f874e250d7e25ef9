"""What is expected, as committed data: the register, its table, the corpus lock, the crossing."""

from pathlib import Path
from typing import Final

EXPECTATIONS: Final = Path(__file__).parent
