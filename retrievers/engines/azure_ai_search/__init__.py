"""Azure AI Search, a service."""
