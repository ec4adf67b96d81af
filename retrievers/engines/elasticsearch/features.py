"""What not every Elasticsearch server can do, as its reference of retrievers tells.

Both fusions need a licence of Elastic beside, Enterprise or a trial, whatever the version.
"""

from assay.retrievers.engines.capabilities import Feature

LICENCE = "an Enterprise or trial licence"
RRF = Feature("the retriever rrf", (8, 16), LICENCE)
LINEAR = Feature("the retriever linear with minmax", (8, 18), LICENCE)
FEATURES = (RRF, LINEAR)
