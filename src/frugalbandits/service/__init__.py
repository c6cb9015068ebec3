"""Decisions over HTTP: sessions that are kept in a store, for many workers and many callers."""

from frugalbandits.service.app import Service, create_app
from frugalbandits.service.settings import Settings

__all__ = ["Service", "Settings", "create_app"]
