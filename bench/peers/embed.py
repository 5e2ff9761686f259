"""The same weights through onnxruntime and tokenizers, for the bench topic `embed`.

usage: embed.py MODEL_FOLDER THREADS < cases.json > answers.json

In: {"cases": {name: {"texts": [...], "batch": n, "rounds": r}}, "vectors": path}.
Out: {"seconds": {name: best}, "cpu": {name: best}, "memory": bytes}, and all vectors of
all cases in the order of their names as little-endian floats at `path`. Batches are
sorted by length and padded to their longest, as sentence-transformers does.
"""

import gc
import json
import os
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer

DTYPES = {"F32": np.float32, "F16": np.float16, "I64": np.int64}


def safetensors(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        header.pop("__metadata__", None)
        data = file.read()
    tensors = {}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        array = np.frombuffer(data[first:last], DTYPES[entry["dtype"]])
        tensors[name] = array.reshape(entry["shape"])
    return tensors


class Graph:
    """Writes the graph with the runtime's own fused operators, its fastest form."""

    def __init__(self, weights, config):
        self.weights, self.config = weights, config
        self.nodes, self.constants = [], []
        self.count = 0

    def constant(self, array):
        self.count += 1
        name = f"c{self.count}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, op, inputs, domain="", outputs=1, **attributes):
        self.count += 1
        names = [f"n{self.count}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, domain=domain, **attributes))
        return names[0]

    def linear(self, x, name):
        product = self.node("MatMul", [x, self.constant(self.weights[name + ".weight"].T)])
        return self.node("Add", [product, self.constant(self.weights[name + ".bias"])])

    def norm(self, x, name, skip=None):
        eps = self.config["layer_norm_eps"]
        scale = self.constant(self.weights[name + ".weight"])
        shift = self.constant(self.weights[name + ".bias"])
        if skip is None:
            return self.node("LayerNormalization", [x, scale, shift], epsilon=eps)
        return self.node(
            "SkipLayerNormalization", [x, skip, scale, shift], "com.microsoft", epsilon=eps
        )

    def layer(self, x, mask, n):
        at = f"encoder.layer.{n}."
        parts = [at + f"attention.self.{p}" for p in ("query", "key", "value")]
        weight = np.concatenate([self.weights[p + ".weight"].T for p in parts], axis=1)
        bias = np.concatenate([self.weights[p + ".bias"] for p in parts])
        context = self.node(
            "Attention",
            [x, self.constant(weight), self.constant(bias), mask],
            "com.microsoft",
            num_heads=self.config["num_attention_heads"],
        )
        attended = self.linear(context, at + "attention.output.dense")
        x = self.norm(attended, at + "attention.output.LayerNorm", skip=x)
        up = self.node("MatMul", [x, self.constant(self.weights[at + "intermediate.dense.weight"].T)])
        bias = self.constant(self.weights[at + "intermediate.dense.bias"])
        up = self.node("BiasGelu", [up, bias], "com.microsoft")
        down = self.linear(up, at + "output.dense")
        return self.norm(down, at + "output.LayerNorm", skip=x)

    def build(self):
        words = self.node("Gather", [self.constant(self.weights["embeddings.word_embeddings.weight"]), "ids"])
        places = self.node("Gather", [self.constant(self.weights["embeddings.position_embeddings.weight"]), "positions"])
        types = self.constant(self.weights["embeddings.token_type_embeddings.weight"][0])
        x = self.node("Add", [self.node("Add", [words, places]), types])
        x = self.norm(x, "embeddings.LayerNorm")
        for n in range(self.config["num_hidden_layers"]):
            x = self.layer(x, "mask", n)
        self.nodes.append(helper.make_node("Identity", [x], ["hidden"]))
        tensor = helper.make_tensor_value_info
        graph = helper.make_graph(
            self.nodes,
            "bert",
            [
                tensor("ids", TensorProto.INT64, ["batch", "length"]),
                tensor("positions", TensorProto.INT64, ["length"]),
                tensor("mask", TensorProto.INT32, ["batch", "length"]),
            ],
            [tensor("hidden", TensorProto.FLOAT, None)],
            self.constants,
        )
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9)


class Peer:
    def __init__(self, folder, threads):
        with open(os.path.join(folder, "config.json")) as file:
            config = json.load(file)
        weights = safetensors(os.path.join(folder, "model.safetensors"))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, "bert.onnx")
            onnx.save(Graph(weights, config).build(), path)
            self.session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
        self.tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
        self.tokenizer.no_truncation()
        self.tokenizer.enable_padding()

    def batch(self, texts):
        encoded = self.tokenizer.encode_batch(texts)
        ids = np.array([e.ids for e in encoded], np.int64)
        mask = np.array([e.attention_mask for e in encoded], np.int32)
        positions = np.arange(ids.shape[1], dtype=np.int64)
        hidden = self.session.run(None, {"ids": ids, "positions": positions, "mask": mask})[0]
        pooled = (hidden * mask[:, :, None]).sum(axis=1)
        return pooled / np.linalg.norm(pooled, axis=1, keepdims=True)

    def embed(self, texts, size):
        order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
        vectors = [None] * len(texts)
        for first in range(0, len(order), size):
            chosen = order[first : first + size]
            for i, vector in zip(chosen, self.batch([texts[i] for i in chosen])):
                vectors[i] = vector
        return np.array(vectors, np.float32)


def timed(work, rounds):
    """The best wall and CPU seconds, and what the work gave."""
    wall, cpu = [], []
    for _ in range(rounds):
        start, used = time.perf_counter(), time.process_time()
        result = work()
        wall.append(time.perf_counter() - start)
        cpu.append(time.process_time() - used)
    return min(wall), min(cpu), result


def main():
    peer = Peer(sys.argv[1], int(sys.argv[2]))
    request = json.load(sys.stdin)
    seconds, cpu = {}, {}
    with open(request["vectors"], "wb") as out:
        for name, case in sorted(request["cases"].items()):
            texts, size = case["texts"], case["batch"]
            peer.embed(texts[:size], size)
            seconds[name], cpu[name], vectors = timed(
                lambda: peer.embed(texts, size), case["rounds"]
            )
            out.write(vectors.astype("<f4").tobytes())
    # What it holds now, as ours is counted: making the graph took more.
    gc.collect()
    with open("/proc/self/statm") as file:
        memory = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    json.dump({"seconds": seconds, "cpu": cpu, "memory": memory}, sys.stdout)


if __name__ == "__main__":
    main()
