"""Pages as data: blocks, numbers with their intervals, and renderers for each place they go.

Figures are drawn by `tongues.pages.plots` and `tongues.pages.axes`, which bring altair and are
therefore imported on their own.
"""

from tongues.pages import blocks, html, numbers, text, write
from tongues.pages.blocks import *  # noqa: F403
from tongues.pages.html import *  # noqa: F403
from tongues.pages.numbers import *  # noqa: F403
from tongues.pages.text import *  # noqa: F403
from tongues.pages.write import *  # noqa: F403

__all__ = []
__all__ += blocks.__all__
__all__ += html.__all__
__all__ += numbers.__all__
__all__ += text.__all__
__all__ += write.__all__
