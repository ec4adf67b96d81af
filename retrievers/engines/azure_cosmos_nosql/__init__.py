"""Azure Cosmos DB for NoSQL, a service."""
