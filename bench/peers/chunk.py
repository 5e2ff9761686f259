"""LangChain's, chonkie's and semchunk's splitters with the same tokenizer, for the bench topic `chunk`.

usage: chunk.py TOKENIZER_JSON TARGET OVERLAP < texts.json > answers.json

In: a list of texts. Out: {name: {"seconds": s, "chunks": n, "longest": tokens}}, one splitter
after another on all texts, one thread, in seconds of CPU. `longest` is counted afterwards and is not
in the time.
"""

import json
import os
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"

from tokenizers import Tokenizer

tokenizer = Tokenizer.from_file(sys.argv[1])
tokenizer.no_truncation()
tokenizer.no_padding()
target, overlap = int(sys.argv[2]), int(sys.argv[3])
texts = json.load(sys.stdin)


def count(piece):
    return len(tokenizer.encode(piece, add_special_tokens=False).ids)


def langchain():
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    splitter = RecursiveCharacterTextSplitter(
        chunk_size=target, chunk_overlap=overlap, length_function=count
    )
    return splitter.split_text


def chonkie_sentences():
    from chonkie import SentenceChunker

    chunker = SentenceChunker(tokenizer, chunk_size=target, chunk_overlap=overlap)
    return lambda text: [chunk.text for chunk in chunker.chunk(text)]


def chonkie_recursive():
    from chonkie import RecursiveChunker

    chunker = RecursiveChunker(tokenizer, chunk_size=target)
    return lambda text: [chunk.text for chunk in chunker.chunk(text)]


def semchunk_plain():
    import semchunk

    chunker = semchunk.chunkerify(count, target, memoize=False)
    return chunker


answers = {}
for name, make in {
    "LangChain recursive": langchain,
    "chonkie sentence": chonkie_sentences,
    "chonkie recursive": chonkie_recursive,
    "semchunk": semchunk_plain,
}.items():
    split = make()
    start = time.process_time()
    chunks = [chunk for text in texts for chunk in split(text)]
    seconds = time.process_time() - start
    answers[name] = {
        "seconds": seconds,
        "chunks": len(chunks),
        "longest": max(map(count, chunks)),
    }
json.dump(answers, sys.stdout)
