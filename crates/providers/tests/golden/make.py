"""Writes minilm.json: what tokenizers and onnxruntime make of our own sentences.

usage: make.py MODEL_FOLDER > minilm.json    (needs tokenizers, onnxruntime, onnx, numpy)
"""

import base64
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../../../bench/peers"))
from embed import Peer

SENTENCES = [
    "The mill grinds wheat into flour.",
    "A ship left the harbour at dawn; nobody on the quay waved.",
    "Die Mühle mahlt Weizen, während der Müller über Größe und Maß nachdenkt.",
    "L'été dernier, le meunier a moulu « trop » de blé — à peine 3 ½ tonnes.",
    "",
    " \t\n ",
    "flour",
    "Antidisestablishmentarianism, pneumonoultramicroscopicsilicovolcanoconiosis",
    "x" * 100 + " " + "y" * 101 + " short",
    "é" * 100 + " " + "é" * 101,
    "It's the miller's; they've \u201cground\u201d it\u2026 haven\u2019t they?",
    "C++ and C# vs. snake_case, kebab-case, a.b.c, foo@bar.example, #tag, 50% off, $3.50, ~/.config",
    "[CLS] a document may [SEP] name tokens [MASK] of the model [PAD][UNK] [sep] [CLS",
    "ＦＵＬＬ ｗｉｄｔｈ １２３ and ﬁne ligatures ﬀ",
    "水車小屋で小麦を挽く。風車もある！",
    "磨坊把小麦磨成面粉，用了3个小时。",
    "방앗간에서 밀을 빻는다.",
    "Мельник мелет пшеницу; ёлка и йогурт.",
    "Ο μυλωνάς αλέθει σιτάρι — ΣΊΣΥΦΟΣ",
    "הטוחן טוחן חיטה בְּטַחֲנָה",
    "الطَّحَّانُ يطحن القمح، ثم يبيعه؟",
    "चक्की गेहूँ पीसती है। क़लम",
    "โรงสีบดข้าวสาลี",
    "İstanbul'da DEĞİRMEN; ıssız",
    "e\u0301a\u0300\u0323 o\u0302\u0301 precomposed ế and stacked e\u0323\u0302",
    "zero\u200bwidth and\u00a0no-break and\u2009thin and\u3000wide and\u00adsoft hyphen",
    "bell\x07 in a w\x01ord, null \x00 here, replacement \ufffd there, del \x7f, nel \u0085, vt \x0b ff \x0c",
    "🌾 wheat 👩\u200d🌾 farmer 🇫🇷 flag \U0001d54f math 𝔘𝔫𝔦 𠀀 rare 丽 compat",
    "∑ x² ≤ √2 × π ± ∞ ≠ ∅; H₂O; 10⁻³; ½ ¼; №5; ™ ® ©",
    "a\u0300\u0301\u0302\u0303\u0304 zalgo \u0489 \u20dd",
    "tab\tseparated\r\nlines\nand    spaces",
    "dash-dash–dash—dash―dash−dash‐dash‑dash",
    "１２，３４５．６７ ・ 「引用」 『二重』 【括弧】",
    "\U0001d165\U0001d15e music \u302e tone \u1734 pamudpod \u166d chi",
    "don't $tr1p ^carets^ `ticks` |pipes| <tags attr=\"v\"/> {braces} \\ back",
    "word##piece ## ##s a##b",
]
VECTORS = [0, 1, 2, 6, 10, 27]


def main():
    peer = Peer(sys.argv[1], 1)
    peer.tokenizer.no_padding()
    ids = [peer.tokenizer.encode(text).ids for text in SENTENCES]
    peer.tokenizer.enable_padding()
    golden = []
    for n, (text, ids) in enumerate(zip(SENTENCES, ids)):
        entry = {"text": text, "ids": ids}
        if n in VECTORS:
            vector = peer.batch([text])[0].astype("<f4").tobytes()
            entry["vector"] = base64.b64encode(vector).decode()
        golden.append(json.dumps(entry))
    print("[\n" + ",\n".join(golden) + "\n]")


main()
