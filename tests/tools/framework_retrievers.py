"""Retrievers of three frameworks, as somebody would write them; each framework where it is used."""

from assay.retrievers.base import Document

TEXTS = {
    "guides/ferry.md": "# Ferry\n\nThe ferry sails at noon.\n\nCall us.\n",
    "guides/train.md": "# Train\n\nThe night train is late.\n\nCall us.\n\nCall us.\n",
}


def documents():
    return [Document(name, text) for name, text in TEXTS.items()]


def langchain(documents):
    from langchain_core.documents import Document as Text
    from langchain_core.embeddings import DeterministicFakeEmbedding
    from langchain_core.vectorstores import InMemoryVectorStore

    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=32))
    for item in documents:
        parts = item.text.strip().split("\n\n")
        store.add_documents([Text(part, metadata={"source": item.id}) for part in set(parts[:2])])
    return store.as_retriever(search_kwargs={"k": 3})


def llamaindex(documents):
    from llama_index.core import Document as Text
    from llama_index.core import VectorStoreIndex
    from llama_index.core.embeddings import MockEmbedding
    from llama_index.core.node_parser import SentenceSplitter

    texts = [Text(text=item.text, id_=item.id) for item in documents]
    parts = SentenceSplitter(chunk_size=20, chunk_overlap=0).get_nodes_from_documents(texts)
    index = VectorStoreIndex(parts, embed_model=MockEmbedding(embed_dim=8))
    return index.as_retriever(similarity_top_k=5)


def haystack(documents):
    from haystack import Document as Text
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    store = InMemoryDocumentStore()
    store.write_documents([Text(content=d.text, meta={"source": d.id}) for d in documents])
    return InMemoryBM25Retriever(store, top_k=5)


def no_query(documents):
    from haystack.components.preprocessors import DocumentCleaner

    return DocumentCleaner()


def broken(documents):
    raise RuntimeError("no index\nhere")


def nothing(documents):
    return documents


def called(path, ignore=False):
    raise AssertionError("a function that is not of `documents` alone is called")
