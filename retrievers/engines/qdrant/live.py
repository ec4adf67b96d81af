"""Rows in Qdrant Edge: points of a shard."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.retrievers.engines.copies import OwnFolder
from assay.retrievers.engines.crud import LiveFiles
from assay.retrievers.engines.qdrant.settings import QdrantStoreSettings
from assay.retrievers.engines.qdrant.shard import make_config
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors

if TYPE_CHECKING:
    import qdrant_edge


@dataclass
class QdrantRows(LiveFiles):
    """An open shard, searched exactly."""

    shard: "qdrant_edge.EdgeShard"

    def put(self, ids: Sequence[int], vectors: Vectors) -> None:
        """Add points, or replace them."""
        import qdrant_edge as q

        points = [
            q.Point(id_, {"dense": vector.tolist()}, {})
            for id_, vector in zip(ids, vectors, strict=True)
        ]
        self.shard.update(q.UpdateOperation.upsert_points(points))

    def delete(self, ids: Sequence[int]) -> None:
        """Remove points."""
        import qdrant_edge as q

        self.shard.update(q.UpdateOperation.delete_points(list(ids)))

    def search(self, vector: Vectors, limit: int) -> list[Scored]:
        """Return the nearest points."""
        import qdrant_edge as q

        request = q.QueryRequest(
            limit=limit,
            query=q.Query.Nearest(vector.tolist(), using="dense"),
            params=q.SearchParams(exact=True),
        )
        return [(int(point.id), point.score) for point in self.shard.query(request)]

    def release(self) -> None:
        """Close the shard."""
        self.shard.close()


def open_rows(dimensions: int, settings: QdrantStoreSettings, threads: int) -> QdrantRows:
    """Return an empty shard."""
    import qdrant_edge as q

    folder = OwnFolder("qdrant-edge")
    try:
        path = folder.path / "shard"
        path.mkdir()
        shard = q.EdgeShard.create(str(path), make_config(dimensions, settings, threads))
    except BaseException:
        folder.close()
        raise
    return QdrantRows(shard, folder=folder)
