"""FAISS on the vectors the index bench wrote: faiss_ivf.py FOLDER RECALL

For IVF-Flat, and for IVF with 1-bit RaBitQ codes and exact rerank: the fastest
setting whose recall@10 is no less than RECALL, as one JSON line each. Searches
take longer the more lists they look into, so of each way of searching the first
number of lists that suffices is the one to time.
"""

import json
import math
import sys
import time
from pathlib import Path

import faiss
import numpy as np

DIMENSIONS, TOP = 384, 10
PROBES = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256]
folder, wanted = Path(sys.argv[1]), float(sys.argv[2])
faiss.omp_set_num_threads(1)
vectors = np.fromfile(folder / "vectors.f32", dtype="float32").reshape(-1, DIMENSIONS)
queries = np.fromfile(folder / "queries.f32", dtype="float32").reshape(-1, DIMENSIONS)
exact = faiss.IndexFlatIP(DIMENSIONS)
exact.add(vectors)
truth = exact.search(queries, TOP)[1]
del exact
lists = 2 ** round(math.log2(4 * math.sqrt(len(vectors))))


def recall_of(index, parameters):
    found = index.search(queries, TOP, params=parameters)[1]
    return float(np.mean([len(set(f) & set(t)) for f, t in zip(found, truth)]) / TOP)


def rate_of(index, parameters):
    rounds, begun = 0, time.process_time()
    while rounds == 0 or time.process_time() - begun < 0.3:
        # One query at a time, as ours are asked.
        for query in queries:
            index.search(query[None, :], TOP, params=parameters)
        rounds += 1
    return rounds * len(queries) / (time.process_time() - begun)


def best(name, index, ways):
    begun = time.process_time()
    index.train(vectors[np.random.default_rng(0).permutation(len(vectors))[: lists * 64]])
    index.add(vectors)
    build = time.process_time() - begun
    figures = []
    for way in ways:
        for probes in PROBES:
            parameters = way(probes)
            recall = recall_of(index, parameters)
            if recall >= wanted or probes == PROBES[-1]:
                break
        figure = {"name": f"{name}, nprobe {probes}", "recall": recall, "build": build}
        figures.append(figure | {"rate": rate_of(index, parameters)})
    enough = [figure for figure in figures if figure["recall"] >= wanted]
    by_rate = max(enough, key=lambda figure: figure["rate"], default=None)
    print(json.dumps(by_rate or max(figures, key=lambda figure: figure["recall"])))


def flat(probes):
    return faiss.SearchParametersIVF(nprobe=probes)


def coded(factor):
    def way(probes):
        codes = faiss.IVFRaBitQSearchParameters(nprobe=probes, qb=4)
        return faiss.IndexRefineSearchParameters(k_factor=factor, base_index_params=codes)

    return way


index = faiss.index_factory(DIMENSIONS, f"IVF{lists},Flat", faiss.METRIC_INNER_PRODUCT)
best("FAISS IVF-Flat", index, [flat])
del index
codes = faiss.index_factory(DIMENSIONS, f"IVF{lists},RaBitQ", faiss.METRIC_L2)
ways = [coded(factor) for factor in (2, 3, 5, 10, 20)]
best("FAISS IVF+RaBitQ, reranked", faiss.IndexRefineFlat(codes), ways)
