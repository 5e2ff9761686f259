"""FAISS on the vectors the index bench wrote: faiss_ivf.py FOLDER RECALL

For IVF-Flat, and for IVF with 1-bit RaBitQ codes and exact rerank: the fastest
setting whose recall@10 is no less than RECALL, as one JSON line each. Searches
take longer the more lists they look into, so of each way of searching the first
number of lists that suffices is the one to time. Into how many lists the vectors
are parted is tried too: around the power of two next to four times the root of
their number. Beyond 200,000 vectors that, and four times as many, these trained on
fewer vectors in fewer rounds: else training would take longer than all the rest.
Training uses all cores and is told in CPU time; searches are timed on one thread.
"""

import json
import math
import os
import sys
import time
from pathlib import Path

# A thread that waits for another spins otherwise, and counts as CPU time.
os.environ["OMP_WAIT_POLICY"] = "passive"

import faiss
import numpy as np

DIMENSIONS, TOP = 384, 10
PROBES = [*range(1, 17), 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256]
folder, wanted = Path(sys.argv[1]), float(sys.argv[2])
vectors = np.fromfile(folder / "vectors.f32", dtype="float32").reshape(-1, DIMENSIONS)
queries = np.fromfile(folder / "queries.f32", dtype="float32").reshape(-1, DIMENSIONS)
exact = faiss.IndexFlatIP(DIMENSIONS)
exact.add(vectors)
truth = exact.search(queries, TOP)[1]
del exact
usual = 2 ** round(math.log2(4 * math.sqrt(len(vectors))))
# Lists, vectors a list to train them on, rounds of that.
LISTS = [(usual // 2, 64, 10), (usual, 64, 10), (usual * 2, 64, 10)]
if len(vectors) > 200_000:
    LISTS = [(usual, 64, 10), (usual * 4, 16, 4)]


def recall_of(index, parameters):
    found = index.search(queries, TOP, params=parameters)[1]
    return float(np.mean([len(set(f) & set(t)) for f, t in zip(found, truth)]) / TOP)


def rate_of(index, parameters):
    faiss.omp_set_num_threads(1)
    rounds, begun = 0, time.process_time()
    while rounds == 0 or time.process_time() - begun < 0.3:
        # One query at a time, as ours are asked.
        for query in queries:
            index.search(query[None, :], TOP, params=parameters)
        rounds += 1
    rate = rounds * len(queries) / (time.process_time() - begun)
    faiss.omp_set_num_threads(os.cpu_count())
    return rate


def figures(name, index, lists, sample, rounds, ways):
    begun = time.process_time()
    faiss.extract_index_ivf(index).cp.niter = rounds
    index.train(vectors[np.random.default_rng(0).permutation(len(vectors))[: lists * sample]])
    index.add(vectors)
    build = time.process_time() - begun
    for way in ways:
        for probes in PROBES:
            parameters = way(probes)
            recall = recall_of(index, parameters)
            if recall >= wanted or probes == PROBES[-1]:
                break
        figure = {"name": f"{name}, {lists} lists, nprobe {probes}", "recall": recall}
        yield figure | {"build": build, "rate": rate_of(index, parameters)}


def best(name, make, ways):
    tried = [figure for parted in LISTS for figure in figures(name, make(parted[0]), *parted, ways)]
    enough = [figure for figure in tried if figure["recall"] >= wanted]
    by_rate = max(enough, key=lambda figure: figure["rate"], default=None)
    print(json.dumps(by_rate or max(tried, key=lambda figure: figure["recall"])))


def make_flat(lists):
    return faiss.index_factory(DIMENSIONS, f"IVF{lists},Flat", faiss.METRIC_INNER_PRODUCT)


def flat(probes):
    return faiss.SearchParametersIVF(nprobe=probes)


def make_coded(lists):
    return faiss.index_factory(DIMENSIONS, f"IVF{lists},RaBitQ,RFlat", faiss.METRIC_L2)


def coded(factor):
    def way(probes):
        codes = faiss.IVFRaBitQSearchParameters(nprobe=probes, qb=4)
        return faiss.IndexRefineSearchParameters(k_factor=factor, base_index_params=codes)

    return way


best("FAISS IVF-Flat", make_flat, [flat])
best("FAISS IVF+RaBitQ reranked", make_coded, [coded(factor) for factor in (2, 3, 5, 10, 20)])
