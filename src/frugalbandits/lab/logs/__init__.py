"""Logs of decisions: files of any usual form, read by polars, and the exports of tools by name."""

from frugalbandits.lab.logs.files import SUFFIXES
from frugalbandits.lab.logs.formats import FORMATS
from frugalbandits.lab.logs.reader import read_log
from frugalbandits.lab.logs.scan import Scan

__all__ = ["FORMATS", "SUFFIXES", "Scan", "read_log"]
