"""A store of MLflow in a SQLite file, in the making."""

from assay.eval.tracking import local


def test_only_the_store_in_the_making_does_not_wait_for_the_disk(tmp_path):
    import sqlalchemy

    def read_syncs(name):
        engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path / name}")
        with engine.connect() as connection:
            found = connection.execute(sqlalchemy.text("PRAGMA synchronous")).scalar_one()
        engine.dispose()
        return int(found)

    with local.skip_syncs(tmp_path / "made"):
        assert read_syncs("made") == 0
        assert read_syncs("other") == 2
    assert read_syncs("made") == 2
