"""What every picture is: the frame that it draws, its chart, and ways to keep and show them without a network."""

from __future__ import annotations

import base64
import json
import zlib
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from rankframe.errors import DataError, ExtraError, counted

SUFFIXES = (".png", ".svg", ".html")


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture and the numbers in it.

    A notebook shows it: live where it knows Vega-Lite, as JupyterLab does, else as PNG.

    Attributes:
        frame: exactly what is drawn, a row for each mark.
        chart: the Altair chart, to be changed with Altair's means.
    """

    frame: pl.DataFrame
    chart: Any

    def save(self, path: str | PathLike[str], *, scale: float = 2.0) -> None:
        """Write the picture, in the format that the suffix names.

        Args:
            path: where to, ending in `.png`, `.svg` or `.html`; an older file is replaced. The HTML holds all that it
                needs, some 900 kB, and shows values where the pointer is.
            scale: of PNG, pixels for each pixel of the drawing, from 0.1 to 10; other formats have no pixels.

        Raises:
            DataError: for another suffix, a scale out of range, and where the file cannot be written.
        """
        path = Path(path)
        kind = path.suffix.lower()
        if kind not in SUFFIXES:
            raise DataError(f"{path}: a picture is saved by its suffix as one of {', '.join(SUFFIXES)}, got {kind!r}")
        made = self.png(scale=scale) if kind == ".png" else (self.svg() if kind == ".svg" else self.html()).encode()
        try:
            path.write_bytes(made)
        except (OSError, ValueError) as error:  # a path with a null byte is a ValueError
            told = error.strerror if isinstance(error, OSError) else error
            raise DataError(f"{str(path)!r}: the picture cannot be written there ({told})") from error

    def png(self, *, scale: float = 2.0) -> bytes:
        """The picture as a PNG file, with `scale` pixels for each pixel of the drawing."""
        if isinstance(scale, bool) or not isinstance(scale, (int, float)) or not 0.1 <= scale <= 10:
            raise DataError(f"scale={scale!r}: a number from 0.1 to 10")
        image: bytes = _converter().vegalite_to_png(self._spec, vl_version=_version(), scale=float(scale))
        return _packed(image)

    def svg(self) -> str:
        """The picture as an SVG document."""
        document: str = _converter().vegalite_to_svg(self._spec, vl_version=_version())
        return document

    def html(self) -> str:
        """The picture as a page with everything that it needs."""
        options = {"actions": _ACTIONS}
        with _own_data():
            page: str = self.chart.to_html(inline=True, embed_options=options, json_kwds={"cls": _InScript})
        return page

    @property
    def _spec(self) -> dict[str, Any]:
        with _own_data():
            spec: dict[str, Any] = self.chart.to_dict()
        return spec

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """What a notebook shows and keeps; no HTML, which it would prefer and which would ask the network for Vega."""
        scale = 2.0
        image = self.png(scale=scale)
        width, height = (int.from_bytes(image[at : at + 4]) for at in (16, 20))
        shown = {_mime_type(): self._spec, "image/png": base64.b64encode(image).decode(), "text/plain": repr(self)}
        return shown, {"image/png": {"width": round(width / scale), "height": round(height / scale)}}

    def __repr__(self) -> str:
        return f"Picture of {counted(self.frame.height, 'row')}: {', '.join(self.frame.columns)}"


_ACTIONS = {"export": True, "source": False, "compiled": False, "editor": False}  # the editor is on the network


def embedding_script() -> str:
    """The script, with Vega in it, that a page needs once, before what `embedded` gives."""
    bundle: str = _converter().javascript_bundle(vl_version=_version())
    return f"<script>{bundle.replace('</script', chr(60) + chr(92) + '/script')}</script>"


def embedded(picture: Picture, place: str) -> str:
    """The script that draws a picture into the element with the id `place`."""
    spec = json.dumps(picture._spec, cls=_InScript)  # noqa: SLF001  # of this module
    options = json.dumps({"actions": _ACTIONS})
    return f'<script>vegaEmbed("#{place}", {spec}, {options}).catch(console.error);</script>'


class _InScript(json.JSONEncoder):
    """JSON that can stand in a script of a page: no text in it ends the script."""

    def encode(self, o: Any) -> str:
        return super().encode(o).replace("<", "\\u003c")


def _packed(png: bytes) -> bytes:
    """The same image in less space: the converter hardly compresses, and notebooks keep what they show."""
    parts, data, at = [png[:8]], b"", 8
    while at < len(png):
        length = int.from_bytes(png[at : at + 4])
        kind, chunk = png[at + 4 : at + 8], png[at : at + 12 + length]
        at += len(chunk)
        if kind == b"IDAT":
            data += chunk[8:-4]
            continue
        if data:
            body = b"IDAT" + zlib.compress(zlib.decompress(data), 9)
            parts.append((len(body) - 4).to_bytes(4) + body + zlib.crc32(body).to_bytes(4))
            data = b""
        parts.append(chunk)
    return b"".join(parts)


def altair() -> Any:
    """The module altair.

    Raises:
        ExtraError: where it, or vl-convert-python, is not installed.
    """
    try:
        alt = import_module("altair")
        import_module("vl_convert")
    except ImportError as error:
        raise ExtraError(
            "pictures need altair and vl-convert-python, which are not installed; pip install 'rankframe[plots]'"
        ) from error
    return alt


def _own_data() -> AbstractContextManager[Any]:
    """Altair as it comes, whatever transformer of data a caller has turned on; the data stand in the chart."""
    default: AbstractContextManager[Any] = altair().data_transformers.enable("default")
    return default


def _converter() -> Any:
    altair()
    return import_module("vl_convert")


def _version() -> str:
    """The version of Vega-Lite that altair writes, as the converter names it: "6.4"."""
    version: str = altair().SCHEMA_VERSION
    return ".".join(version.removeprefix("v").split(".")[:2])


def _mime_type() -> str:
    """What notebooks know Vega-Lite by; they take JSON under a name that ends in +json alone, and Altair's may not."""
    return f"application/vnd.vegalite.v{_version().partition('.')[0]}+json"
