"""What not every OpenSearch server can do, as its documents of version 3 tell.

They name the first versions of score-ranker-processor, of its constant and weights, and of
normalization-processor with `pagination_depth`, without which depth would follow the limit.
"""

from assay.retrievers.engines.capabilities import Feature

WORDS = Feature("knn.method none", (1, 0))
RRF = Feature("rrf", (2, 19))
NORMALISATION = Feature("pagination_depth", (2, 19))
FAISS = Feature("knn.engine faiss", (2, 19), "the native libraries of the k-NN plugin")
Z_SCORE = Feature("z_score", (3, 0))
RRF_CONSTANT = Feature("a rank_constant other than 60", (3, 1))
RRF_WEIGHTS = Feature("rrf with weights", (3, 1))
FEATURES = (WORDS, RRF, NORMALISATION, FAISS, Z_SCORE, RRF_CONSTANT, RRF_WEIGHTS)
