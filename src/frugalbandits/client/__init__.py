"""The client of the decision service: asks and tells over HTTP, and goes on while the service is away."""

from frugalbandits.client.asynchronous import AsyncClient, AsyncClientSession
from frugalbandits.client.forms import Listed
from frugalbandits.client.sync import Client, ClientSession

__all__ = ["AsyncClient", "AsyncClientSession", "Client", "ClientSession", "Listed"]
