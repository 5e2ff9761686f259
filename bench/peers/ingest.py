"""LlamaIndex's IngestionPipeline with the same weights, for the bench topic `ingest`.

usage: ingest.py FOLDER MODEL_FOLDER THREADS > answer.json

Out: {"seconds": s, "cpu": s, "chunks": n}: from reading the folder to nodes with their
embeddings in memory; nothing is stored. Sizes are those our default policy has. Its
reader takes HTML as it is, tags and all, so there is more to embed: see the chunks.
"""

import json
import os
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"

from embed import Peer
from llama_index.core import SimpleDirectoryReader
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.node_parser import SentenceSplitter
from pydantic import PrivateAttr
from tokenizers import Tokenizer


class Local(BaseEmbedding):
    _peer: Peer = PrivateAttr()

    def __init__(self, peer, **settings):
        super().__init__(**settings)
        self._peer = peer

    def _get_text_embeddings(self, texts):
        return self._peer.embed(texts, 32).tolist()

    def _get_text_embedding(self, text):
        return self._get_text_embeddings([text])[0]

    def _get_query_embedding(self, query):
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query):
        return self._get_text_embedding(query)


def main():
    folder, model, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    peer = Peer(model, threads)
    # As sentence-transformers does: what the model cannot read is cut off.
    peer.tokenizer.enable_truncation(256)
    counter = Tokenizer.from_file(os.path.join(model, "tokenizer.json"))
    counter.no_truncation()
    counter.no_padding()
    splitter = SentenceSplitter(
        chunk_size=200,
        chunk_overlap=30,
        include_metadata=False,
        tokenizer=lambda text: counter.encode(text, add_special_tokens=False).ids,
    )
    embedding = Local(peer, model_name="local", embed_batch_size=128)
    pipeline = IngestionPipeline(transformations=[splitter, embedding], disable_cache=True)
    start, used = time.perf_counter(), time.process_time()
    nodes = pipeline.run(documents=SimpleDirectoryReader(folder).load_data())
    seconds, cpu = time.perf_counter() - start, time.process_time() - used
    json.dump({"seconds": seconds, "cpu": cpu, "chunks": len(nodes)}, sys.stdout)


if __name__ == "__main__":
    main()
